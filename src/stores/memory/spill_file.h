// SPDX-License-Identifier: Apache-2.0
//
// An unnamed file that takes the blobs past a memory budget.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "agentfs/buffer.h"
#include "agentfs/result.h"

namespace agentfs {

// Space is reused: Write takes the smallest free extent that fits, and a free end is given back to
// the disk. The file is made on the first Write and vanishes with the process.
// Write and Release must be called by one thread at a time; Read by any number, also meanwhile,
// for extents that are neither being written nor released.
class SpillFile {
 public:
  explicit SpillFile(std::string directory) : directory_(std::move(directory)) {}
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // The offset at which the bytes now are. ENOSPC, EIO, EACCES, ...; then no space is taken.
  Result<uint64_t> Write(std::string_view bytes);
  Result<Buffer> Read(uint64_t offset, uint32_t size) const;
  void Release(uint64_t offset, uint64_t size);

  // The size that the file needs now: extents in use and the free ones between them.
  uint64_t extent() const { return end_; }

 private:
  Result<void> OpenFile();
  uint64_t Allocate(uint64_t size);
  void InsertFree(uint64_t offset, uint64_t size);
  void EraseFree(std::map<uint64_t, uint64_t>::iterator it);
  Error IoError(const char* what, int code) const;

  std::string directory_;
  int fd_ = -1;
  uint64_t end_ = 0;
  std::map<uint64_t, uint64_t> free_by_offset_;           // offset → size
  std::set<std::pair<uint64_t, uint64_t>> free_by_size_;  // (size, offset)
};

}  // namespace agentfs
