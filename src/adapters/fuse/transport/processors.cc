// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/processors.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <thread>

#include "sys/fd.h"

namespace agentfs::fuse {
namespace {

constexpr int kMostProcessors = 1 << 16;

bool TakeNumber(std::string_view& text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value >= kMostProcessors) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

std::vector<int> ReadList(const std::string& file) {
  auto fd = OpenAt(AT_FDCWD, file, O_RDONLY);
  std::string text(4096, '\0');
  if (fd.ok()) {
    auto size = ReadAt(fd->get(), 0, text);
    text.resize(size.ok() ? *size : 0);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    auto list = ParseProcessorList(text);
    if (!list.empty()) return list;
  }
  std::vector<int> guess(std::max(1u, std::thread::hardware_concurrency()));
  for (size_t i = 0; i < guess.size(); ++i) guess[i] = static_cast<int>(i);
  return guess;
}

}  // namespace

std::vector<int> ParseProcessorList(std::string_view text) {
  std::vector<int> list;
  for (;;) {
    int first = 0;
    if (!TakeNumber(text, first)) return {};
    int last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!TakeNumber(text, last)) return {};
    }
    for (int processor = first; processor <= last; ++processor) list.push_back(processor);
    if (text.empty()) return list;
    if (!text.starts_with(',')) return {};
    text.remove_prefix(1);
  }
}

Processors ReadProcessors() {
  return {ReadList("/sys/devices/system/cpu/possible"), ReadList("/sys/devices/system/cpu/online")};
}

}  // namespace agentfs::fuse
