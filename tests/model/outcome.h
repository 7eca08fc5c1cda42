// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <type_traits>

#include "agentfs/result.h"
#include "subject.h"

namespace agentfs::model {

// How `actual` differs from `expected`: in the errno or, for texts and numbers, in the value.
template <typename T>
std::string Compare(const Result<T>& expected, const Result<T>& actual) {
  if (expected.code() != actual.code()) {
    return fmt::format("expected {}, got {}{}", posix::ErrnoName(expected.code()),
                       posix::ErrnoName(actual.code()),
                       actual.ok() ? "" : " (" + actual.error().message() + ")");
  }
  if (!expected.ok()) return "";
  if constexpr (std::is_integral_v<T>) {
    if (*expected != *actual) return fmt::format("expected {}, got {}", *expected, *actual);
  } else if constexpr (std::is_same_v<T, std::string>) {
    size_t at = 0;
    while (at < expected->size() && at < actual->size() && (*expected)[at] == (*actual)[at]) ++at;
    if (*expected != *actual) {
      return fmt::format("expected {} bytes, got {}, different from {} on", expected->size(),
                         actual->size(), at);
    }
  }
  return "";
}

// The people that steps are done as; only root can be others.
const posix::Identity& Person(uint8_t by);

}  // namespace agentfs::model
