// SPDX-License-Identifier: Apache-2.0
//
// A store that fails on purpose, to test those above it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/store.h"

namespace agentfs {

// Passes every call on, except the commits told to fail: those give the error and apply nothing.
// Owns the store beneath. Thread-safe; its mutex is not held while the store beneath works.
class FaultyStore : public Store {
 public:
  explicit FaultyStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  // The nth commit from now (1: the next) fails with `error`, once.
  void FailCommit(uint64_t nth, int error);
  // All commits, or all Gets and Scans, fail with `error` until Heal.
  void FailCommits(int error);
  void FailReads(int error);
  // No more failures, also none that was planned.
  void Heal();

  struct Calls {
    uint64_t gets = 0;
    uint64_t scans = 0;
    uint64_t commits = 0;         // those that failed included
    uint64_t synced_commits = 0;  // of these, with kSynced
    uint64_t failed_commits = 0;  // on purpose
  };
  Calls calls() const;

  Store& store() { return *store_; }

  Result<std::optional<Row>> Get(TableId table, std::string_view key) override;
  Result<void> Scan(const ScanRange& range, const Visitor& visit) override;
  Result<void> Commit(const Batch& batch, Durability durability) override;
  Result<void> Close() override { return store_->Close(); }
  StoreCapabilities capabilities() const override { return store_->capabilities(); }
  Result<Usage> GetUsage() override { return store_->GetUsage(); }
  Room GetRoom() override { return store_->GetRoom(); }
  void MakeRoom() override { store_->MakeRoom(); }

 private:
  // The errno with which the commit that starts now must fail, 0 if it must not.
  int NextCommitError(Durability durability);

  std::unique_ptr<Store> store_;
  std::atomic<int> read_error_{0};
  std::atomic<uint64_t> gets_{0};
  std::atomic<uint64_t> scans_{0};
  mutable absl::Mutex mu_;
  uint64_t fail_at_ ABSL_GUARDED_BY(mu_) = 0;  // the number of the commit to fail; 0: none
  int fail_error_ ABSL_GUARDED_BY(mu_) = 0;
  int all_error_ ABSL_GUARDED_BY(mu_) = 0;
  Calls counts_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs
