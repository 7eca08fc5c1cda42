// SPDX-License-Identifier: Apache-2.0
#include "core/files/archive_names.h"

#include <algorithm>

namespace agentfs {
namespace {

// The value of a hexadecimal digit; -1 for anything else.
int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string DecodeXattrName(std::string_view name) {
  std::string decoded;
  for (size_t i = 0; i < name.size(); ++i) {
    int high = i + 2 < name.size() && name[i] == '%' ? HexValue(name[i + 1]) : -1;
    int low = high >= 0 ? HexValue(name[i + 2]) : -1;
    if (low < 0) {
      decoded += name[i];
      continue;
    }
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

bool LeadsOutside(std::string_view name, std::string_view target) {
  if (target.starts_with('/')) return true;
  int depth = -1;  // of the directory that holds the link, then of what the target names
  const auto walk = [&depth](std::string_view path) {
    while (!path.empty()) {
      const std::string_view part = path.substr(0, path.find('/'));
      path.remove_prefix(std::min(path.size(), part.size() + 1));
      if (part == "..") {
        if (--depth < 0) return false;
      } else if (!part.empty() && part != ".") {
        ++depth;
      }
    }
    return true;
  };
  return !walk(name) || !walk(target);
}

ThreadLocale::ThreadLocale(const char* name)
    : locale_(newlocale(LC_CTYPE_MASK, name, nullptr)),
      before_(locale_ ? uselocale(locale_) : nullptr) {}

ThreadLocale::~ThreadLocale() {
  if (!locale_) return;
  uselocale(before_);
  freelocale(locale_);
}

bool IsConversionWarning(const char* text) {
  std::string_view warning = text ? text : "";
  return warning.starts_with("Can't translate ") ||
         warning.ends_with("can't be converted from UTF-8 to current locale.");
}

}  // namespace agentfs
