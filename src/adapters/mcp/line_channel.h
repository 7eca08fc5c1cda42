// SPDX-License-Identifier: Apache-2.0
//
// Lines over a pair of descriptors, for a client that may go away at any moment.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace agentfs::mcp {

struct ChannelEnds {
  int in = 0, out = 1;
  // A socket whose other end is the client's process; -1: there is none. When that goes, the
  // channel has ended.
  int client = -1;
};

// One thread reads; any may write. The descriptors stay the owner's, blocking or not.
class LineChannel {
 public:
  enum class Event : uint8_t {
    kLine,
    kTooLong,  // a line over the limit was passed over
    kTimeout,
    kEnd,   // no more input
    kGone,  // nobody is there any more
  };

  LineChannel(ChannelEnds ends, size_t max_line) : ends_(ends), max_line_(max_line) {}
  LineChannel(const LineChannel&) = delete;
  LineChannel& operator=(const LineChannel&) = delete;

  // The next line, without its end; what follows the last line end is a line too. Waits at most
  // `timeout_ms` (-1: for ever).
  Event Read(std::string& line, int timeout_ms);
  // Writes the line and its end, not mixed with others. False: nobody is there any more.
  bool Write(std::string_view line) ABSL_LOCKS_EXCLUDED(write_mu_);
  // Whether the client's process has gone.
  bool IsGone() const;

 private:
  bool TakeLine(std::string& line, Event& event);
  Event TakeRest(std::string& line);
  Event WaitForInput(int timeout_ms) const;
  bool WaitForOutput() const;

  const ChannelEnds ends_;
  const size_t max_line_;
  std::string buffer_;
  size_t scanned_ = 0;     // of the buffer, which has no line end up to there
  bool skipping_ = false;  // in a line over the limit
  absl::Mutex write_mu_;
  bool broken_ ABSL_GUARDED_BY(write_mu_) = false;
};

}  // namespace agentfs::mcp
