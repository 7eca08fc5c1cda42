// SPDX-License-Identifier: Apache-2.0
//
// Builds a tree below a directory from names that nobody has checked: every name stays below that
// directory, whatever it says and whatever has been built before.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agentfs/filesystem.h"
#include "agentfs/result.h"
#include "core/files/node_metadata.h"

namespace agentfs {

// One thread. The filesystem, the caller and the root must outlive it. Names are relative, with
// slashes; "." names are nothing. EINVAL: absolute or empty names, "..", names below what is not a
// directory. Missing directories on the way are made. An entry replaces an earlier one of the same
// name, but a directory and another thing do not replace each other (EEXIST). EOVERFLOW: more than
// `max_entries`.
class TreeBuilder {
 public:
  TreeBuilder(FileSystem& fs, const Caller& caller, Node& root, uint64_t max_entries);

  Result<void> AddDirectory(std::string_view name, NodeMetadata metadata);
  Result<void> AddSymlink(std::string_view name, std::string_view target,
                          const NodeMetadata& metadata);
  // `existing` must have been added before. Links of links are followed nowhere.
  Result<void> AddHardLink(std::string_view name, std::string_view existing);
  // A fifo or a device, as metadata.mode says.
  Result<void> AddSpecial(std::string_view name, const NodeMetadata& metadata, uint64_t major,
                          uint64_t minor);

  // A regular file: begin, any number of writes within `size`, end.
  Result<void> BeginFile(std::string_view name, NodeMetadata metadata, int64_t size);
  Result<void> WriteFile(int64_t offset, std::span<const char> bytes);
  Result<void> EndFile();

  // Gives the directories their attributes, now that nothing more changes in them.
  Result<void> Finish();
  // What the entry of the root itself said, if there was one.
  const std::optional<NodeMetadata>& root_metadata() const { return root_metadata_; }

 private:
  struct Slot {
    NodeRef parent;
    std::string_view name;  // into the name that was asked for; empty: the root itself
  };
  struct OpenFile {
    Found file;
    NodeMetadata metadata;
    uint64_t size = 0;
    uint64_t end = 0;  // of what has been written
  };
  struct Directory {
    NodeRef node;
    NodeMetadata metadata;
  };

  Result<void> CountEntry();
  // The place of `name`, with the directories on the way made.
  Result<Slot> FindSlot(std::string_view name);
  Result<NodeRef> FindParent(std::string_view path);
  Result<NodeRef> Descend(Node& parent, std::string_view name);
  // The node of an earlier entry.
  Result<Found> FindAdded(std::string_view name);
  // FindSlot for something that is no directory: what was there before is removed.
  Result<Slot> FreeSlot(std::string_view name);
  Result<void> MakeMarkedSocket(std::string_view name, NodeMetadata metadata);
  NodeMetadata ImpliedDirectory() const;

  FileSystem& fs_;
  const Caller& caller_;
  Node& root_;
  const uint64_t max_entries_;
  uint64_t entries_ = 0;
  std::optional<NodeMetadata> root_metadata_;
  std::optional<OpenFile> open_;
  absl::flat_hash_map<NodeId, Directory> directories_;
  // The last parent, because the next entry is mostly beside it.
  std::string last_parent_path_;
  NodeRef last_parent_;
};

}  // namespace agentfs
