// SPDX-License-Identifier: Apache-2.0
#include "cli/workspace_json.h"

#include <filesystem>
#include <nlohmann/json.hpp>

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

uint64_t FileSize(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

Json Limit(uint64_t value) { return value == 0 ? Json() : Json(value); }

}  // namespace

void DescribeWorkspace(const Workspace& workspace, Json& status) {
  const Layout& layout = workspace.layout;
  const Limits& limits = workspace.config.volume.limits;
  status["workspace"] = layout.root;
  status["base"] = layout.base.empty() ? Json() : Json(layout.base);
  status["database"] = layout.database;
  status["sizes"]["database_bytes"] =
      FileSize(layout.database) + FileSize(layout.database + "-wal");
  status["limits"] = {{"max_total_bytes", Limit(limits.max_total_bytes)},
                      {"max_file_bytes", Limit(limits.max_file_bytes)},
                      {"max_nodes", Limit(limits.max_nodes)},
                      {"max_branches", Limit(limits.max_branches)},
                      {"max_snapshots", Limit(limits.max_snapshots)}};
}

}  // namespace agentfs::cli
