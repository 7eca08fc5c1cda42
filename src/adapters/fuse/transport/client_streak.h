// SPDX-License-Identifier: Apache-2.0
//
// Whether one client sends nearly all requests.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace agentfs::fuse {

// What is known of a request's sender. Requests of the kernel's own come from nobody.
struct Sender {
  uint32_t thread = 0;   // 0: nobody's
  bool is_bulk = false;  // moves much data: the kernel sends several of these at a time
};

// Counts requests one after the other. Not thread-safe.
class ClientStreak {
 public:
  // So many requests of one thread in so much time are a streak. To begin to follow takes a few
  // system calls, so it must be worth it.
  static constexpr int kLength = 64;
  static constexpr absl::Duration kLongest = absl::Milliseconds(20);

  // True: this request completes a streak. `now` is called at the streak's ends only.
  template <typename Clock>
  bool Completes(const Sender& sender, Clock now) {
    if (sender.thread == 0) return false;
    if (sender.is_bulk || sender.thread != thread_) {
      thread_ = sender.is_bulk ? 0 : sender.thread;
      count_ = 0;
      return false;
    }
    if (++count_ == 1) began_ = now();
    if (count_ < kLength) return false;
    count_ = 0;
    return now() - began_ <= kLongest;
  }

 private:
  uint32_t thread_ = 0;
  int count_ = 0;
  absl::Time began_;
};

// The same once it is followed: a few requests of others do not matter, more do.
class ClientShare {
 public:
  static constexpr int kOther = 8;  // what one request of another's counts for
  static constexpr int kMost = 32;

  explicit ClientShare(uint32_t thread) : thread_(thread) {}

  // False: it is no longer one client alone.
  bool StillAlone(const Sender& sender) {
    if (sender.thread == 0) return true;
    if (sender.thread != thread_ || sender.is_bulk) {
      others_ += kOther;
    } else if (others_ > 0) {
      --others_;
    }
    return others_ < kMost;
  }

 private:
  uint32_t thread_;
  int others_ = 0;
};

}  // namespace agentfs::fuse
