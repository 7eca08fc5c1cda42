// SPDX-License-Identifier: Apache-2.0
//
// Files of the base that are not there any more (an apply has replaced them), but whose content
// layers still need. Each is a file of the kept directory, under a name that says which version it
// is; who replaces a file of the base puts it there first (Volume::KeptNames). And what an apply
// has moved, that layers know by its old path: each a symbolic link that says where it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/base_fs.h"
#include "core/records.h"

namespace agentfs {

// The name of the version that `signature` is of; a change of the ctime alone is the same version,
// because keeping a file changes that.
std::string KeptName(uint64_t identity, const BaseSignature& signature);

// What a move is noted under: the identity of a node of the base, or a directory that a layer has
// made and that was applied.
uint64_t MoveKey(NodeId node);
NodeId NodeOfMove(uint64_t key);

// Where such a directory is, as it is noted: with which one of the base it is there.
struct OwnPlace {
  static OwnPlace Parse(std::string_view note);
  std::string note() const;

  uint64_t identity = 0;
  std::string path;
};

// Whether a layer that has this record needs the base's file as `signature` says it is.
bool NeedsBase(const NodeRecord& record, const BaseSignature& signature);

// Thread-safe. Its lock is a leaf.
class KeptBase {
 public:
  // Empty: there is none, and nothing is ever found. It need not be there yet.
  explicit KeptBase(std::string directory);

  // ENOENT: it was not kept, or has been written since.
  Result<std::shared_ptr<BaseFile>> Open(uint64_t identity, const BaseSignature& signature);

  // What was at another path is at `path` from now on, also after a restart.
  Result<void> Moved(uint64_t identity, const std::string& path);
  void ForgetMove(uint64_t identity);
  // Where it was moved to, if it was.
  std::optional<std::string> PlaceOf(uint64_t identity);

  // Removes what `needed` does not want, by name; the bytes that this gives back.
  // `name` is empty for what was moved.
  using Needed = std::function<Result<bool>(uint64_t identity, const std::string& name)>;
  Result<uint64_t> Collect(const Needed& needed);

 private:
  Result<BaseFs*> Directory();

  const std::string directory_;
  absl::Mutex mu_;
  std::unique_ptr<BaseFs> opened_ ABSL_GUARDED_BY(mu_);  // stays once it is open
  absl::flat_hash_map<uint64_t, std::string> moved_ ABSL_GUARDED_BY(mu_);
  std::atomic<bool> any_moved_{false};
};

}  // namespace agentfs
