// SPDX-License-Identifier: Apache-2.0
//
// Moves the WAL into the database in the background, so that it stays short.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/result.h"
#include "stores/sqlite/connection.h"
#include "stores/sqlite/reader_pool.h"

namespace agentfs {

// How long the WAL may become, in bytes.
struct WalLimits {
  uint64_t start;  // it is copied from here on, once commits pause
  uint64_t busy;   // from here on also while they go on
  uint64_t wait;   // and from here on they wait until it is

  // A file for large rows may have a long one, so that a large file that is being written has the
  // processor and the disk to itself (docs/decisions/0005-stores.md).
  static WalLimits For(uint64_t page_size);
  // The same where the disk has `free` bytes: the log must not be what fills it, and there must be
  // room for it in the database.
  WalLimits On(uint64_t free) const;
};

// Its connection always syncs: first the WAL, then, when the pages are in the database, that. So
// what a synced commit put into the WAL is never lost by resetting it, whatever the syncing of the
// connection that commits.
// Lock order: the store's commit mutex, pass_mu_, mu_; the first and the last are not held during
// the first pass.
class Checkpointer {
 public:
  // Both must outlive it. `commit_mu` is held by the store during a commit.
  static Result<std::unique_ptr<Checkpointer>> Start(const std::string& file, uint64_t page_size,
                                                     absl::Mutex* commit_mu, ReaderPool* readers);
  ~Checkpointer();  // waits for the pass that is running

  // The size of the WAL after a commit; starts a pass if it is long.
  void Notice(uint64_t wal_bytes) ABSL_LOCKS_EXCLUDED(mu_);
  // On a full disk, with the store's commit mutex held: true once all of the WAL is in the
  // database, so that commits use its space again.
  bool Empty() ABSL_LOCKS_EXCLUDED(pass_mu_, mu_);
  // The same, and a long WAL is cut off.
  void CutOff() ABSL_LOCKS_EXCLUDED(pass_mu_, mu_);

 private:
  Checkpointer(std::unique_ptr<Connection> connection, std::string file, uint64_t page_size,
               absl::Mutex* commit_mu, ReaderPool* readers);
  void Run();
  // Copies what the readers allow; what fails will be tried again after the next commit.
  struct Copied {
    uint64_t bytes = 0;  // of the WAL that are in the database now
    bool all = false;
  };
  Copied Pass() ABSL_LOCKS_EXCLUDED(pass_mu_);
  // The last of a pass, for which commits wait. On a disk with little room the log gives back its
  // own.
  void Finish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mu_) ABSL_LOCKS_EXCLUDED(mu_);
  // Whether commits have to wait for the rest, of which `done` bytes are copied.
  bool MustFinish(uint64_t done) ABSL_LOCKS_EXCLUDED(mu_);
  // Waits for a WAL worth copying; false: it is time to stop.
  bool AwaitWork() ABSL_LOCKS_EXCLUDED(mu_);

  std::unique_ptr<Connection> connection_;
  const std::string file_;
  const uint64_t page_size_;
  const WalLimits roomy_;  // the limits where the disk has room
  absl::Mutex* commit_mu_;
  ReaderPool* readers_;
  absl::Mutex pass_mu_;  // guards the copying: SQLite refuses a second one
  absl::Mutex mu_;
  WalLimits limits_ ABSL_GUARDED_BY(mu_);  // as the disk was at the last commit
  uint64_t commits_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t passed_ ABSL_GUARDED_BY(mu_) = 0;     // commits_ when the last pass started
  uint64_t wal_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // at the last commit
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;  // the last member: it uses all the others
};

}  // namespace agentfs
