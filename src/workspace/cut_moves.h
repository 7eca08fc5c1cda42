// SPDX-License-Identifier: Apache-2.0
//
// What a branch has moved, where only a part of its changes is wanted. Of a moved file or directory
// the branch may know no more than where the base has it: what is written at the old name shows
// under the new one, and what is given back to the base under the new name is all that is left.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "workspace/changes.h"

namespace agentfs {

struct Move {
  std::string from;  // in the base
  std::string to;    // in the branch
};

// The moves of which `paths` have a part: not the new name, or of a directory not the old one,
// under which older layers know it. (Of a file they keep what it was.) None if there are no paths.
class CutMoves {
 public:
  // `changes` and `moved` as FindChanges gives them from the base to the ref that is `view`.
  CutMoves(const std::vector<PathChange>& changes, const std::vector<StandIn>& moved,
           const std::vector<std::string>& paths, const std::shared_ptr<FileSystem>& view);
  CutMoves(const CutMoves&) = delete;
  CutMoves& operator=(const CutMoves&) = delete;

  // The topmost whose old name is `path`, or above it; null: none.
  const Move* From(std::string_view path) const { return Find(from_, path); }
  // The same of new names.
  const Move* To(std::string_view path) const { return Find(to_, path); }

 private:
  using ByPath = absl::flat_hash_map<std::string_view, const Move*>;
  static const Move* Find(const ByPath& moves, std::string_view path);

  std::vector<Move> moves_;
  ByPath from_, to_;
};

}  // namespace agentfs
