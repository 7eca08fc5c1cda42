// SPDX-License-Identifier: Apache-2.0
//
// Where a command reads and writes: the process's own streams, or, in the server, those of the
// client for whom it works.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "agentfs/result.h"

namespace agentfs::cli {

struct Streams {
  int in = 0, out = 1, err = 2;
  // A socket whose other end is the client; -1: there is none. When the client is gone, what waits
  // for a stream ends with ECANCELED, so that a dead client's pipes hold nothing up.
  int client = -1;
};

// Output is buffered until Flush, or shown at once on a terminal. One thread. The descriptors stay
// the owner's.
class Console {
 public:
  Console() = default;
  explicit Console(Streams streams) : streams_(streams) {}
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  const Streams& streams() const { return streams_; }
  bool IsTerminal() const;
  // Whether a person can be asked: input and errors are a terminal.
  bool CanAsk() const;
  bool ErrorsAreTerminal() const;
  Result<void> Write(std::string_view data);
  Result<void> Flush();
  // Unbuffered; what cannot be told is not told.
  void WriteError(std::string_view text);
  // Fills `out` as far as the input goes; fewer bytes than asked for mean the end.
  Result<size_t> Read(std::span<char> out);
  // Asks a person, where one can be asked, and waits for the answer.
  Result<bool> AskYesOrNo(std::string_view question);
  // Puts back what was read, for who reads next.
  void GiveBack(std::string data) { given_back_ = std::move(data); }
  bool has_given_back() const { return !given_back_.empty(); }
  // Whether nobody reads the output any more.
  bool broken_pipe() const { return broken_pipe_; }

 private:
  Result<void> WriteAll(int fd, std::string_view data);
  Result<void> WaitFor(int fd, short events) const;

  const Streams streams_ = {};
  std::string buffer_;
  std::string given_back_;
  bool broken_pipe_ = false;
};

}  // namespace agentfs::cli
