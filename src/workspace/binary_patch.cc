// SPDX-License-Identifier: Apache-2.0
#include "workspace/binary_patch.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <string>

namespace agentfs {
namespace {

constexpr size_t kLineBytes = 52;
constexpr size_t kOutput = size_t{64} << 10;
constexpr std::string_view kAlphabet =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

// A line's bytes, behind the letter that says how many they are.
std::string EncodeLine(std::string_view bytes) {
  std::string line(
      1, static_cast<char>(bytes.size() <= 26 ? 'A' + bytes.size() - 1 : 'a' + bytes.size() - 27));
  for (size_t at = 0; at < bytes.size(); at += 4) {
    uint32_t word = 0;
    for (size_t i = 0; i < 4; ++i) {
      word = word << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0);
    }
    std::array<char, 5> digits;
    for (size_t i = 5; i-- > 0; word /= 85) digits[i] = kAlphabet[word % 85];
    line.append(digits.data(), digits.size());
  }
  return line + "\n";
}

// Deflates what it is given, and gives the sink whole lines.
class LiteralWriter {
 public:
  explicit LiteralWriter(const PatchSink& sink) : sink_(sink) {}
  ~LiteralWriter() { ::deflateEnd(&stream_); }
  LiteralWriter(const LiteralWriter&) = delete;
  LiteralWriter& operator=(const LiteralWriter&) = delete;

  Result<void> Start() {
    if (::deflateInit(&stream_, Z_DEFAULT_COMPRESSION) != Z_OK) return Error(ENOMEM);
    return Ok();
  }
  Result<void> Add(std::string_view bytes, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      std::string piece(kOutput, '\0');
      stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream_.avail_out = static_cast<uInt>(piece.size());
      ::deflate(&stream_, flush);
      piece.resize(piece.size() - stream_.avail_out);
      pending_ += piece;
      AGENTFS_TRY(WriteLines(kLineBytes));
    } while (stream_.avail_out == 0);
    return Ok();
  }
  Result<void> Finish() {
    AGENTFS_TRY(Add("", Z_FINISH));
    AGENTFS_TRY(WriteLines(1));
    return sink_(PatchLine::kBinary, "\n");
  }

 private:
  // Writes lines while there are at least `least` bytes for one.
  Result<void> WriteLines(size_t least) {
    std::string lines;
    size_t at = 0;
    for (; pending_.size() - at >= least; at += std::min(kLineBytes, pending_.size() - at)) {
      lines += EncodeLine(std::string_view(pending_).substr(at, kLineBytes));
    }
    pending_.erase(0, at);
    return lines.empty() ? Ok() : sink_(PatchLine::kBinary, lines);
  }

  const PatchSink& sink_;
  z_stream stream_ = {};
  std::string pending_;
};

}  // namespace

Result<void> WriteBinaryLiteral(uint64_t size, const ContentReader& read, const PatchSink& sink) {
  AGENTFS_TRY(sink(PatchLine::kBinary, "literal " + std::to_string(size) + "\n"));
  LiteralWriter writer(sink);
  AGENTFS_TRY(writer.Start());
  AGENTFS_TRY(read([&](std::string_view bytes) { return writer.Add(bytes, Z_NO_FLUSH); }));
  return writer.Finish();
}

}  // namespace agentfs
