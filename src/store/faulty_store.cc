// SPDX-License-Identifier: Apache-2.0
#include "store/faulty_store.h"

namespace agentfs {

void FaultyStore::FailCommit(uint64_t nth, int error) {
  absl::MutexLock lock(&mu_);
  fail_at_ = counts_.commits + nth;
  fail_error_ = error;
}

void FaultyStore::FailCommits(int error) {
  absl::MutexLock lock(&mu_);
  all_error_ = error;
}

void FaultyStore::FailReads(int error) { read_error_ = error; }

void FaultyStore::Heal() {
  read_error_ = 0;
  absl::MutexLock lock(&mu_);
  fail_at_ = 0;
  all_error_ = 0;
}

FaultyStore::Calls FaultyStore::calls() const {
  absl::MutexLock lock(&mu_);
  Calls calls = counts_;
  calls.gets = gets_;
  calls.scans = scans_;
  return calls;
}

Result<std::optional<Row>> FaultyStore::Get(TableId table, std::string_view key) {
  ++gets_;
  if (const int error = read_error_) return Error(error, "injected fault in Get");
  return store_->Get(table, key);
}

Result<void> FaultyStore::Scan(const ScanRange& range, const Visitor& visit) {
  ++scans_;
  if (const int error = read_error_) return Error(error, "injected fault in Scan");
  return store_->Scan(range, visit);
}

int FaultyStore::NextCommitError(Durability durability) {
  absl::MutexLock lock(&mu_);
  ++counts_.commits;
  if (durability == Durability::kSynced) ++counts_.synced_commits;
  int error = all_error_;
  if (error == 0 && counts_.commits == fail_at_) error = fail_error_;
  if (error != 0) ++counts_.failed_commits;
  return error;
}

Result<void> FaultyStore::Commit(const Batch& batch, Durability durability) {
  if (const int error = NextCommitError(durability)) {
    return Error(error, "injected fault in Commit");
  }
  return store_->Commit(batch, durability);
}

}  // namespace agentfs
