// SPDX-License-Identifier: Apache-2.0
#include "policy/inline_script.h"

#include <string>

namespace agentfs::policy {
namespace {

bool IsOneOf(char c, std::string_view set) {
  return c != '\0' && set.find(c) != std::string_view::npos;
}

// Goes through a sed script command by command.
class SedScript {
 public:
  explicit SedScript(std::string_view text) : text_(text) {}

  CategorySet Classify() {
    while (at_ < text_.size() && understood_) Command();
    if (!understood_) found_.Add(Category::kHostEscapeRisk);
    return found_;
  }

 private:
  enum class Brackets : bool { kPlain, kGroup };

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char Take() { return at_ < text_.size() ? text_[at_++] : '\0'; }
  void Skip(std::string_view set) {
    while (IsOneOf(Peek(), set)) ++at_;
  }
  void SkipLine() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  void Command() {
    Skip(" \t\n;}");
    if (at_ >= text_.size()) return;
    Address();
    const char command = Take();
    if (IsOneOf(command, "{pPdDqQgGhHxnNl=zF")) {
      Skip("0123456789 \t");
    } else if (IsOneOf(command, "aic#:btTrR")) {
      SkipLine();
    } else if (command == 's') {
      Substitute();
    } else if (command == 'y') {
      const char delimiter = Take();
      Delimited(delimiter, Brackets::kPlain);
      Delimited(delimiter, Brackets::kPlain);
    } else if (command == 'w' || command == 'W') {
      found_.Add(Category::kMutating);
      SkipLine();
    } else {
      understood_ = false;  // `e` among them
    }
  }

  void Address() {
    for (;;) {
      Skip("0123456789$,+~! \t");
      if (Peek() == '/') {
        Take();
        Delimited('/', Brackets::kGroup);
      } else if (Peek() == '\\') {
        Take();
        Delimited(Take(), Brackets::kGroup);
      } else {
        return;
      }
      Skip("IM");
    }
  }

  void Substitute() {
    const char delimiter = Take();
    Delimited(delimiter, Brackets::kGroup);
    Delimited(delimiter, Brackets::kPlain);
    Skip("gpiImM0123456789");
    if (Peek() == 'w') {
      found_.Add(Category::kMutating);
      SkipLine();
    } else if (!IsOneOf(Peek(), " \t\n;}#") && at_ < text_.size()) {
      understood_ = false;  // the flag `e` among them
    }
  }

  // Up to and with a delimiter that is not escaped and, in a regular expression, not in brackets.
  void Delimited(char delimiter, Brackets brackets) {
    if (delimiter == '\0' || delimiter == '\n') understood_ = false;
    while (at_ < text_.size()) {
      const char c = Take();
      if (c == delimiter) return;
      if (c == '\\') Take();
      if (c == '[' && brackets == Brackets::kGroup) Bracket();
    }
    understood_ = false;
  }

  void Bracket() {
    Skip("^");
    if (Peek() == ']') Take();
    while (at_ < text_.size() && Take() != ']') {
    }
  }

  const std::string_view text_;
  size_t at_ = 0;
  bool understood_ = true;
  CategorySet found_;
};

bool Contains(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

}  // namespace

CategorySet ClassifySed(std::string_view script) { return SedScript(script).Classify(); }

CategorySet ClassifyAwk(std::string_view script) {
  CategorySet found;
  std::string text(script);
  for (size_t at = 0; (at = text.find("||", at)) != std::string::npos;) text.replace(at, 2, "  ");
  if (Contains(text, "system") || Contains(text, "getline") || Contains(text, "|") ||
      Contains(text, "@")) {
    found.Add(Category::kHostEscapeRisk);
  }
  if (Contains(text, ">")) found.Add(Category::kMutating);
  return found;
}

}  // namespace agentfs::policy
