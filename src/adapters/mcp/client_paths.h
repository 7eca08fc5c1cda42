// SPDX-License-Identifier: Apache-2.0
//
// Paths as clients write them, and as the view knows them.
#pragma once

#include <string>
#include <string_view>

#include "agentfs/files.h"
#include "agentfs/result.h"

namespace agentfs::mcp {

// Immutable.
class ClientPaths {
 public:
  // `directory`: where clients believe the workspace to be; "/" if nowhere.
  explicit ClientPaths(std::string directory);

  const std::string& directory() const { return directory_; }
  // The path in the view: of a path below the directory, also through links on the host that lead
  // to it, of one from the workspace's root, of a relative one. EACCES: it begins with a directory
  // that the host has and the workspace has not, so that it is meant to be outside. EINVAL,
  // ENAMETOOLONG. Whether it exists is not asked.
  Result<std::string> ToView(const Files& files, std::string_view path) const;
  // What clients call a path of the view.
  std::string ToClient(std::string_view view_path) const;
  // The same as a URI, and back. EINVAL: it is none below the directory.
  std::string ToUri(std::string_view view_path) const;
  Result<std::string> FromUri(std::string_view uri) const;

 private:
  const std::string directory_;
  const std::string prefix_;  // the directory without a slash at its end: "" for "/"
};

}  // namespace agentfs::mcp
