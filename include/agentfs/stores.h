// SPDX-License-Identifier: Apache-2.0
//
// The stores that come with AgentFS.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "agentfs/result.h"
#include "agentfs/store.h"

namespace agentfs {

// The schema that a Volume needs (src/store/schema.cc).
const Schema& VolumeSchema();

struct StoreOptions {
  bool read_only = false;  // EROFS on Commit; the file must exist
  bool create = true;      // make the file if it is missing (else ENOENT)
  // A file that is made now is for large rows: SQLite gives it pages of 64 instead of 16 KiB.
  bool large_rows = false;
};

// Opening fails, and leaves the file untouched, for a file that is no database of this kind
// (EINVAL), one of a newer schema version (EPROTONOSUPPORT), or a damaged one (EBADMSG or EIO).

// One SQLite file in WAL mode with a real table for each of the schema's.
Result<std::unique_ptr<Store>> OpenSqliteStore(const std::string& file, const Schema& schema,
                                               const StoreOptions& options = {});
// One LMDB file.
Result<std::unique_ptr<Store>> OpenLmdbStore(const std::string& file, const Schema& schema,
                                             const StoreOptions& options = {});

struct MemoryStoreOptions {
  // Blobs past this many bytes in all go to an unnamed file in spill_directory.
  uint64_t memory_budget = uint64_t{1} << 30;
  std::string spill_directory = "/tmp";
};
Result<std::unique_ptr<Store>> OpenMemoryStore(const Schema& schema,
                                               const MemoryStoreOptions& options = {});

}  // namespace agentfs
