// SPDX-License-Identifier: Apache-2.0
//
// The threads of a transport.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace agentfs::fuse {

// Threads that wait in the kernel most of the time and can be called out of it. They receive no
// signal but SIGURG. Any thread but its own may call, and these Start.
class WorkerThreads {
 public:
  WorkerThreads() = default;
  ~WorkerThreads();  // stops them

  // `body` must look at stopping() before each wait, and again when a wait ends with EINTR. Throws,
  // as std::thread does, if there can be no more threads.
  void Start(const std::string& name, std::function<void()> body);
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }

  void Wait();  // until all have ended by themselves
  void Stop();  // and wait

 private:
  struct Worker {
    std::thread thread;
    std::atomic<bool> ended = false;
  };
  void Interrupt() ABSL_LOCKS_EXCLUDED(mu_);
  bool NoneRuns() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return running_ == 0; }

  std::atomic<bool> stopping_ = false;
  absl::Mutex mu_;
  int running_ ABSL_GUARDED_BY(mu_) = 0;
  std::list<Worker> workers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs::fuse
