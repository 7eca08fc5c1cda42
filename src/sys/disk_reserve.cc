// SPDX-License-Identifier: Apache-2.0
#include "sys/disk_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sys/fd.h"
#include "sys/fs_stats.h"

namespace agentfs {
namespace {

// ext4 gives up to 16 MiB of what it calls free to nobody.
constexpr uint64_t kLeast = uint64_t{8} << 20, kMost = uint64_t{128} << 20;
// A reserve is held from kLittleRoom down to nothing, and up to kMuchRoom again.
constexpr uint64_t kLittleRoom = uint64_t{1} << 30, kMuchRoom = uint64_t{2} << 30;
// Less is not worth changing the file for.
constexpr uint64_t kStep = uint64_t{1} << 20;

// Blocks past the end of an empty file: nobody's content.
bool IsReserve(const struct stat& file) { return S_ISREG(file.st_mode) && file.st_size == 0; }

}  // namespace

DiskReserve::DiskReserve(std::string file) : file_(std::move(file)) {
  struct stat found;
  if (::lstat(file_.c_str(), &found) == 0 && IsReserve(found)) {
    held_ = static_cast<uint64_t>(found.st_blocks) * 512;
  }
}

DiskReserve::~DiskReserve() {
  absl::MutexLock lock(&mu_);
  GiveBack();
}

uint64_t DiskReserve::KeptOn(const FsStats& disk) {
  return std::clamp(disk.blocks * disk.block_size / 8, kLeast, kMost);
}

uint64_t DiskReserve::Hold(const FsStats& disk) {
  const uint64_t free = AvailableBytes(disk);
  absl::MutexLock lock(&mu_);
  if (lent_) return 0;
  if (free >= kMuchRoom) {
    GiveBack();
  } else if (held_ > 0 || free < kLittleRoom) {
    const uint64_t wanted = std::min(KeptOn(disk) / 2, (free + held_) / 2);
    if (wanted >= held_ + kStep) Allocate(wanted);
  }
  return held_;
}

bool DiskReserve::Lend() {
  absl::MutexLock lock(&mu_);
  if (held_ == 0) return false;
  GiveBack();
  lent_ = true;
  return true;
}

void DiskReserve::Return() {
  absl::MutexLock lock(&mu_);
  lent_ = false;
}

void DiskReserve::Allocate(uint64_t bytes) {
  const auto file = OpenAt(AT_FDCWD, file_, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
  if (!file.ok()) return;
  const auto found = StatFd(file->get());
  if (!found.ok() || !IsReserve(*found)) return;
  for (; bytes >= held_ + kStep; bytes -= kStep) {
    if (::fallocate(file->get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0) {
      held_ = bytes;
      return;
    }
    if (errno != ENOSPC) break;
  }
  if (held_ == 0) (void)::unlink(file_.c_str());
}

void DiskReserve::GiveBack() {
  if (held_ > 0) (void)::unlink(file_.c_str());
  held_ = 0;
}

}  // namespace agentfs
