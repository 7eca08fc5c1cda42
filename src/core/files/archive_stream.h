// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a tar archive on a standard stream: compressed with zstd on the way out, and
// decompressed, counted and checked on the way in.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <ostream>
#include <span>
#include <stop_token>

#include "agentfs/result.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace agentfs {

// One thread. One zstd frame with a checksum. EIO: the stream does not take more.
class ArchiveSink {
 public:
  explicit ArchiveSink(std::ostream& out);
  ~ArchiveSink();
  ArchiveSink(const ArchiveSink&) = delete;
  ArchiveSink& operator=(const ArchiveSink&) = delete;

  Result<void> Write(std::span<const char> bytes);
  // Ends the frame and flushes the stream.
  Result<void> Finish();

 private:
  Result<void> Compress(std::span<const char> bytes, int directive);

  std::ostream& out_;
  ZSTD_CCtx_s* context_;
  size_t buffer_size_;
  std::unique_ptr<char[]> buffer_;
};

// One thread. Takes zstd (told by its magic number) and plain bytes. EBADMSG: damaged or cut off;
// EFBIG: more than `max_bytes` after decompression; ECANCELED; EIO: the stream fails.
class ArchiveSource {
 public:
  ArchiveSource(std::istream& in, uint64_t max_bytes, std::stop_token stop);
  ~ArchiveSource();
  ArchiveSource(const ArchiveSource&) = delete;
  ArchiveSource& operator=(const ArchiveSource&) = delete;

  // The next bytes, valid until the next call; none at the end.
  Result<std::span<const char>> Next();
  // Reads what remains, so that checksums are checked; EBADMSG too if the archive does not end as
  // tar archives do, in a block of zeros.
  Result<void> Drain();

 private:
  Result<std::span<const char>> NextUncounted();
  Result<std::span<const char>> Decompress();
  Result<void> Fill();
  void NoteZeros(std::span<const char> bytes);

  std::istream& in_;
  const uint64_t max_bytes_;
  const std::stop_token stop_;
  ZSTD_DCtx_s* context_ = nullptr;  // null: plain, or not begun
  std::unique_ptr<char[]> input_;
  size_t input_size_ = 0, input_used_ = 0;
  std::unique_ptr<char[]> output_;
  uint64_t total_ = 0;
  uint64_t zeros_at_end_ = 0;
  bool begun_ = false;
  bool frame_complete_ = true;
};

}  // namespace agentfs
