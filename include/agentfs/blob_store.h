// SPDX-License-Identifier: Apache-2.0
//
// Large content: objects outside the tables. An object is a sparse array of bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "agentfs/ids.h"
#include "agentfs/result.h"
#include "agentfs/types.h"

namespace agentfs {

// An open object. Thread-safe. It stays readable after BlobStore::Remove until it is destroyed.
class BlobObject {
 public:
  virtual ~BlobObject() = default;
  // Fills `out`; what was never written reads as zeros, also past the end.
  virtual Result<void> Read(uint64_t offset, std::span<char> out) = 0;
  virtual Result<void> Write(uint64_t offset, std::span<const char> data) = 0;
  // Makes the range read as zeros and frees its space.
  virtual Result<void> Punch(uint64_t offset, uint64_t length) = 0;
  // Shares (or, where the host cannot, copies) a range of a host file into this object.
  // Returns whether it was shared.
  virtual Result<bool> CloneRange(int source_fd, uint64_t source_offset, uint64_t length,
                                  uint64_t offset) = 0;
  // Makes all that was written durable, and the object's existence too.
  virtual Result<void> Sync() = 0;
  virtual Result<uint64_t> StoredBytes() = 0;
  // The byte after the last one that was written, exactly, and when that was. A sync makes it
  // durable, so that after a crash it is at least where it was then. EOPNOTSUPP where objects do
  // not outlive a crash.
  struct End {
    uint64_t size = 0;
    Timestamp modified;
  };
  virtual Result<End> GetEnd() { return Error(EOPNOTSUPP); }
  // Makes the object end at `size`, which is not past its end. Durable with the next sync.
  virtual Result<void> Cut(uint64_t /*size*/) { return Error(EOPNOTSUPP); }
  virtual int descriptor() const { return -1; }
};

// Thread-safe. Keeps a bounded number of host descriptors open, whatever the number of objects.
class BlobStore {
 public:
  virtual ~BlobStore() = default;
  virtual Result<std::shared_ptr<BlobObject>> Create(ObjectId id) = 0;  // EEXIST
  virtual Result<std::shared_ptr<BlobObject>> Open(ObjectId id) = 0;    // ENOENT
  virtual Result<void> Remove(ObjectId id) = 0;                         // no error if absent
  virtual Result<void> List(const std::function<void(ObjectId, uint64_t stored_bytes)>& visit) = 0;

  // For content that somebody else writes first: a descriptor of an empty host file, to be given
  // back to DropFile, and making such a file an object. It is the file itself, not a copy: who
  // still has it open goes on writing the object. EOPNOTSUPP where objects are no host files.
  virtual Result<int> NewFile() { return Error(EOPNOTSUPP); }
  virtual void DropFile(int /*file*/) {}
  virtual Result<std::shared_ptr<BlobObject>> Adopt(ObjectId /*id*/, int /*file*/) {
    return Error(EOPNOTSUPP);
  }
};

// Objects as files below `directory` (made if missing).
Result<std::unique_ptr<BlobStore>> OpenHostBlobStore(const std::string& directory);
// Objects as unnamed files in `directory` that vanish with the process: the spill-over of
// workspaces in memory.
Result<std::unique_ptr<BlobStore>> OpenTemporaryBlobStore(const std::string& directory);

}  // namespace agentfs
