// SPDX-License-Identifier: Apache-2.0
//
// Words, quotes, assignments.
#include <algorithm>

#include "policy/shell/ansi_quotes.h"
#include "policy/shell/brace_expansion.h"
#include "policy/shell/parser.h"

namespace agentfs::shell {
WordBuilder Parser::ReadWord() {
  WordBuilder out;
  out.word.tilde = Peek() == '~';
  while (ReadWordPart(out)) {
  }
  return out;
}

// One word, or several if it has braces to expand.
void Parser::ParseWords(std::vector<Word>& words) {
  WordBuilder built = ReadWord();
  if (built.word.text.empty() && built.word.literal && !built.word.quoted) {
    // Only a line continuation, or a quote character that was no word: nothing to add.
    return;
  }
  ExpandBraces(std::move(built), words);
}

// The next quoted or unquoted piece of a word; false where the word ends.
bool Parser::ReadWordPart(WordBuilder& out) {
  if (AtEnd()) return false;
  const char c = Peek();
  if ((c == '<' || c == '>') && Peek(1) == '(') {
    ReadProcessSubstitution(out);
  } else if (c != '\0' && std::string_view("?*+@!").find(c) != std::string_view::npos &&
             Peek(1) == '(') {
    ReadExtendedPattern(out);
  } else if (IsMeta(c)) {
    return false;
  } else if (c == '\'') {
    ReadSingleQuotes(out);
  } else if (c == '"') {
    ReadDoubleQuotes(out);
  } else if (c == '\\') {
    ReadEscape(out, Quotes::kNone);
  } else if (c == '$') {
    ReadDollar(out, Quotes::kNone);
  } else if (c == '`') {
    ReadBackquotes(out, Quotes::kNone);
  } else {
    out.bracket |= c == '[';
    // A bracket makes a pattern when it closes.
    out.word.pattern |= c == '*' || c == '?' || (c == ']' && out.bracket);
    out.Append(std::string_view(&c, 1), true);
    Advance();
  }
  return !failed();
}

void Parser::ReadSingleQuotes(WordBuilder& out) {
  const size_t end = text_.find('\'', position_ + 1);
  if (end == std::string_view::npos) return Fail("a ' is not closed");
  out.Append(text_.substr(position_ + 1, end - position_ - 1), false);
  out.word.quoted = true;
  Advance(end + 1 - position_);
}

// $'...': escapes as in C.
void Parser::ReadAnsiQuotes(WordBuilder& out) {
  const size_t begin = position_ + 2;
  size_t end = begin;
  while (end < text_.size() && text_[end] != '\'') end += text_[end] == '\\' ? 2 : 1;
  if (end >= text_.size()) return Fail("a $' is not closed");
  out.Append(DecodeAnsiQuotes(text_.substr(begin, end - begin)), false);
  out.word.quoted = true;
  Advance(end + 1 - position_);
}

void Parser::ReadDoubleQuotes(WordBuilder& out) {
  Level level(*this);
  out.word.quoted = true;
  Advance();
  while (!AtEnd() && Peek() != '"') ReadQuotedPart(out, Quotes::kDouble);
  if (!Take("\"")) Fail("a \" is not closed");
}

// One piece of what is between double quotes, or of a here-document.
bool Parser::ReadQuotedPart(WordBuilder& out, Quotes quotes) {
  const char c = Peek();
  if (c == '\\') {
    ReadEscape(out, quotes);
  } else if (c == '$') {
    ReadDollar(out, quotes);
  } else if (c == '`') {
    ReadBackquotes(out, quotes);
  } else {
    out.Append(std::string_view(&c, 1), false);
    Advance();
  }
  return !failed();
}

void Parser::ReadEscape(WordBuilder& out, Quotes quotes) {
  const char next = Peek(1);
  if (next == '\n') return Advance(2);
  if (position_ + 1 >= text_.size()) return Fail("it ends with a backslash");
  const std::string_view special = quotes == Quotes::kHere ? "$`\\" : "$`\\\"";
  if (quotes != Quotes::kNone && special.find(next) == std::string_view::npos) {
    out.Append("\\", false);
  }
  out.word.quoted |= quotes == Quotes::kNone;
  out.Append(std::string_view(&next, 1), false);
  Advance(2);
}

// @(a|b) and its kin: a pattern, whatever is in it.
void Parser::ReadExtendedPattern(WordBuilder& out) {
  Level level(*this);
  out.Append(text_.substr(position_, 2), false);
  out.word.pattern = true;
  Advance(2);
  while (!AtEnd() && Peek() != ')') {
    if (ReadWordPart(out)) continue;
    if (AtEnd()) break;
    const char c = Peek();
    out.Append(std::string_view(&c, 1), false);
    Advance();
  }
  out.Append(")", false);
  if (!Take(")")) Fail("')' is missing");
}

// NAME=value, NAME+=value, NAME[subscript]=value; nothing is read if the word is none of them.
bool Parser::TakeAssignment(std::vector<Assignment>& assignments) {
  if (!IsNameStart(Peek())) return false;
  size_t length = 0;
  while (IsNameByte(Peek(length))) ++length;
  const char next = Peek(length);
  const bool plain = next == '=' || (next == '+' && Peek(length + 1) == '=');
  if (!plain && next != '[') return false;
  const Mark begin = Here();
  Assignment assignment{std::string(text_.substr(position_, length)), {}};
  Advance(length);
  WordBuilder value;
  if (next == '[') {
    Advance();
    ReadUntilBracket(value);
  }
  Take("+");
  if (!Take("=")) {
    // To bash the subscript is one with its word, whatever is in it.
    const std::string_view read = text_.substr(begin.position, position_ - begin.position);
    if (std::any_of(read.begin(), read.end(), IsMeta)) Fail("a subscript is out of place");
    GoBack(begin);
    return false;
  }
  value.word.text.clear();
  value.word.literal = true;
  value.active.clear();
  if (Peek() == '(') {
    ReadArray(value);
  } else {
    value.word.tilde = Peek() == '~';
    while (ReadWordPart(value)) {
    }
  }
  assignment.value = std::move(value.word);
  assignments.push_back(std::move(assignment));
  return true;
}

void Parser::ReadArray(WordBuilder& out) {
  Level level(*this);
  const size_t begin = position_;
  Advance();
  for (SkipBlankLines(); !AtEnd() && Peek() != ')'; SkipBlankLines()) {
    if (!AtWord()) return Fail("an array cannot have this");
    WordBuilder element = ReadWord();
    MoveSubstitutions(element.word, out.word);
  }
  Expect(")");
  FinishExpansion(out, begin);
}

}  // namespace agentfs::shell
