// SPDX-License-Identifier: Apache-2.0
#include "sys/room_ahead.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "sys/fd.h"

namespace agentfs {
namespace {

constexpr int kGrowths = 4;  // as many syncs, and it is taken for a log
constexpr uint64_t kLeast = uint64_t{128} << 10;
constexpr uint64_t kMost = uint64_t{4} << 20;
constexpr uint64_t kPiece = uint64_t{128} << 10;

// The bytes up to which zeros were written.
uint64_t WriteZeros(int fd, uint64_t begin, uint64_t end) {
  static const std::vector<char> zeros(kPiece, 0);
  while (begin < end) {
    const uint64_t step = std::min(end - begin, kPiece);
    if (!WriteAt(fd, begin, {zeros.data(), step}).ok()) break;
    begin += step;
  }
  return begin;
}

}  // namespace

void RoomAhead::NoteEnd(uint64_t end) {
  uint64_t known = end_.load(std::memory_order_relaxed);
  while (end > known && !end_.compare_exchange_weak(known, end, std::memory_order_relaxed)) {
  }
}

void RoomAhead::MakeIfGrowing(int fd) {
  absl::MutexLock sync(&syncing_);
  if (end_.load(std::memory_order_relaxed) <= room_end_) return;
  if (++growths_ < kGrowths) {
    room_end_ = end_.load(std::memory_order_relaxed);
    return;
  }
  absl::MutexLock alone(&writing_);
  const uint64_t end = end_.load(std::memory_order_relaxed);
  const auto attributes = StatFd(fd);
  if (!attributes.ok()) return;
  const uint64_t begin = std::max<uint64_t>(end, static_cast<uint64_t>(attributes->st_size));
  room_end_ = WriteZeros(fd, begin, end + std::clamp(end / 4, kLeast, kMost));
}

void RoomAhead::GiveBack(int fd) {
  const uint64_t end = end_.load(std::memory_order_relaxed);
  if (room_end_ > end) static_cast<void>(::ftruncate(fd, static_cast<off_t>(end)));
}

}  // namespace agentfs
