// SPDX-License-Identifier: Apache-2.0
//
// Process 1 inside the sandbox: starts the command, passes signals on, reaps, ends as it ends.
#pragma once

#include <string>
#include <vector>

#include "exec/signals.h"

namespace agentfs {

// The first argument of a program that is to be it.
inline constexpr const char* kInnerCommand = "__inner";

struct InnerOptions {
  int channel = -1;  // the socket to agentfs outside
  int program = -1;  // this program, open: closed before the command starts
  int error = -1;    // what becomes stderr
  SignalState signals;
  std::string directory;  // where the command starts, if it is there
  std::string fallback;   // where it starts else: the workspace
  std::vector<std::string> command;

  // As arguments of the program, kInnerCommand first, and back.
  std::vector<std::string> ToArguments() const;
  static InnerOptions FromArguments(const std::vector<std::string>& arguments);
};

// Does not return before the command has ended; the value is the exit status: the command's, 128 +
// signal, 126 or 127 if it could not be started.
int RunInner(const InnerOptions& options);

}  // namespace agentfs
