// SPDX-License-Identifier: Apache-2.0
#include "cli/server/mount_record.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "adapters/fuse/transport/mount_point.h"
#include "sys/fd.h"
#include "sys/mount_table.h"

namespace agentfs::cli {
namespace {

using Clock = std::chrono::steady_clock;

// How long a killed process may take to let go of its mounts.
constexpr auto kDying = std::chrono::milliseconds(900);

// Points are bytes without NUL, so that ends each.
std::vector<std::string> LoadMountRecord(const Layout& layout) {
  std::ifstream in(layout.mounts, std::ios::binary);
  std::vector<std::string> points;
  for (std::string point; std::getline(in, point, '\0');) points.push_back(point);
  return points;
}

bool IsOurs(const std::string& point, const Layout& layout) {
  auto table = ReadMountTable();
  if (!table.ok()) return false;
  for (const MountEntry& entry : *table) {
    if (entry.point == point && entry.type == fuse::kFilesystemType &&
        entry.source == layout.root) {
      return true;
    }
  }
  return false;
}

Result<void> RemoveMount(const std::string& point, const Layout& layout) {
  const auto deadline = Clock::now() + kDying;
  for (;;) {
    if (!IsOurs(point, layout)) return Ok();
    auto removed = fuse::RemoveDeadMount(point);
    if (!removed.ok()) return removed.error().WithContext("removing the dead mount at " + point);
    // Several may be stacked.
    if (*removed) continue;
    if (Clock::now() >= deadline) {
      return Error(EBUSY, point + ": still mounted, by a server that is gone",
                   "'umount -l " + point + "' removes it");
    }
    // The process is dying: there is nothing to wait on.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace

Result<void> SaveMountRecord(const Layout& layout, const std::vector<std::string>& points) {
  if (points.empty()) {
    ::unlink(layout.mounts.c_str());
    return Ok();
  }
  std::string text;
  for (const std::string& point : points) text += point + '\0';
  const std::string temporary = layout.mounts + ".new";
  AGENTFS_ASSIGN(Fd fd, OpenAt(AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  AGENTFS_TRY(WriteAt(fd.get(), 0, text));
  if (::rename(temporary.c_str(), layout.mounts.c_str()) != 0) return ErrnoError();
  return Ok();
}

// In place, which a file of its own for each would take ten times as long for. Only a kill could
// come between, and there is nothing between.
Result<void> AddToMountRecord(const Layout& layout, const std::string& point) {
  AGENTFS_ASSIGN(Fd fd, OpenAt(AT_FDCWD, layout.mounts, O_WRONLY | O_CREAT | O_APPEND, 0600));
  const std::string text = point + '\0';
  const ssize_t written = ::write(fd.get(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return Ok();
  return written < 0 ? ErrnoError() : Error(ENOSPC);
}

Result<void> CleanUpAfterServer(const Layout& layout) {
  ::unlink(layout.socket.c_str());
  if (::access(layout.mounts.c_str(), F_OK) != 0) return Ok();
  for (const std::string& point : LoadMountRecord(layout)) {
    AGENTFS_TRY(RemoveMount(point, layout));
  }
  ::unlink(layout.mounts.c_str());
  return Ok();
}

}  // namespace agentfs::cli
