// SPDX-License-Identifier: Apache-2.0
#include "cli/server/mapped_pages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include "sys/fd.h"
#include "sys/fuse_requests.h"
#include "sys/shared_mappings.h"

namespace agentfs::cli {
namespace {

constexpr auto kFlushTimeout = std::chrono::seconds(30);

// Whether nothing that was stored to a mapping waits to be written, on a mount where nothing ever
// was: then a syncfs, which for FUSE does not wait for what it has the kernel send (measured on
// Linux 6.18), sends nothing.
bool IsAllWritten(const Fd& root, const struct stat& st, const std::atomic<bool>& written) {
  return !written && ::syncfs(root.get()) == 0 && AwaitNoFuseRequest(minor(st.st_dev)) && !written;
}

// Without a writeback cache only mapped files have dirty pages (the kernel writes them when the
// last mapping goes), so these are synced, each of them.
Result<void> WritePages(const std::string& point, const std::atomic<bool>& written) {
  AGENTFS_ASSIGN(Fd root, OpenAt(AT_FDCWD, point, O_RDONLY | O_DIRECTORY));
  AGENTFS_ASSIGN(struct stat st, StatFd(root.get()));
  if (IsAllWritten(root, st, written)) return Ok();
  for (const Fd& file : OpenSharedMappings(st.st_dev)) AGENTFS_TRY(SyncDataFd(file.get()));
  return Ok();
}

}  // namespace

// On a thread of its own: if the mount is stuck, it is that thread which hangs.
Result<void> WriteMappedPages(const std::string& point,
                              const std::shared_ptr<const std::atomic<bool>>& written) {
  auto promise = std::make_shared<std::promise<Result<void>>>();
  auto future = promise->get_future();
  std::thread([point, written, promise] {
    promise->set_value(WritePages(point, *written));
  }).detach();
  if (future.wait_for(kFlushTimeout) != std::future_status::ready) {
    return Error(ETIMEDOUT, "the mount at " + point + " does not answer");
  }
  return future.get();
}

}  // namespace agentfs::cli
