// SPDX-License-Identifier: Apache-2.0
//
// Runs a command in a sandbox for a program: no terminal, its streams are caught, and it can be
// ended with all that it has started.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "agentfs/result.h"
#include "exec/envelope.h"
#include "exec/sandbox_process.h"

namespace agentfs {

enum class OutputStream : uint8_t { kOut, kErr };

struct CaptureOptions {
  std::optional<std::string> input;
  int64_t timeout_ms = 0;  // 0: none
  uint64_t output_limit = 0;
  // A stream of more than kInlineOutput or output_limit bytes is kept whole in the file
  // PREFIX.stdout or PREFIX.stderr, up to kMaxKeptOutput; empty: it is not.
  std::string keep_prefix;
  std::stop_token stop;  // ends the command
  // Called with each piece as it comes, by the calling thread.
  std::function<void(OutputStream, std::string_view)> tee;
};

inline constexpr uint64_t kInlineOutput = uint64_t{64} << 10;
inline constexpr uint64_t kMaxKeptOutput = uint64_t{1} << 30;

// What is left of a sandbox in which nothing runs any more: its namespaces take a millisecond to
// go, which nobody has to wait for. The destructor does.
class SandboxRemains {
 public:
  SandboxRemains() = default;
  explicit SandboxRemains(pid_t bubblewrap) : pid_(bubblewrap) {}
  SandboxRemains(SandboxRemains&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  SandboxRemains& operator=(SandboxRemains&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~SandboxRemains();

 private:
  pid_t pid_ = 0;
};

struct Captured {
  // Of a file that could not be written, why: the result is not worse for it.
  std::string trouble;
  enum class End : uint8_t { kByItself, kTimedOut, kStopped };
  End end = End::kByItself;
  std::optional<int> exit_code, signal;
  CapturedOutput out, err;
  int64_t duration_us = 0, cpu_us = 0;
  uint64_t max_rss = 0;
  SandboxRemains remains;
};

// Returns when the command and all processes that it left have ended. EPERM, with what bubblewrap
// says: the sandbox could not be had. Thread-safe.
Result<Captured> RunCaptured(const SandboxedCommand& command, const CaptureOptions& options);

}  // namespace agentfs
