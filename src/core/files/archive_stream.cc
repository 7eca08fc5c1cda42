// SPDX-License-Identifier: Apache-2.0
#include "core/files/archive_stream.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace agentfs {
namespace {

constexpr size_t kInputSize = size_t{128} << 10;
constexpr size_t kOutputSize = size_t{256} << 10;
constexpr size_t kTarBlock = 512;

// Bytes read, fewer than asked for only at the end.
Result<size_t> ReadFrom(std::istream& in, std::span<char> bytes) {
  try {
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  } catch (const std::ios_base::failure&) {
    // The stream's state says the same.
  }
  if (in.bad()) return Error(EIO, "cannot read the archive");
  return static_cast<size_t>(in.gcount());
}

Result<void> WriteTo(std::ostream& out, std::span<const char> bytes) {
  try {
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  } catch (const std::ios_base::failure&) {
  }
  if (!out.good()) return Error(EIO, "cannot write the archive");
  return Ok();
}

Result<void> FlushTo(std::ostream& out) {
  try {
    out.flush();
  } catch (const std::ios_base::failure&) {
  }
  if (!out.good()) return Error(EIO, "cannot write the archive");
  return Ok();
}

bool IsZstd(std::span<const char> bytes) {
  if (bytes.size() < 4) return false;
  uint32_t magic = 0;
  for (int i = 3; i >= 0; --i) magic = magic << 8 | static_cast<uint8_t>(bytes[i]);
  return magic == ZSTD_MAGICNUMBER ||
         (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

}  // namespace

ArchiveSink::ArchiveSink(std::ostream& out)
    : out_(out),
      context_(ZSTD_createCCtx()),
      buffer_size_(ZSTD_CStreamOutSize()),
      buffer_(std::make_unique_for_overwrite<char[]>(buffer_size_)) {
  if (context_) ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
}

ArchiveSink::~ArchiveSink() { ZSTD_freeCCtx(context_); }

Result<void> ArchiveSink::Write(std::span<const char> bytes) {
  return Compress(bytes, ZSTD_e_continue);
}

Result<void> ArchiveSink::Finish() {
  AGENTFS_TRY(Compress({}, ZSTD_e_end));
  return FlushTo(out_);
}

Result<void> ArchiveSink::Compress(std::span<const char> bytes, int directive) {
  if (!context_) return Error(ENOMEM);
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  for (;;) {
    ZSTD_outBuffer output{buffer_.get(), buffer_size_, 0};
    size_t left =
        ZSTD_compressStream2(context_, &output, &input, static_cast<ZSTD_EndDirective>(directive));
    if (ZSTD_isError(left)) return Error(EIO, ZSTD_getErrorName(left));
    if (output.pos > 0) AGENTFS_TRY(WriteTo(out_, {buffer_.get(), output.pos}));
    bool done = directive == ZSTD_e_end ? left == 0 : input.pos == input.size;
    if (done) return Ok();
  }
}

ArchiveSource::ArchiveSource(std::istream& in, uint64_t max_bytes, std::stop_token stop)
    : in_(in),
      max_bytes_(max_bytes),
      stop_(std::move(stop)),
      input_(std::make_unique_for_overwrite<char[]>(kInputSize)) {}

ArchiveSource::~ArchiveSource() { ZSTD_freeDCtx(context_); }

Result<std::span<const char>> ArchiveSource::Next() {
  if (stop_.stop_requested()) return Error(ECANCELED);
  AGENTFS_ASSIGN(std::span<const char> bytes, NextUncounted());
  total_ += bytes.size();
  if (total_ > max_bytes_) return Error(EFBIG, "the archive holds more bytes than allowed");
  NoteZeros(bytes);
  return bytes;
}

Result<void> ArchiveSource::Drain() {
  for (;;) {
    AGENTFS_ASSIGN(std::span<const char> bytes, Next());
    if (bytes.empty()) break;
  }
  if (zeros_at_end_ < kTarBlock) return Error(EBADMSG, "the archive is cut off");
  return Ok();
}

Result<std::span<const char>> ArchiveSource::NextUncounted() {
  if (!begun_) {
    begun_ = true;
    AGENTFS_TRY(Fill());
    if (IsZstd({input_.get(), input_size_})) {
      context_ = ZSTD_createDCtx();
      if (!context_) return Error(ENOMEM);
      output_ = std::make_unique_for_overwrite<char[]>(kOutputSize);
    }
  }
  if (context_) return Decompress();
  if (input_used_ == input_size_) AGENTFS_TRY(Fill());
  size_t begin = std::exchange(input_used_, input_size_);
  return std::span<const char>(input_.get() + begin, input_size_ - begin);
}

Result<std::span<const char>> ArchiveSource::Decompress() {
  for (;;) {
    ZSTD_outBuffer output{output_.get(), kOutputSize, 0};
    ZSTD_inBuffer input{input_.get(), input_size_, input_used_};
    bool had_input = input_used_ < input_size_;
    size_t hint = ZSTD_decompressStream(context_, &output, &input);
    if (ZSTD_isError(hint)) {
      return Error(EBADMSG, std::string("the archive is damaged: ") + ZSTD_getErrorName(hint));
    }
    input_used_ = input.pos;
    if (had_input || output.pos > 0 || hint == 0) frame_complete_ = hint == 0;
    if (output.pos > 0) return std::span<const char>(output_.get(), output.pos);
    if (input_used_ < input_size_) continue;
    AGENTFS_TRY(Fill());
    if (input_size_ > 0) continue;
    if (!frame_complete_) return Error(EBADMSG, "the archive is cut off");
    return std::span<const char>();
  }
}

Result<void> ArchiveSource::Fill() {
  input_used_ = input_size_ = 0;
  AGENTFS_ASSIGN(input_size_, ReadFrom(in_, {input_.get(), kInputSize}));
  return Ok();
}

void ArchiveSource::NoteZeros(std::span<const char> bytes) {
  auto nonzero = std::find_if(bytes.rbegin(), bytes.rend(), [](char c) { return c != 0; });
  uint64_t zeros = static_cast<uint64_t>(nonzero - bytes.rbegin());
  zeros_at_end_ = nonzero == bytes.rend() ? zeros_at_end_ + zeros : zeros;
}

}  // namespace agentfs
