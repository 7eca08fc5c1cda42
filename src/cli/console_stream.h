// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <streambuf>

#include "cli/console.h"

namespace agentfs::cli {

// The file that stands in for the client's stdin (see command_file.h), as a standard stream's
// buffer: for reading or for writing. One thread.
class CommandFileBuffer : public std::streambuf {
 public:
  // `console` is the command's.
  explicit CommandFileBuffer(const Console& console);

  // What went wrong with the descriptor: a stream only says that something did.
  const Result<void>& state() const { return state_; }

 protected:
  int_type underflow() override;
  int_type overflow(int_type byte) override;
  std::streamsize xsputn(const char* bytes, std::streamsize count) override;
  int sync() override;

 private:
  Console file_;
  Result<void> state_;
  std::unique_ptr<char[]> input_;
};

}  // namespace agentfs::cli
