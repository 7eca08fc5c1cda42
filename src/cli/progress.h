// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "cli/context.h"

namespace agentfs::cli {

// A bar on stderr, if that is a terminal, for work that takes longer than a moment. It is gone when
// this is destroyed.
class Progress {
 public:
  Progress(const Context& context, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(size_t done, size_t all);

 private:
  using Clock = std::chrono::steady_clock;
  const Context& context_;
  const std::string what_;
  const bool wanted_;
  Clock::time_point next_;
  bool shown_ = false;
};

}  // namespace agentfs::cli
