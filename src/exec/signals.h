// SPDX-License-Identifier: Apache-2.0
//
// How a process treats signals, taken along into the sandbox: bubblewrap and its child must not be
// ended by what the terminal sends, and the command must find everything as it was.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include <cstdint>
#include <optional>
#include <string>

#include "sys/fd.h"

namespace agentfs {

// A bit a signal: signal n is bit n - 1.
struct SignalState {
  uint64_t blocked = 0;
  uint64_t ignored = 0;

  static SignalState OfThisProcess();
  // In a child that is about to exec.
  void Restore() const;
};

// Blocks every signal that can be; the descriptor tells of them.
Result<Fd> CatchSignals();

// What a descriptor of CatchSignals tells; none if there is nothing.
std::optional<struct signalfd_siginfo> NextSignal(int fd);

// Whether somebody sent it on purpose: what the terminal sends goes to the whole process group.
bool WasSent(const struct signalfd_siginfo& signal);

// What goes over the socket between agentfs outside and process 1 inside.
struct SandboxMessage {
  enum class Kind : uint32_t {
    kStarted,  // from inside: the sandbox is there, the command is about to start
    kStopped,  // from inside: the command was stopped by this signal
    kSignal,   // from outside: send it to the command
    kEnded,    // from inside: the command has ended, by this signal if it is not 0
  };
  Kind kind = Kind::kStarted;
  int32_t signal = 0;
  int32_t status = 0;    // of what ended without a signal
  uint64_t cpu_us = 0;   // of what has ended
  uint64_t max_rss = 0;  // bytes, of the largest of these
};
bool SendMessage(int socket, SandboxMessage message);
// False: the other end is gone.
bool ReceiveMessage(int socket, SandboxMessage& message);

}  // namespace agentfs
