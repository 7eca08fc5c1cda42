// SPDX-License-Identifier: Apache-2.0
//
// The parser behind ParseScript: recursive descent over the text itself, since what a character
// means depends on where it stands. The first failure ends everything: the cursor goes to the end
// of the text, so no loop needs to ask. Words: parse_words.cc; expansions: parse_expansions.cc;
// commands: parse_commands.cc; compound ones: parse_compounds.cc; redirections and here-documents:
// parse_redirections.cc.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/shell/syntax.h"

namespace agentfs::shell {

// What all parsers of one text share (backquotes and here-documents have parsers of their own).
struct ParseState {
  size_t steps_left = 0;
  int depth = 0;
  std::string failure;
};

// A word while it is read: `active` says for each byte of the text whether it was unquoted.
struct WordBuilder {
  Word word;
  std::string active;
  bool bracket = false;  // it has an unquoted [

  void Append(std::string_view text, bool is_active) {
    word.text += text;
    active.append(text.size(), is_active ? 1 : 0);
  }
};

inline void MoveSubstitutions(Word& from, Word& to) {
  for (Script& each : from.substitutions) to.substitutions.push_back(std::move(each));
  from.substitutions.clear();
}

class Parser {
 public:
  Parser(std::string_view text, ParseState& state) : text_(text), state_(state) {}

  // All of the text as a script.
  Script ParseAll();
  // All of the text as the content of an unquoted here-document.
  Word ParseHereContent();

 private:
  enum class Quotes : uint8_t { kNone, kDouble, kHere };

  struct PendingHereDoc {
    std::shared_ptr<Word> target;  // gets the content
    std::string delimiter;
    bool strip_tabs = false;
    bool expands = true;
  };

  // Where to go on if what was tried is not there.
  struct Mark {
    size_t position = 0;
    std::vector<PendingHereDoc> pending;
  };

  // Counts the levels of nesting; fails when there are too many.
  class Level {
   public:
    explicit Level(Parser& parser);
    ~Level();

   private:
    Parser& parser_;
  };

  // The cursor.
  bool AtEnd() const { return position_ >= text_.size(); }
  char Peek(size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  bool LooksAt(std::string_view what) const {
    return text_.substr(std::min(position_, text_.size()), what.size()) == what;
  }
  void Advance(size_t count = 1);
  bool Take(std::string_view what);
  void Expect(std::string_view what);
  void Fail(std::string_view why);
  bool failed() const { return !state_.failure.empty(); }
  Mark Here() const { return {position_, pending_}; }
  void GoBack(const Mark& mark);
  void SkipBlanks();
  void SkipBlankLines();
  void TakeNewline();

  // Commands.
  Script ParseList();
  Script ParseListBefore(std::string_view keyword);
  bool AtListEnd() const;
  bool TakeSeparator();
  Pipeline ParsePipeline();
  bool TakeTime();
  Command ParseCommand();
  Command ParseSimple();
  bool AtWord() const;
  bool TakeFunctionHead(Command& command);
  void ParseFunctionBody(Command& command);
  std::string_view PeekKeyword() const;
  bool TakeKeyword(std::string_view keyword);
  void ExpectKeyword(std::string_view keyword);

  // Compound commands.
  std::optional<Command> ParseCompound();
  void ParseSubshell(Command& command);
  void ParseIf(Command& command);
  void ParseLoop(Command& command);
  void ParseFor(Command& command);
  void ParseCase(Command& command);
  void ParseCaseItem(Command& command);
  void ParseTest(Command& command);
  void ParseTestRegex(Command& command);
  void ParseCoprocess(Command& command);
  Command ParseFunctionKeyword();
  void ParseTrailingRedirections(Command& command);

  // Redirections.
  bool AtRedirection() const;
  void ParseRedirection(Command& command);
  void ParseTarget(Redirection& redirection);
  void ParseDelimiter(Redirection& redirection, bool strip_tabs);
  void ReadHereDocs();
  std::string ReadHereDoc(const std::string& delimiter, bool strip_tabs);

  // Words.
  WordBuilder ReadWord();
  Word ParseWord() { return ReadWord().word; }
  void ParseWords(std::vector<Word>& words);
  bool ReadWordPart(WordBuilder& out);
  void ReadSingleQuotes(WordBuilder& out);
  void ReadAnsiQuotes(WordBuilder& out);
  void ReadDoubleQuotes(WordBuilder& out);
  bool ReadQuotedPart(WordBuilder& out, Quotes quotes);
  void ReadEscape(WordBuilder& out, Quotes quotes);
  void ReadExtendedPattern(WordBuilder& out);
  bool TakeAssignment(std::vector<Assignment>& assignments);
  void ReadArray(WordBuilder& out);

  // Expansions; each begins at '$' or '`', or at '<(' or '>('.
  void ReadDollar(WordBuilder& out, Quotes quotes);
  void ReadSubstitution(WordBuilder& out);
  void ReadParameter(WordBuilder& out, Quotes quotes);
  void ReadParameterOperand(WordBuilder& out, Quotes quotes);
  void ReadBackquotes(WordBuilder& out, Quotes quotes);
  void ReadProcessSubstitution(WordBuilder& out);
  Script ParseParenthesized();
  // After the opening: up to and with `close`; false, with the cursor put back, if the text is no
  // arithmetic.
  bool TryArithmetic(WordBuilder& out, std::string_view close);
  void ReadUntilBracket(WordBuilder& out);
  // Ends an expansion that began at `begin`: its source stands for its value.
  void FinishExpansion(WordBuilder& out, size_t begin);

  const std::string_view text_;
  ParseState& state_;
  size_t position_ = 0;
  std::vector<PendingHereDoc> pending_;
};

inline bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool IsNameByte(char c) { return IsNameStart(c) || (c >= '0' && c <= '9'); }
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// Ends a word where it is unquoted.
inline bool IsMeta(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '|' || c == '&' || c == ';' || c == '(' ||
         c == ')' || c == '<' || c == '>';
}

}  // namespace agentfs::shell
