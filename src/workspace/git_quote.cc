// SPDX-License-Identifier: Apache-2.0
#include "workspace/git_quote.h"

#include <cstdint>

namespace agentfs {
namespace {

// The length of the UTF-8 character at the start of `text`; 0: there is none.
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  uint32_t code = first & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  if ((length == 3 && code < 0x800) || (length == 4 && code < 0x10000)) return 0;
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
  return length;
}

// What stands for the byte after a backslash; 0: its octal number does.
char EscapeOf(char c) {
  static constexpr std::string_view kPlain = "\a\b\t\n\v\f\r\"\\", kEscape = "abtnvfr\"\\";
  const size_t at = kPlain.find(c);
  return at == kPlain.npos ? '\0' : kEscape[at];
}

}  // namespace

std::string GitQuote(std::string_view path) {
  std::string quoted = "\"";
  bool needed = false;
  for (size_t i = 0; i < path.size();) {
    const auto c = static_cast<unsigned char>(path[i]);
    const size_t length = CharacterLength(path.substr(i));
    if (length > 0 && c >= 0x20 && c != 0x7F && c != '"' && c != '\\') {
      quoted += path.substr(i, length);
      i += length;
      continue;
    }
    needed = true;
    quoted.push_back('\\');
    if (const char escape = EscapeOf(path[i])) {
      quoted.push_back(escape);
    } else {
      for (int shift = 6; shift >= 0; shift -= 3) {
        quoted.push_back(static_cast<char>('0' + ((c >> shift) & 7)));
      }
    }
    ++i;
  }
  return needed ? quoted + "\"" : std::string(path);
}

}  // namespace agentfs
