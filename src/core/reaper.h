// SPDX-License-Identifier: Apache-2.0
//
// Removes the rows and objects of what nobody can reach any more: nodes that were unlinked while
// in use, once their last user is gone, and content that a file has dropped. Each has a row in
// `orphans` until then, so that a crash loses nothing but time.
#pragma once

#include <deque>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/ids.h"
#include "agentfs/result.h"

namespace agentfs {

class VolumeState;

// The rows of `content` and, unless it is 0, of `node`, in `layer`. All of them are committed.
struct Orphan {
  LayerId layer;
  NodeId node;
  ContentId content;
};

// Thread-safe. Its lock is a leaf.
class Reaper {
 public:
  explicit Reaper(VolumeState& volume) : volume_(volume) {}
  void Add(Orphan orphan);
  // On the committer's thread, before a batch is cut: appends the deletions, of so much that the
  // batch stays small. The rest is for later batches.
  void Sweep();
  // When a volume is opened: what the last process left.
  Result<void> LoadLeftovers();
  bool idle() const {
    absl::MutexLock lock(&mu_);
    return orphans_.empty();
  }

 private:
  std::optional<Orphan> Next();
  // The bytes of content that were in rows.
  Result<int64_t> Reap(const Orphan& orphan);

  VolumeState& volume_;
  mutable absl::Mutex mu_;
  std::deque<Orphan> orphans_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs
