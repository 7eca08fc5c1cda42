// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>

#include "agentfs/types.h"

namespace agentfs {

// The wall clock, to the nanosecond.
inline Timestamp Now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return {now.tv_sec, static_cast<uint32_t>(now.tv_nsec)};
}

inline int64_t ToMilliseconds(const Timestamp& time) {
  return time.sec * 1000 + time.nsec / 1'000'000;
}

inline int64_t ToNanoseconds(const Timestamp& time) { return time.sec * 1'000'000'000 + time.nsec; }
inline Timestamp FromNanoseconds(int64_t ns) {
  return {ns / 1'000'000'000, static_cast<uint32_t>(ns % 1'000'000'000)};
}

// Whether `time` is so near that a later change of the same file may bear the same time: file
// systems stamp by a clock that ticks every few milliseconds, some every two seconds.
inline bool IsRecent(const Timestamp& time) { return Now().sec - time.sec < 3; }

}  // namespace agentfs
