// SPDX-License-Identifier: Apache-2.0
//
// if, loops, case, [[ ]], (( )), groups, subshells, functions.
#include "policy/shell/parser.h"

namespace agentfs::shell {

// None, with nothing read, where no compound command begins.
std::optional<Command> Parser::ParseCompound() {
  Level level(*this);
  Command command;
  command.kind = CommandKind::kCompound;
  if (Peek() == '(') {
    ParseSubshell(command);
    ParseTrailingRedirections(command);
    return command;
  }
  const std::string_view keyword = PeekKeyword();
  if (keyword == "function") return ParseFunctionKeyword();
  void (Parser::*parse)(Command&) = nullptr;
  if (keyword == "if") parse = &Parser::ParseIf;
  if (keyword == "while" || keyword == "until") parse = &Parser::ParseLoop;
  if (keyword == "for" || keyword == "select") parse = &Parser::ParseFor;
  if (keyword == "case") parse = &Parser::ParseCase;
  if (keyword == "[[") parse = &Parser::ParseTest;
  if (keyword == "coproc") parse = &Parser::ParseCoprocess;
  if (keyword != "{" && parse == nullptr) return std::nullopt;
  command.name = keyword;
  Advance(keyword.size());
  if (parse != nullptr) {
    (this->*parse)(command);
  } else {
    command.bodies.push_back(ParseListBefore("}"));
  }
  ParseTrailingRedirections(command);
  return command;
}

void Parser::ParseTrailingRedirections(Command& command) {
  for (SkipBlanks(); AtRedirection(); SkipBlanks()) ParseRedirection(command);
}

// ( list ) or (( expression )).
void Parser::ParseSubshell(Command& command) {
  command.name = "(";
  if (Peek(1) == '(') {
    const Mark begin = Here();
    Advance(2);
    WordBuilder expression;
    if (TryArithmetic(expression, "))")) {
      command.name = "((";
      command.words.push_back(std::move(expression.word));
      return;
    }
    GoBack(begin);
  }
  Advance();
  command.bodies.push_back(ParseParenthesized());
}

// A list and its ')'; the '(' has been read.
Script Parser::ParseParenthesized() {
  Script script = ParseList();
  SkipBlankLines();
  Expect(")");
  return script;
}

void Parser::ParseIf(Command& command) {
  command.bodies.push_back(ParseListBefore("then"));
  command.bodies.push_back(ParseList());
  while (TakeKeyword("elif")) {
    command.bodies.push_back(ParseListBefore("then"));
    command.bodies.push_back(ParseList());
  }
  if (TakeKeyword("else")) command.bodies.push_back(ParseList());
  ExpectKeyword("fi");
}

void Parser::ParseLoop(Command& command) {
  command.bodies.push_back(ParseListBefore("do"));
  command.bodies.push_back(ParseListBefore("done"));
}

// for NAME [in WORDS]; do list; done, and for (( ; ; )).
void Parser::ParseFor(Command& command) {
  SkipBlanks();
  if (Take("((")) {
    WordBuilder expression;
    if (!TryArithmetic(expression, "))")) return Fail("'))' is missing");
    command.words.push_back(std::move(expression.word));
  } else {
    const Word name = ParseWord();
    if (name.text.empty()) return Fail("a loop's variable is missing");
    SkipBlankLines();
    if (TakeKeyword("in")) {
      for (SkipBlanks(); AtWord(); SkipBlanks()) ParseWords(command.words);
    }
  }
  SkipBlanks();
  Take(";");
  SkipBlankLines();
  if (TakeKeyword("{")) {
    command.bodies.push_back(ParseListBefore("}"));
    return;
  }
  ExpectKeyword("do");
  command.bodies.push_back(ParseListBefore("done"));
}

void Parser::ParseCase(Command& command) {
  SkipBlanks();
  command.words.push_back(ParseWord());
  ExpectKeyword("in");
  for (SkipBlankLines(); !AtEnd(); SkipBlankLines()) {
    if (TakeKeyword("esac")) return;
    ParseCaseItem(command);
  }
  Fail("'esac' is missing");
}

// [(] pattern [| pattern]... ) list ;;
void Parser::ParseCaseItem(Command& command) {
  Take("(");
  do {
    SkipBlanks();
    Word pattern = ParseWord();
    if (pattern.text.empty() && !pattern.quoted) return Fail("a pattern is missing");
    command.words.push_back(std::move(pattern));
    SkipBlanks();
  } while (Take("|"));
  Expect(")");
  command.bodies.push_back(ParseList());
  if (Take(";;&") || Take(";;") || Take(";&")) return;
  if (PeekKeyword() != "esac") Fail("';;' is missing");
}

// The rest of [[ expression ]]: only its words matter.
void Parser::ParseTest(Command& command) {
  for (SkipBlankLines(); !AtEnd(); SkipBlankLines()) {
    if (TakeKeyword("]]")) return;
    if (TakeKeyword("=~")) {
      ParseTestRegex(command);
    } else if (AtWord()) {
      command.words.push_back(ParseWord());
    } else if (Peek() == ';') {
      return Fail("';' is out of place");
    } else {
      Advance();  // ( ) < > && ||
    }
  }
  Fail("']]' is missing");
}

// The operand of =~, in which parentheses and bars are unquoted.
void Parser::ParseTestRegex(Command& command) {
  SkipBlanks();
  WordBuilder regex;
  for (int open = 0; !AtEnd(); Advance()) {
    while (ReadWordPart(regex)) {
    }
    const char c = Peek();
    if (AtEnd() || (open == 0 && (c == ' ' || c == '\t' || c == '\n'))) break;
    open += c == '(' ? 1 : c == ')' ? -1 : 0;
    regex.Append(std::string_view(&c, 1), false);
  }
  command.words.push_back(std::move(regex.word));
}

// coproc [NAME] command; only a compound command can have a name.
void Parser::ParseCoprocess(Command& command) {
  SkipBlanks();
  const Mark begin = Here();
  if (AtWord() && IsNameStart(Peek())) {
    ParseWord();
    SkipBlanks();
    if (Peek() != '(' && PeekKeyword() != "{") GoBack(begin);
  }
  Script body;
  body.pipelines.emplace_back().commands.push_back(ParseCommand());
  command.bodies.push_back(std::move(body));
}

Command Parser::ParseFunctionKeyword() {
  Command command;
  Advance(std::string_view("function").size());
  SkipBlanks();
  command.name = ParseWord().text;
  if (command.name.empty()) Fail("a function's name is missing");
  SkipBlanks();
  if (Take("(")) {
    SkipBlanks();
    Expect(")");
  }
  ParseFunctionBody(command);
  return command;
}

}  // namespace agentfs::shell
