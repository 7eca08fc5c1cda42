// SPDX-License-Identifier: Apache-2.0
#include "exec/git_elsewhere.h"

#include <filesystem>
#include <fstream>
#include <string_view>

#include "workspace/locate.h"

namespace agentfs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLeadsTo = "gitdir: ";

// The first line; empty if there is no such file.
std::string LineOf(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return {};
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

bool IsRepository(const fs::path& directory) {
  std::error_code error;
  return fs::is_directory(directory / "objects", error) && fs::exists(directory / "HEAD", error);
}

}  // namespace

std::string GitElsewhere(const std::string& directory) {
  if (directory.empty()) return {};
  const std::string line = LineOf(fs::path(directory) / ".git");
  if (!line.starts_with(kLeadsTo)) return {};
  fs::path found = fs::path(directory) / line.substr(kLeadsTo.size());
  const std::string shared = LineOf(found / "commondir");
  if (!shared.empty()) found /= shared;
  return IsRepository(found) ? AbsolutePath(found) : "";
}

}  // namespace agentfs
