// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/checkpointer.h"

#include <sqlite3.h>

#include <utility>

#include "absl/time/time.h"
#include "stores/sqlite/file_header.h"

namespace agentfs {
namespace {

// So little that commits can wait for it.
constexpr uint64_t kRestBytes = uint64_t{8} << 20;
// Less than the interval in which a journal commits.
constexpr absl::Duration kQuiet = absl::Milliseconds(80);

}  // namespace

WalLimits WalLimits::For(uint64_t page_size) {
  constexpr uint64_t kStart = uint64_t{32} << 20;
  if (page_size < kLargeRowsPageSize) return {kStart, kStart, kStart};
  return {kStart, uint64_t{512} << 20, uint64_t{1} << 30};
}

Result<std::unique_ptr<Checkpointer>> Checkpointer::Start(const std::string& file,
                                                          uint64_t page_size,
                                                          absl::Mutex* commit_mu,
                                                          ReaderPool* readers) {
  AGENTFS_ASSIGN(auto connection, Connection::Open(file, Access::kReadWrite));
  AGENTFS_TRY(connection->Execute("PRAGMA synchronous = FULL", "open"));
  AGENTFS_TRY(connection->Execute("PRAGMA wal_autocheckpoint = 0", "open"));
  return std::unique_ptr<Checkpointer>(
      new Checkpointer(std::move(connection), page_size, commit_mu, readers));
}

Checkpointer::Checkpointer(std::unique_ptr<Connection> connection, uint64_t page_size,
                           absl::Mutex* commit_mu, ReaderPool* readers)
    : connection_(std::move(connection)),
      page_size_(page_size),
      limits_(WalLimits::For(page_size)),
      commit_mu_(commit_mu),
      readers_(readers),
      thread_([this] { Run(); }) {}

Checkpointer::~Checkpointer() {
  {
    absl::MutexLock lock(&mu_);
    closing_ = true;
  }
  thread_.join();
}

void Checkpointer::Notice(uint64_t wal_bytes) {
  absl::MutexLock lock(&mu_);
  wal_bytes_ = wal_bytes;
  ++commits_;
}

uint64_t Checkpointer::Pass() {
  readers_->EndIdle();
  int done = 0;
  const int code = sqlite3_wal_checkpoint_v2(connection_->db(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                             nullptr, &done);
  return code == SQLITE_OK && done > 0 ? static_cast<uint64_t>(done) * page_size_ : 0;
}

bool Checkpointer::MustFinish(uint64_t done) {
  absl::MutexLock lock(&mu_);
  return wal_bytes_ >= limits_.wait || wal_bytes_ <= done + kRestBytes;
}

bool Checkpointer::AwaitWork() {
  absl::MutexLock lock(&mu_);
  const auto long_enough = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    // What a pass left though nothing came meanwhile is a reader's: it needs no second try yet.
    return closing_ || (wal_bytes_ >= limits_.start && commits_ != passed_);
  };
  mu_.Await(absl::Condition(&long_enough));
  for (bool quiet = false; !quiet && !closing_ && wal_bytes_ < limits_.busy;) {
    const uint64_t before = commits_;
    const auto disturbed = [this, before]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return closing_ || commits_ != before;
    };
    quiet = !mu_.AwaitWithTimeout(absl::Condition(&disturbed), kQuiet);
  }
  passed_ = commits_;
  return !closing_;
}

void Checkpointer::Run() {
  while (AwaitWork()) {
    // The bulk while commits go on; once little is left, or the WAL is too long, the rest while
    // they wait, so that the WAL is empty and the next commit starts it anew.
    if (MustFinish(Pass())) {
      absl::MutexLock commit_lock(commit_mu_);
      Pass();
      absl::MutexLock lock(&mu_);
      wal_bytes_ = 0;
    }
  }
}

}  // namespace agentfs
