// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/worker_threads.h"

#include <pthread.h>

#include <csignal>
#include <utility>

#include "absl/time/time.h"

namespace agentfs::fuse {
namespace {

// Without SA_RESTART: a wait in the kernel ends with EINTR.
void HandleUrgentSignal() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    sigemptyset(&action.sa_mask);
    return ::sigaction(SIGURG, &action, nullptr) == 0;
  }();
  static_cast<void>(installed);
}

// While it lives, threads that are made get no signal but SIGURG and those of their own faults.
class QuietSignals {
 public:
  QuietSignals() {
    sigset_t quiet;
    sigfillset(&quiet);
    for (int signal : {SIGURG, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
      sigdelset(&quiet, signal);
    }
    pthread_sigmask(SIG_SETMASK, &quiet, &before_);
  }
  ~QuietSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

WorkerThreads::~WorkerThreads() {
  Stop();
  absl::MutexLock lock(&mu_);
  for (Worker& worker : workers_) worker.thread.join();
}

void WorkerThreads::Start(const std::string& name, std::function<void()> body) {
  const QuietSignals quiet;
  absl::MutexLock lock(&mu_);
  Worker& worker = workers_.emplace_back();
  try {
    worker.thread = std::thread([this, &worker, name, body = std::move(body)] {
      // By itself: for another thread it takes a file in /proc.
      pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
      body();
      worker.ended.store(true, std::memory_order_release);
      absl::MutexLock ending(&mu_);
      --running_;
    });
  } catch (...) {
    workers_.pop_back();
    throw;
  }
  ++running_;
}

void WorkerThreads::Wait() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &WorkerThreads::NoneRuns));
}

void WorkerThreads::Interrupt() {
  absl::MutexLock lock(&mu_);
  for (Worker& worker : workers_) {
    if (!worker.ended.load(std::memory_order_acquire)) {
      ::pthread_kill(worker.thread.native_handle(), SIGURG);
    }
  }
}

void WorkerThreads::Stop() {
  stopping_.store(true, std::memory_order_release);
  {
    absl::MutexLock lock(&mu_);
    if (NoneRuns()) return;
  }
  HandleUrgentSignal();
  // A signal that comes just before the wait would be lost; so it is sent until all have ended.
  for (;;) {
    Interrupt();
    absl::MutexLock lock(&mu_);
    const absl::Condition none(this, &WorkerThreads::NoneRuns);
    if (mu_.AwaitWithTimeout(none, absl::Milliseconds(1))) return;
  }
}

}  // namespace agentfs::fuse
