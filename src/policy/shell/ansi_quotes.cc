// SPDX-License-Identifier: Apache-2.0
#include "policy/shell/ansi_quotes.h"

#include <cstdint>

namespace agentfs::shell {
namespace {

int DigitValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

// Reads up to `count` digits of `base` and takes them from the text.
uint32_t TakeNumber(std::string_view& text, int base, size_t count) {
  uint32_t value = 0;
  while (count-- > 0 && !text.empty() && DigitValue(text[0]) < base) {
    value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(DigitValue(text[0]));
    text.remove_prefix(1);
  }
  return value;
}

void AppendUtf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static constexpr uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  out.push_back(static_cast<char>(kLead[more] | ((code >> (6 * more)) & 0x3F)));
  for (int i = more - 1; i >= 0; --i) {
    out.push_back(static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3F)));
  }
}

// The escapes of one letter; 0: it is none.
char SimpleEscape(char c) {
  static constexpr std::string_view kNames = "abeEfnrtv\\'\"?";
  static constexpr std::string_view kValues = "\a\b\x1b\x1b\f\n\r\t\v\\'\"?";
  const size_t at = kNames.find(c);
  return at == std::string_view::npos ? '\0' : kValues[at];
}

// One escape, after its backslash.
void TakeEscape(std::string_view& text, std::string& out) {
  const char c = text[0];
  if (c >= '0' && c <= '7') {
    out.push_back(static_cast<char>(TakeNumber(text, 8, 3)));
    return;
  }
  text.remove_prefix(1);
  const bool hex = !text.empty() && DigitValue(text[0]) < 16;
  if (c == 'x' && hex) {
    out.push_back(static_cast<char>(TakeNumber(text, 16, 2)));
  } else if ((c == 'u' || c == 'U') && hex) {
    AppendUtf8(out, TakeNumber(text, 16, c == 'u' ? 4 : 8));
  } else if (c == 'c' && !text.empty()) {
    out.push_back(static_cast<char>(text[0] & 0x1F));
    text.remove_prefix(1);
  } else if (const char simple = SimpleEscape(c); simple != '\0') {
    out.push_back(simple);
  } else {
    out.push_back('\\');
    out.push_back(c);
  }
}

}  // namespace

std::string DecodeAnsiQuotes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text[0] != '\\' || text.size() == 1) {
      out.push_back(text[0]);
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(1);
    TakeEscape(text, out);
    if (out.ends_with('\0')) return out.substr(0, out.size() - 1);
  }
  return out;
}

}  // namespace agentfs::shell
