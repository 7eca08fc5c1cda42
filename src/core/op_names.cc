// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "agentfs/op_log.h"

namespace agentfs {
namespace {

constexpr std::array<std::string_view, 19> kOpNames = {
    "op",     "create", "write",   "truncate", "unlink",  "mkdir",    "rmdir",
    "rename", "link",   "symlink", "mknod",    "setattr", "setxattr", "removexattr",
    "open",   "read",   "dropped", "restore",  "allocate"};
constexpr std::array<std::string_view, 3> kLevelNames = {"off", "changes", "all"};

}  // namespace

std::string_view OpName(OpKind kind) {
  const auto at = static_cast<size_t>(kind);
  return at < kOpNames.size() ? kOpNames[at] : kOpNames[0];
}

std::optional<OpKind> OpNamed(std::string_view name) {
  for (size_t i = 1; i < kOpNames.size(); ++i) {
    if (kOpNames[i] == name) return static_cast<OpKind>(i);
  }
  return std::nullopt;
}

std::string_view AuditLevelName(AuditLevel level) {
  return kLevelNames[static_cast<size_t>(level)];
}

std::optional<AuditLevel> AuditLevelNamed(std::string_view name) {
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == name) return static_cast<AuditLevel>(i);
  }
  return std::nullopt;
}

}  // namespace agentfs
