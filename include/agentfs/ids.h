// SPDX-License-Identifier: Apache-2.0
//
// Strong types for the numbers that are easily confused. All are positive as signed 64-bit
// integers, because SQL stores keep them in such columns.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace agentfs {

template <typename Tag>
struct Id {
  uint64_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(uint64_t v) : value(v) {}
  constexpr explicit operator bool() const { return value != 0; }
  constexpr auto operator<=>(const Id&) const = default;

  template <typename H>
  friend H AbslHashValue(H state, Id id) {
    return H::combine(std::move(state), id.value);
  }
};

// A node (inode) of a workspace; the same number in every branch and for ever. Node 1 is the root.
// Ids of nodes that come from the base have kBaseNodeBit set and are derived from the identity of
// the base file, so that they need no state; the others count up.
using NodeId = Id<struct NodeTag>;
inline constexpr NodeId kRootNode{1};
inline constexpr uint64_t kBaseNodeBit = uint64_t{1} << 62;

// A layer; ids grow monotonically, a child's is always greater than its parent's. 0 is "none".
using LayerId = Id<struct LayerTag>;
// A file's content; it changes when a file is truncated to nothing, so that old rows cannot show.
using ContentId = Id<struct ContentTag>;
// A large piece of content in the BlobStore.
using ObjectId = Id<struct ObjectTag>;

}  // namespace agentfs

template <typename Tag>
struct std::hash<agentfs::Id<Tag>> {
  size_t operator()(agentfs::Id<Tag> id) const noexcept { return std::hash<uint64_t>{}(id.value); }
};
