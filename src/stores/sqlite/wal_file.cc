// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/wal_file.h"

#include <vector>

namespace agentfs {
namespace {

constexpr int kGrowths = 4;  // as many synced commits, and more are expected
constexpr int kRoom = 1 << 20;
constexpr uint64_t kCommit = kRoom / 4;  // most commits are smaller

}  // namespace

sqlite3_file* WalFile::file() const {
  sqlite3_file* wal = nullptr;
  sqlite3_file_control(db_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
  return wal != nullptr && wal->pMethods != nullptr ? wal : nullptr;
}

int WalFile::Sync() const {
  sqlite3_file* const wal = file();
  return wal == nullptr ? SQLITE_OK : wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL);
}

void WalFile::MakeRoom(uint64_t used) {
  if (used + kCommit <= end_) return;
  sqlite3_file* const wal = file();
  sqlite3_int64 size = 0;
  if (wal == nullptr || wal->pMethods->xFileSize(wal, &size) != SQLITE_OK) return;
  end_ = static_cast<uint64_t>(size);
  if (used + kCommit <= end_ || ++growths_ < kGrowths) return;
  static const std::vector<char> zeros(kRoom, 0);
  if (wal->pMethods->xWrite(wal, zeros.data(), kRoom, size) == SQLITE_OK) end_ += kRoom;
}

}  // namespace agentfs
