// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/checkpointer.h"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/time/time.h"
#include "stores/sqlite/file_header.h"
#include "sys/fs_stats.h"

namespace agentfs {
namespace {

// So little that commits can wait for it.
constexpr uint64_t kRestBytes = uint64_t{8} << 20;
// A log below this does not matter on any disk, and stays for commits on one that is full.
constexpr uint64_t kShortLog = uint64_t{2} << 20;
// How long commits wait for another program's reader when the log is cut off.
constexpr int kTruncateMilliseconds = 50;
// Less than the interval in which a journal commits.
constexpr absl::Duration kQuiet = absl::Milliseconds(80);

uint64_t FreeOnDisk(const std::string& file) {
  const auto stats = HostFsStats(file);
  return stats.ok() && stats->blocks > 0 ? AvailableBytes(*stats) : UINT64_MAX;
}

}  // namespace

WalLimits WalLimits::For(uint64_t page_size) {
  constexpr uint64_t kStart = uint64_t{32} << 20;
  if (page_size < kLargeRowsPageSize) return {kStart, kStart, kStart};
  return {kStart, uint64_t{512} << 20, uint64_t{1} << 30};
}

WalLimits WalLimits::On(uint64_t free) const {
  const uint64_t most = std::max(kShortLog, free / 8);
  return {std::min(start, most), std::min(busy, most), std::min(wait, most)};
}

Result<std::unique_ptr<Checkpointer>> Checkpointer::Start(const std::string& file,
                                                          uint64_t page_size,
                                                          absl::Mutex* commit_mu,
                                                          ReaderPool* readers) {
  AGENTFS_ASSIGN(auto connection, Connection::Open(file, Access::kReadWrite));
  AGENTFS_TRY(connection->Execute("PRAGMA synchronous = FULL", "open"));
  AGENTFS_TRY(connection->Execute("PRAGMA wal_autocheckpoint = 0", "open"));
  sqlite3_busy_timeout(connection->db(), kTruncateMilliseconds);
  return std::unique_ptr<Checkpointer>(
      new Checkpointer(std::move(connection), file, page_size, commit_mu, readers));
}

Checkpointer::Checkpointer(std::unique_ptr<Connection> connection, std::string file,
                           uint64_t page_size, absl::Mutex* commit_mu, ReaderPool* readers)
    : connection_(std::move(connection)),
      file_(std::move(file)),
      page_size_(page_size),
      roomy_(WalLimits::For(page_size)),
      commit_mu_(commit_mu),
      readers_(readers),
      limits_(roomy_),
      thread_([this] { Run(); }) {}

Checkpointer::~Checkpointer() {
  {
    absl::MutexLock lock(&mu_);
    closing_ = true;
  }
  thread_.join();
}

void Checkpointer::Notice(uint64_t wal_bytes) {
  const WalLimits limits = wal_bytes < kShortLog ? roomy_ : roomy_.On(FreeOnDisk(file_));
  absl::MutexLock lock(&mu_);
  limits_ = limits;
  wal_bytes_ = wal_bytes;
  ++commits_;
}

Checkpointer::Copied Checkpointer::Pass() {
  readers_->EndIdle();
  int pages = 0, done = 0;
  absl::MutexLock lock(&pass_mu_);
  const int code = sqlite3_wal_checkpoint_v2(connection_->db(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                             &pages, &done);
  if (code != SQLITE_OK || done <= 0) return {};
  return {static_cast<uint64_t>(done) * page_size_, done == pages};
}

bool Checkpointer::Empty() {
  commit_mu_->AssertHeld();
  if (!Pass().all) return false;
  absl::MutexLock lock(&mu_);
  wal_bytes_ = 0;
  return true;
}

void Checkpointer::CutOff() {
  Empty();
  std::error_code failed;
  const uint64_t size = std::filesystem::file_size(file_ + "-wal", failed);
  if (failed || size <= kShortLog) return;
  absl::MutexLock lock(&pass_mu_);
  sqlite3_wal_checkpoint_v2(connection_->db(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                            nullptr);
}

void Checkpointer::Finish() {
  bool roomy;
  {
    absl::MutexLock lock(&mu_);
    roomy = limits_.start == roomy_.start;
    wal_bytes_ = 0;
  }
  if (roomy) {
    Pass();
  } else {
    CutOff();
  }
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
    if (MustFinish(Pass().bytes)) {
      absl::MutexLock commit_lock(commit_mu_);
      Finish();
    }
  }
}

}  // namespace agentfs
