// SPDX-License-Identifier: Apache-2.0
#include "sys/directory_watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

namespace agentfs {
namespace {

constexpr uint32_t kChanges =
    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF;
constexpr uint32_t kHow = IN_ONLYDIR | IN_EXCL_UNLINK;

Error WatchError() {
  if (errno != ENOSPC) return ErrnoError();
  return Error(ENOSPC, "the host watches no more directories for this user",
               "raise fs.inotify.max_user_watches with sysctl");
}

}  // namespace

Result<std::unique_ptr<DirectoryWatcher>> DirectoryWatcher::Start(Callbacks callbacks) {
  std::unique_ptr<DirectoryWatcher> watcher(new DirectoryWatcher(std::move(callbacks)));
  watcher->stop_ = Fd(::eventfd(0, EFD_CLOEXEC));
  if (!watcher->stop_) return ErrnoError();
  {
    absl::MutexLock lock(&watcher->mu_);
    AGENTFS_TRY(watcher->Renew());
  }
  watcher->thread_ = std::thread([raw = watcher.get()] { raw->Run(); });
  return watcher;
}

DirectoryWatcher::~DirectoryWatcher() {
  const uint64_t one = 1;
  if (stop_) (void)!::write(stop_.get(), &one, sizeof(one));
  if (thread_.joinable()) thread_.join();
}

Result<void> DirectoryWatcher::Renew() {
  Fd fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd) return ErrnoError();
  inotify_ = std::move(fd);
  paths_.clear();
  return Ok();
}

Result<void> DirectoryWatcher::Watch(const std::string& path, const std::string& host_path) {
  absl::MutexLock lock(&mu_);
  const int watch = ::inotify_add_watch(inotify_.get(), host_path.c_str(), kChanges | kHow);
  if (watch < 0) return WatchError();
  paths_[watch] = path;
  return Ok();
}

// The queue first: what has left it is being delivered, or was.
bool DirectoryWatcher::HasToldAll() const {
  {
    absl::MutexLock lock(&mu_);
    int waiting = 0;
    if (::ioctl(inotify_.get(), FIONREAD, &waiting) != 0 || waiting != 0) return false;
  }
  return !delivering_.load();
}

void DirectoryWatcher::Run() {
  alignas(inotify_event) std::array<char, 64 * 1024> events;
  for (;;) {
    int inotify = -1;
    {
      absl::MutexLock lock(&mu_);
      inotify = inotify_.get();
    }
    std::array<pollfd, 2> wait{pollfd{inotify, POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
    if (::poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) return;
    if (wait[1].revents != 0) return;
    delivering_.store(true);
    const ssize_t size = ::read(inotify, events.data(), events.size());
    if (size > 0 && !Deliver(events.data(), static_cast<size_t>(size))) Lose();
    delivering_.store(false);
  }
}

bool DirectoryWatcher::Deliver(const char* events, size_t size) {
  for (const char* at = events; at < events + size;) {
    inotify_event event;
    std::memcpy(&event, at, sizeof(event));
    const char* name = at + sizeof(event);
    at = name + event.len;
    if ((event.mask & (IN_Q_OVERFLOW | IN_UNMOUNT | IN_MOVE_SELF)) != 0) return false;
    // The paths of everything below a directory that moves are wrong from now on.
    const bool moved = (event.mask & (IN_MOVED_FROM | IN_MOVED_TO)) != 0;
    if (moved && (event.mask & IN_ISDIR) != 0) return false;
    std::string path;
    {
      absl::MutexLock lock(&mu_);
      auto it = paths_.find(event.wd);
      if (it == paths_.end()) continue;
      path = it->second;
      if ((event.mask & IN_IGNORED) != 0) paths_.erase(it);
    }
    callbacks_.changed(path,
                       std::string_view(name, event.len == 0 ? 0 : ::strnlen(name, event.len)));
  }
  return true;
}

void DirectoryWatcher::Lose() {
  {
    absl::MutexLock lock(&mu_);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    if (!Renew().ok()) paths_.clear();
  }
  callbacks_.lost();
}

}  // namespace agentfs
