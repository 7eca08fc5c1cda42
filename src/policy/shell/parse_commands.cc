// SPDX-License-Identifier: Apache-2.0
//
// Lists, pipelines and simple commands.
#include <algorithm>
#include <array>

#include "policy/shell/parser.h"

namespace agentfs::shell {
namespace {

// Words that end a list where a command could begin.
constexpr std::array<std::string_view, 8> kClosers = {"then", "elif", "else", "fi",
                                                      "do",   "done", "esac", "}"};
// Words that are no commands, but for quotes.
constexpr std::array<std::string_view, 21> kKeywords = {
    "!",     "{",  "}",    "[[",   "if",   "then",   "elif", "else",     "fi",     "for", "while",
    "until", "do", "done", "case", "esac", "select", "in",   "function", "coproc", "]]"};
// Commands whose operands may be assignments, with arrays.
constexpr std::array<std::string_view, 5> kDeclarations = {"declare", "typeset", "local", "export",
                                                           "readonly"};

template <typename List>
bool Has(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

Script Parser::ParseAll() {
  Script script = ParseList();
  if (!AtEnd()) Fail("a command cannot begin with '" + std::string(1, Peek()) + "'");
  return script;
}

void Parser::SkipBlanks() {
  while (!AtEnd()) {
    if (Peek() == ' ' || Peek() == '\t') {
      Advance();
    } else if (LooksAt("\\\n")) {
      Advance(2);
    } else if (Peek() == '#') {
      while (!AtEnd() && Peek() != '\n') Advance();
    } else {
      return;
    }
  }
}

void Parser::SkipBlankLines() {
  for (SkipBlanks(); Peek() == '\n'; SkipBlanks()) TakeNewline();
}

void Parser::TakeNewline() {
  Advance();
  if (!pending_.empty()) ReadHereDocs();
}

bool Parser::AtListEnd() const {
  return Peek() == ')' || (Peek() == ';' && (Peek(1) == ';' || Peek(1) == '&')) ||
         Has(kClosers, PeekKeyword());
}

Script Parser::ParseList() {
  Level level(*this);
  Script script;
  for (SkipBlankLines(); !AtEnd() && !AtListEnd(); SkipBlankLines()) {
    script.pipelines.push_back(ParsePipeline());
    if (!TakeSeparator()) break;
  }
  return script;
}

Script Parser::ParseListBefore(std::string_view keyword) {
  Script script = ParseList();
  ExpectKeyword(keyword);
  return script;
}

// What stands between two pipelines; false: the list ends here, or is wrong here.
bool Parser::TakeSeparator() {
  SkipBlanks();
  if (Take("&&") || Take("||")) {
    SkipBlankLines();
    if (AtEnd() || AtListEnd()) Fail("a command is missing");
    return true;
  }
  if (Peek() == '\n') return true;  // read with the blank lines
  if (AtListEnd()) return false;
  if (Peek() == ';' || Peek() == '&') {
    Advance();
    return true;
  }
  return false;
}

Pipeline Parser::ParsePipeline() {
  Pipeline pipeline;
  const size_t begin = position_;
  for (SkipBlanks();; SkipBlanks()) {
    if (TakeKeyword("!")) continue;
    if (Peek() == '!' && Peek(1) == '(') {
      Advance();
    } else if (!TakeTime()) {
      break;
    }
  }
  if (!AtWord() && !AtRedirection() && Peek() != '(') {
    if (position_ == begin) Fail("a command is missing");
    return pipeline;  // `time` alone
  }
  for (;;) {
    pipeline.commands.push_back(ParseCommand());
    SkipBlanks();
    if (Peek() != '|' || Peek(1) == '|') return pipeline;
    Advance();
    Take("&");
    SkipBlankLines();
    if (AtEnd() || AtListEnd()) Fail("a command is missing");
  }
}

// The keyword; with options besides -p it is the program of that name.
bool Parser::TakeTime() {
  const Mark begin = Here();
  if (!TakeKeyword("time")) return false;
  SkipBlanks();
  if (Peek() != '-' || TakeKeyword("-p")) return true;
  GoBack(begin);
  return false;
}

Command Parser::ParseCommand() {
  SkipBlanks();
  auto compound = ParseCompound();
  return compound ? std::move(*compound) : ParseSimple();
}

bool Parser::AtWord() const {
  if (AtEnd()) return false;
  if (!IsMeta(Peek())) return true;
  return (Peek() == '<' || Peek() == '>') && Peek(1) == '(';
}

Command Parser::ParseSimple() {
  Command command;
  for (SkipBlanks(); !AtEnd(); SkipBlanks()) {
    if (AtRedirection()) {
      ParseRedirection(command);
    } else if (AtWord()) {
      const bool declares = !command.words.empty() && Has(kDeclarations, command.words[0].text);
      if ((command.words.empty() || declares) && TakeAssignment(command.assignments)) continue;
      ParseWords(command.words);
    } else if (Peek() == '(' && TakeFunctionHead(command)) {
      return command;
    } else {
      break;
    }
  }
  // With a line's end within it, bash still takes it for a keyword.
  if (command.assignments.empty() && !command.words.empty() && !command.words[0].quoted &&
      Has(kKeywords, command.words[0].text)) {
    Fail("'" + command.words[0].text + "' is out of place");
  }
  const bool empty =
      command.words.empty() && command.assignments.empty() && command.redirections.empty();
  if (empty && !failed()) Fail("a command is missing");
  return command;
}

// NAME ( ) body, with the cursor after the name.
bool Parser::TakeFunctionHead(Command& command) {
  const bool is_name = command.words.size() == 1 && command.assignments.empty() &&
                       command.redirections.empty() && command.words[0].literal;
  Advance();
  SkipBlanks();
  if (!is_name || !Take(")")) {
    Fail("'(' is out of place");
    return false;
  }
  command.name = std::move(command.words[0].text);
  command.words.clear();
  ParseFunctionBody(command);
  return true;
}

void Parser::ParseFunctionBody(Command& command) {
  command.kind = CommandKind::kFunction;
  SkipBlankLines();
  auto body = ParseCompound();
  if (!body) return Fail("a function's body is missing");
  Script script;
  script.pipelines.emplace_back().commands.push_back(std::move(*body));
  command.bodies.push_back(std::move(script));
}

// The unquoted word at the cursor, if it could be a keyword.
std::string_view Parser::PeekKeyword() const {
  size_t end = position_;
  while (end < text_.size() && end - position_ <= 8 && !IsMeta(text_[end])) ++end;
  return text_.substr(std::min(position_, text_.size()), end - position_);
}

bool Parser::TakeKeyword(std::string_view keyword) {
  if (PeekKeyword() != keyword) return false;
  Advance(keyword.size());
  return !failed();
}

void Parser::ExpectKeyword(std::string_view keyword) {
  SkipBlankLines();
  if (!TakeKeyword(keyword)) Fail("'" + std::string(keyword) + "' is missing");
}

}  // namespace agentfs::shell
