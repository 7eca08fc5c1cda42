// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/checkpointer.h"

#include <sqlite3.h>

#include <utility>

namespace agentfs {
namespace {

constexpr uint64_t kStartBytes = uint64_t{32} << 20;

}  // namespace

Result<std::unique_ptr<Checkpointer>> Checkpointer::Start(const std::string& file,
                                                          absl::Mutex* commit_mu,
                                                          ReaderPool* readers) {
  AGENTFS_ASSIGN(auto connection, Connection::Open(file, Access::kReadWrite));
  AGENTFS_TRY(connection->Execute("PRAGMA synchronous = FULL", "open"));
  AGENTFS_TRY(connection->Execute("PRAGMA wal_autocheckpoint = 0", "open"));
  return std::unique_ptr<Checkpointer>(new Checkpointer(std::move(connection), commit_mu, readers));
}

Checkpointer::Checkpointer(std::unique_ptr<Connection> connection, absl::Mutex* commit_mu,
                           ReaderPool* readers)
    : connection_(std::move(connection)),
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
  if (wal_bytes < kStartBytes) return;
  absl::MutexLock lock(&mu_);
  wanted_ = true;
}

void Checkpointer::Pass() {
  readers_->EndIdle();
  sqlite3_wal_checkpoint_v2(connection_->db(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr,
                            nullptr);
}

void Checkpointer::Run() {
  for (;;) {
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &Checkpointer::HasWorkLocked));
      if (closing_) return;
      wanted_ = false;
    }
    // The bulk while commits go on; then the rest while they wait, so that the WAL is empty and
    // the next commit starts it anew.
    Pass();
    {
      absl::MutexLock commit_lock(commit_mu_);
      Pass();
    }
    absl::MutexLock lock(&mu_);
    wanted_ = false;
  }
}

}  // namespace agentfs
