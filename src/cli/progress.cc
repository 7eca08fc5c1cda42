// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/core.h>

namespace agentfs::cli {
namespace {

constexpr std::chrono::milliseconds kPatience(500), kBetween(100);
constexpr size_t kBarWidth = 30;

}  // namespace

Progress::Progress(const Context& context, std::string what)
    : context_(context),
      what_(std::move(what)),
      wanted_(!context.quiet && context.console->ErrorsAreTerminal()),
      next_(Clock::now() + kPatience) {}

Progress::~Progress() {
  if (shown_) context_.console->WriteError("\r\033[K");
}

void Progress::Show(size_t done, size_t all) {
  if (!wanted_ || all == 0 || Clock::now() < next_) return;
  next_ = Clock::now() + kBetween;
  shown_ = true;
  const size_t full = done * kBarWidth / all;
  context_.console->WriteError(fmt::format("\r\033[K{} [{}{}] {}/{}", what_, std::string(full, '#'),
                                           std::string(kBarWidth - full, ' '), done, all));
}

}  // namespace agentfs::cli
