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

// Its connection always syncs: first the WAL, then, when the pages are in the database, that. So
// what a synced commit put into the WAL is never lost by resetting it, whatever the syncing of the
// connection that commits.
// Lock order: the store's commit mutex, then mu_ here; neither is held during the first pass.
class Checkpointer {
 public:
  // Both must outlive it. `commit_mu` is held by the store during a commit.
  static Result<std::unique_ptr<Checkpointer>> Start(const std::string& file,
                                                     absl::Mutex* commit_mu, ReaderPool* readers);
  ~Checkpointer();  // waits for the pass that is running

  // The size of the WAL after a commit; starts a pass if it is long.
  void Notice(uint64_t wal_bytes) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  Checkpointer(std::unique_ptr<Connection> connection, absl::Mutex* commit_mu, ReaderPool* readers);
  void Run();
  // Copies what the readers allow; what fails will be tried again after the next commit.
  void Pass();
  bool HasWorkLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return wanted_ || closing_; }

  std::unique_ptr<Connection> connection_;
  absl::Mutex* commit_mu_;
  ReaderPool* readers_;
  absl::Mutex mu_;
  bool wanted_ ABSL_GUARDED_BY(mu_) = false;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;  // the last member: it uses all the others
};

}  // namespace agentfs
