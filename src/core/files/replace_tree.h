// SPDX-License-Identifier: Apache-2.0
//
// A directory that is filled under a temporary name and then takes the place of another.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/filesystem.h"
#include "agentfs/result.h"
#include "core/files/delete_tree.h"
#include "core/files/node_metadata.h"
#include "core/files/resolver.h"

namespace agentfs {

// One thread. The filesystem and the caller must outlive it. Until Commit succeeds the old tree is
// there, unchanged; a replacement that is not committed removes what was built.
class TreeReplacement {
 public:
  // Prepares to replace the directory at `path`, or to make it. ENOTDIR: it is something else.
  static Result<TreeReplacement> Begin(FileSystem& fs, const Caller& caller, std::string_view path);

  TreeReplacement(TreeReplacement&& other) noexcept;
  TreeReplacement& operator=(TreeReplacement&&) = delete;
  ~TreeReplacement();

  // Where the new tree is built.
  Node& root() { return *built_.found.node; }

  // Puts the new tree in place and removes the old one. Without `metadata` the directory keeps
  // those of the old one. After an error before the old tree's removal everything is as it was; if
  // that removal fails, the message says where the rest is.
  Result<void> Commit(const std::optional<NodeMetadata>& metadata);

 private:
  TreeReplacement(FileSystem& fs, const Caller& caller, Place place);

  // The directory that holds the temporary one: the tree's parent or, where that is not known (the
  // root), the tree itself, whose children are then exchanged one by one.
  Node& container() { return place_.parent ? *place_.parent : *place_.found.node; }
  bool by_children() const { return !place_.parent; }
  Result<void> CheckRemovable();
  Result<NodeMetadata> OldMetadata();
  Result<void> CommitByName(const std::optional<NodeMetadata>& metadata);
  Result<void> CommitByChildren(const std::optional<NodeMetadata>& metadata);
  Result<void> RemoveOld();

  struct Swap {
    std::string name;
    enum class Kind : uint8_t { kExchange, kIn, kOut } kind;
  };
  Result<std::vector<Swap>> PlanSwaps();
  Result<void> DoSwap(const Swap& swap);
  void UndoSwaps(std::span<const Swap> done);
  Result<void> SetOwnMetadata(const NodeMetadata& metadata);

  FileSystem& fs_;
  const Caller& caller_;
  Place place_;
  TemporaryDirectory built_;
  Attr container_before_;
  bool pending_ = false;  // the temporary directory exists and is ours to remove
};

}  // namespace agentfs
