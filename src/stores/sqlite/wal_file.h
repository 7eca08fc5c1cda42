// SPDX-License-Identifier: Apache-2.0
//
// The WAL of a connection, as the file that it is.
#pragma once

#include <sqlite3.h>

#include <cstdint>

namespace agentfs {

// Used by one thread at a time. The connection must outlive it.
class WalFile {
 public:
  explicit WalFile(sqlite3* db) : db_(db) {}

  // SQLITE_OK, also if nothing has opened it yet.
  int Sync() const;
  // Writes zeros past the end of a WAL that grows from commit to commit: frames that overwrite
  // something are synced in half the time. `used` bytes hold frames. Within a
  // transaction, so that nobody else writes it, and only for one that will be synced.
  void MakeRoom(uint64_t used);

 private:
  sqlite3_file* file() const;  // null: not open yet

  sqlite3* db_;
  int growths_ = 0;
  uint64_t end_ = 0;  // of the file, when last looked at
};

}  // namespace agentfs
