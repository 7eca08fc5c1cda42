// SPDX-License-Identifier: Apache-2.0
//
// Tells of changes that others make in host directories (inotify).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs {

// Thread-safe. The callbacks run on a thread of the watcher's own and may call Watch. Stores
// through a shared mapping are not told: the kernel does not say.
class DirectoryWatcher {
 public:
  struct Callbacks {
    // Something has happened to `name` in the watched directory `path`; "" is the directory itself.
    std::function<void(const std::string& path, std::string_view name)> changed;
    // Changes were missed, or watched directories have moved: nothing is watched any more.
    std::function<void()> lost;
  };
  static Result<std::unique_ptr<DirectoryWatcher>> Start(Callbacks callbacks);
  ~DirectoryWatcher();  // waits for a callback under way

  // From now on changes in the directory that the host knows as `host_path` are told under the name
  // `path`. ENOSPC: the host watches no more for this user.
  Result<void> Watch(const std::string& path, const std::string& host_path);
  // Whether all that has happened in watched directories before the call has been told.
  bool HasToldAll() const ABSL_LOCKS_EXCLUDED(mu_);
  // Grows whenever all watches were lost.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  explicit DirectoryWatcher(Callbacks callbacks) : callbacks_(std::move(callbacks)) {}
  Result<void> Renew() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Run();
  // False: the events after these cannot be told apart any more.
  bool Deliver(const char* events, size_t size);
  void Lose();

  const Callbacks callbacks_;
  Fd stop_;
  std::atomic<uint64_t> generation_{1};
  std::atomic<bool> delivering_{false};  // from before events are taken from the queue
  mutable absl::Mutex mu_;
  Fd inotify_ ABSL_GUARDED_BY(mu_);  // replaced by the thread alone
  absl::flat_hash_map<int, std::string> paths_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace agentfs
