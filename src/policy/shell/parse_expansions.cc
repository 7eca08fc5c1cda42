// SPDX-License-Identifier: Apache-2.0
//
// Parameters, substitutions, arithmetic.
#include "policy/shell/parser.h"

namespace agentfs::shell {
namespace {

bool IsSpecialParameter(char c) {
  return c != '\0' && std::string_view("@*#?-$!").find(c) != std::string_view::npos;
}

}  // namespace

void Parser::FinishExpansion(WordBuilder& out, size_t begin) {
  out.word.literal = false;
  if (!failed()) out.Append(text_.substr(begin, position_ - begin), false);
}

void Parser::ReadDollar(WordBuilder& out, Quotes quotes) {
  const char next = Peek(1);
  if (next == '\\' && Peek(2) == '\n') return Fail("a line ends within an expansion");
  if (quotes == Quotes::kNone && next == '\'') return ReadAnsiQuotes(out);
  if (quotes == Quotes::kNone && next == '"') {
    Advance();
    return ReadDoubleQuotes(out);
  }
  if (next == '{') return ReadParameter(out, quotes);
  if (next == '(' || next == '[') return ReadSubstitution(out);
  const size_t begin = position_;
  size_t length = 1;
  if (IsNameStart(next)) {
    while (IsNameByte(Peek(length))) ++length;
  } else if (IsDigit(next) || IsSpecialParameter(next)) {
    length = 2;
  } else {
    out.Append("$", quotes == Quotes::kNone);
    return Advance();
  }
  Advance(length);
  FinishExpansion(out, begin);
}

// $(list), $((expression)) and $[expression].
void Parser::ReadSubstitution(WordBuilder& out) {
  Level level(*this);
  const Mark begin = Here();
  const bool bracket = Peek(1) == '[';
  if (bracket || LooksAt("$((")) {
    WordBuilder inside;
    Advance(bracket ? 2 : 3);
    if (TryArithmetic(inside, bracket ? "]" : "))")) {
      MoveSubstitutions(inside.word, out.word);
      return FinishExpansion(out, begin.position);
    }
    if (bracket) return Fail("']' is missing");
    GoBack(begin);
  }
  Advance(2);
  out.word.substitutions.push_back(ParseParenthesized());
  FinishExpansion(out, begin.position);
}

// ${NAME...}, and ${ list; }, which runs commands.
void Parser::ReadParameter(WordBuilder& out, Quotes quotes) {
  Level level(*this);
  const size_t begin = position_;
  Advance(2);
  if (Peek() == ' ' || Peek() == '\t' || Peek() == '\n' || Peek() == '|') {
    Take("|");
    out.word.substitutions.push_back(ParseListBefore("}"));
    return FinishExpansion(out, begin);
  }
  WordBuilder inside;
  ReadParameterOperand(inside, quotes);
  MoveSubstitutions(inside.word, out.word);
  if (!Take("}")) Fail("'}' is missing");
  FinishExpansion(out, begin);
}

// What is between the braces: the name, and an operator's operand with expansions of its own.
void Parser::ReadParameterOperand(WordBuilder& out, Quotes quotes) {
  Take("!");
  if (IsSpecialParameter(Peek())) Advance();
  while (IsNameByte(Peek())) Advance();
  if (Take("[")) ReadUntilBracket(out);
  // Between double quotes an apostrophe quotes only in patterns.
  const bool is_pattern = Peek() == '#' || Peek() == '%' || Peek() == '/';
  const bool apostrophes = quotes == Quotes::kNone || is_pattern;
  while (!AtEnd() && Peek() != '}') {
    const char c = Peek();
    if (c == '\'' && apostrophes) {
      ReadSingleQuotes(out);
    } else if (c == '"') {
      ReadDoubleQuotes(out);
    } else if (c == '\\') {
      Advance(2);
    } else if (c == '$') {
      ReadDollar(out, quotes);
    } else if (c == '`') {
      ReadBackquotes(out, quotes);
    } else if ((c == '<' || c == '>') && Peek(1) == '(' && quotes == Quotes::kNone) {
      ReadProcessSubstitution(out);
    } else {
      Advance();
    }
  }
}

// `list`, in which a backslash quotes $, ` and itself.
void Parser::ReadBackquotes(WordBuilder& out, Quotes quotes) {
  Level level(*this);
  const size_t begin = position_;
  std::string inside;
  size_t at = position_ + 1;
  while (at < text_.size() && text_[at] != '`') {
    if (text_[at] == '\\' && at + 1 < text_.size()) {
      const char next = text_[++at];
      const bool removed =
          next == '$' || next == '`' || next == '\\' || (next == '"' && quotes == Quotes::kDouble);
      if (!removed) inside.push_back('\\');
    }
    inside.push_back(text_[at++]);
  }
  if (at >= text_.size()) return Fail("a ` is not closed");
  Advance(at + 1 - position_);
  out.word.substitutions.push_back(Parser(inside, state_).ParseAll());
  if (failed()) return Fail("");
  FinishExpansion(out, begin);
}

// <(list) and >(list).
void Parser::ReadProcessSubstitution(WordBuilder& out) {
  Level level(*this);
  const size_t begin = position_;
  Advance(2);
  out.word.substitutions.push_back(ParseParenthesized());
  FinishExpansion(out, begin);
}

bool Parser::TryArithmetic(WordBuilder& out, std::string_view close) {
  const char opening = close == "]" ? '[' : '(';
  const char closing = close[0];
  int open = 0;
  while (!AtEnd()) {
    const char c = Peek();
    if (open == 0 && c == closing) return Take(close);
    if (c == '$') {
      ReadDollar(out, Quotes::kDouble);
    } else if (c == '`') {
      ReadBackquotes(out, Quotes::kDouble);
    } else if (c == '"') {
      ReadDoubleQuotes(out);
    } else if (c == '\'' && text_.find('\'', position_ + 1) != std::string_view::npos) {
      ReadSingleQuotes(out);
    } else {
      open += c == opening ? 1 : c == closing ? -1 : 0;
      Advance(c == '\\' ? 2 : 1);
    }
  }
  return false;
}

// A subscript up to and with its ']'.
void Parser::ReadUntilBracket(WordBuilder& out) {
  if (!TryArithmetic(out, "]") && !failed()) Fail("']' is missing");
}

}  // namespace agentfs::shell
