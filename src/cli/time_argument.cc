// SPDX-License-Identifier: Apache-2.0
#include "cli/time_argument.h"

#include <charconv>
#include <ctime>
#include <optional>
#include <string_view>

namespace agentfs::cli {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kLastSecond = INT64_MAX / kSecond - 1;

std::optional<int64_t> Digits(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

// ".5" in nanoseconds; digits past the ninth do not count.
std::optional<int64_t> Fraction(std::string_view text) {
  if (text.empty()) return 0;
  std::string digits(text.substr(1, 9));
  if (text[0] != '.' || text.substr(1).find_first_not_of("0123456789") != text.npos) {
    return std::nullopt;
  }
  digits.resize(9, '0');
  return Digits(digits);
}

std::optional<int64_t> Together(std::optional<int64_t> seconds, std::string_view fraction) {
  const auto rest = Fraction(fraction);
  if (!seconds || !rest || *seconds > kLastSecond) return std::nullopt;
  return *seconds * kSecond + *rest;
}

std::optional<int64_t> FromSeconds(std::string_view text) {
  const size_t point = text.find('.');
  return Together(Digits(text.substr(0, point)),
                  point == text.npos ? std::string_view() : text.substr(point));
}

std::optional<int64_t> FromDate(const std::string& text) {
  std::tm parts{};
  if (const char* end = ::strptime(text.c_str(), "%Y-%m-%d", &parts); end != nullptr && *end == 0) {
    const int64_t seconds = ::timegm(&parts);
    return Together(seconds >= 0 ? std::optional(seconds) : std::nullopt, "");
  }
  if (!text.ends_with('Z')) return std::nullopt;
  parts = {};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  const int64_t seconds = ::timegm(&parts);
  const std::string_view fraction(rest, static_cast<size_t>(text.c_str() + text.size() - 1 - rest));
  return Together(seconds >= 0 ? std::optional(seconds) : std::nullopt, fraction);
}

}  // namespace

Result<int64_t> ParseTimeArgument(const std::string& text) {
  auto time = FromSeconds(text);
  if (!time) time = FromDate(text);
  if (time) return *time;
  return Error(EINVAL, "'" + text + "' is no time",
               "say seconds since 1970, 2025-01-31, or 2025-01-31T12:00:00Z");
}

}  // namespace agentfs::cli
