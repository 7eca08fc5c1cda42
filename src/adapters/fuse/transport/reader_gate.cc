// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/reader_gate.h"

namespace agentfs::fuse {

void ReaderGate::Enter() {
  if (readers_.load() <= most_.load(std::memory_order_relaxed)) return;
  absl::MutexLock lock(&mu_);
  if (open_) return;
  ++waiting_;
  // The last reader may have left just before this thread could be seen to wait.
  if (readers_.fetch_sub(1) > 1) mu_.Await(absl::Condition(this, &ReaderGate::MayGo));
  if (called_ > 0) --called_;
  --waiting_;
  readers_.fetch_add(1);
}

bool ReaderGate::Leave() {
  if (readers_.fetch_sub(1) > 1) return false;
  absl::MutexLock lock(&mu_);
  if (called_ < waiting_) ++called_;
  return waiting_ == 0;
}

bool ReaderGate::Widen() {
  absl::MutexLock lock(&mu_);
  most_.store(kMostReaders, std::memory_order_relaxed);
  if (called_ < waiting_) ++called_;
  return waiting_ > 0 || readers_.load() > 1;
}

void ReaderGate::Open() {
  absl::MutexLock lock(&mu_);
  open_ = true;
}

int ReaderGate::waiting() {
  absl::MutexLock lock(&mu_);
  return waiting_;
}

}  // namespace agentfs::fuse
