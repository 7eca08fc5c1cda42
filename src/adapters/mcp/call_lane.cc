// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/call_lane.h"

#include <system_error>

namespace agentfs::mcp {
namespace {

constexpr size_t kMaxPending = 1024;
constexpr size_t kMaxThreads = 16;

}  // namespace

CallLane::~CallLane() {
  std::vector<std::thread> threads;
  {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(this, &CallLane::IdleLocked));
    ending_ = true;
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

bool CallLane::Add(Work work) {
  absl::MutexLock lock(&mu_);
  if (pending_ >= kMaxPending) return false;
  if (threads_.empty()) {
    try {
      threads_.emplace_back([this] { RunInOrder(); });
    } catch (const std::system_error&) {
      return false;
    }
  }
  ++pending_;
  ordered_.push_back(std::move(work));
  return true;
}

bool CallLane::WaitIdle(absl::Duration timeout) {
  absl::MutexLock lock(&mu_);
  return mu_.AwaitWithTimeout(absl::Condition(this, &CallLane::IdleLocked), timeout);
}

void CallLane::RunInOrder() {
  for (;;) {
    Work work;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &CallLane::OrderedReadyLocked));
      if (ordered_.empty()) return;
      work = std::move(ordered_.front());
      ordered_.pop_front();
    }
    work.begin();
    if (work.apart) {
      absl::MutexLock lock(&mu_);
      TakeApartLocked(std::move(work));
      continue;
    }
    work.run();
    work = {};
    absl::MutexLock lock(&mu_);
    --pending_;
  }
}

// Without a thread to be had it waits for one that there is; the first always is.
void CallLane::TakeApartLocked(Work work) {
  apart_.push_back(std::move(work));
  if (idle_apart_ >= apart_.size() || threads_.size() > kMaxThreads) return;
  try {
    threads_.emplace_back([this] { RunApart(); });
  } catch (const std::system_error&) {
    if (threads_.size() > 1) return;
    // None at all: done here and now.
    Work now = std::move(apart_.back());
    apart_.pop_back();
    mu_.Unlock();
    now.run();
    now = {};
    mu_.Lock();
    --pending_;
  }
}

void CallLane::RunApart() {
  for (;;) {
    Work work;
    {
      absl::MutexLock lock(&mu_);
      ++idle_apart_;
      mu_.Await(absl::Condition(this, &CallLane::ApartReadyLocked));
      --idle_apart_;
      if (apart_.empty()) return;
      work = std::move(apart_.front());
      apart_.pop_front();
    }
    work.run();
    work = {};
    absl::MutexLock lock(&mu_);
    --pending_;
  }
}

}  // namespace agentfs::mcp
