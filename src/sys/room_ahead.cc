// SPDX-License-Identifier: Apache-2.0
#include "sys/room_ahead.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "sys/fd.h"

namespace agentfs {
namespace {

constexpr int kGrowths = 4;  // as many syncs, and it is taken for a log
constexpr uint64_t kLeast = uint64_t{128} << 10;
constexpr uint64_t kMost = uint64_t{4} << 20;

}  // namespace

void RoomAhead::MakeIfGrowing(int fd) {
  absl::MutexLock lock(&mu_);
  // Not by fstat: who has seen a file's times makes the kernel (Linux 6.13) note each later write's
  // by itself, which the next sync then has to write.
  const off_t found = ::lseek(fd, 0, SEEK_END);
  if (found < 0) return;
  const auto size = static_cast<uint64_t>(found);
  if (size <= end_) return;
  end_ = size;
  if (++growths_ < kGrowths) return;
  const uint64_t room = std::clamp(size / 4, kLeast, kMost);
  if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size), static_cast<off_t>(room)) !=
      0) {
    return;
  }
  end_ = size + room;
  made_.store(true, std::memory_order_relaxed);
}

void RoomAhead::Gone() {
  absl::MutexLock lock(&mu_);
  end_ = 0;
}

void RoomAhead::GiveBack(int fd) {
  const auto attributes = StatFd(fd);
  // Cutting a file where it ends frees the blocks past its end.
  if (attributes.ok()) static_cast<void>(::ftruncate(fd, attributes->st_size));
}

}  // namespace agentfs
