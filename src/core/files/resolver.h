// SPDX-License-Identifier: Apache-2.0
//
// From a path to a node: walks the names, follows symbolic links within the filesystem.
#pragma once

#include <string>
#include <string_view>

#include "agentfs/files.h"
#include "agentfs/filesystem.h"
#include "agentfs/result.h"

namespace agentfs {

// Where a path leads. A missing last name is a place too: one where something can be made.
struct Place {
  NodeRef parent;    // null for the root, and where a link's target ends in "." or ".."
  std::string name;  // in parent; empty when that is null
  Found found;       // the node is null when there is none

  bool exists() const { return static_cast<bool>(found.node); }
};

// Whether NormalizePath would give back the same bytes.
bool IsNormalPath(std::string_view path);

// Stateless but for its references, which must outlive it.
class Resolver {
 public:
  Resolver(FileSystem& fs, const Caller& caller) : fs_(fs), caller_(caller) {}

  // ENOENT, ENOTDIR, EACCES, ELOOP as path_resolution(7); NormalizePath's errors. Allocates nothing
  // for a normal path without links.
  Result<Found> Find(std::string_view path, FollowLinks follow) const;
  // The same, but a missing last name is no error. With kYes a dangling link leads to the place
  // that it names.
  Result<Place> FindPlace(std::string_view path, FollowLinks follow) const;
  // The place of something to be made: EEXIST if it exists (the root always does).
  Result<Place> FindFree(std::string_view path) const;

 private:
  Result<Found> FindNormal(std::string_view path, FollowLinks follow) const;
  Result<Place> FindNormalPlace(std::string_view path, FollowLinks follow) const;
  // Resolves `rest` from `directory`, with "..", "." and links in any place.
  Result<Place> Wander(NodeRef directory, std::string rest, FollowLinks follow) const;
  Result<Place> Arrived(NodeRef parent, std::string_view name, NodeRef directory) const;

  FileSystem& fs_;
  const Caller& caller_;
};

}  // namespace agentfs
