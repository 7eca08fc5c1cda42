// SPDX-License-Identifier: Apache-2.0
//
// The walk behind ClassifyText. Scripts: classify.cc; one program: classify_program.cc; programs
// that run others: classify_inner.cc; paths: classify_paths.cc.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "policy/arguments.h"
#include "policy/classify.h"
#include "policy/shell/syntax.h"

namespace agentfs::policy {

// What a command reads.
struct Input {
  enum Kind : uint8_t { kTerminal, kUnknown, kText };
  Kind kind = kTerminal;
  const shell::Word* text = nullptr;  // of kText
};

class Classifier {
 public:
  explicit Classifier(const Surroundings& surroundings);

  void Text(std::string_view text, Input input);
  void Words(std::span<const shell::Word> words, Input input, bool appends = false);
  Classification Take();

 private:
  // One program while it is looked at.
  struct Subject {
    const ProgramFacts& facts;
    const Arguments& arguments;
    Input input;
    bool appends;  // more arguments follow that nobody knows
    Part& part;
  };

  void Script(const shell::Script& script, Input input);
  void Command(const shell::Command& command, Input input);
  void Substitutions(const shell::Command& command);
  void Evaluations(const shell::Command& command);
  void Assignments(const shell::Command& command);
  void Assign(std::string_view name, const shell::Word* value);
  Input Redirect(const shell::Redirection& redirection, Input input);
  void CollectFunctions(const shell::Script& script);

  // Adds what cannot be seen through.
  void Opaque(std::string_view text, std::string_view why);
  void Add(Part part);

  void Program(const ProgramFacts& facts, std::span<const shell::Word> words, Input input,
               bool appends, Part part);
  bool Subcommand(const Subject& subject);
  void Effects(const Subject& subject);
  void Guards(const Subject& subject);
  void Code(const Subject& subject);
  void Dialects(const Subject& subject);
  void Interpret(const Subject& subject);
  void InterpretFile(const Subject& subject, const shell::Word& file);

  void Inside(const Subject& subject);
  void InsideOptions(const Subject& subject);
  void InsideInterpreter(const Subject& subject);
  void OperandAssignments(const Subject& subject);
  void InnerCommand(const Subject& subject);
  void Template(const Subject& subject);
  void JoinedText(std::span<const shell::Word> words, Input input);
  void WordText(const shell::Word& word, Input input);
  bool InSystemDirectory(const shell::Word& word) const;

  void Paths(const Subject& subject);
  void UsePath(Part& part, const shell::Word& word, Access access);
  void WritePath(Part& part, const std::string& path);
  void ChangeDirectory(const Subject& subject);
  // The path that a word names; empty: not known.
  std::string Resolve(const shell::Word& word) const;
  bool IsBelow(std::string_view path, std::string_view directory) const;

  const Surroundings& surroundings_;
  const ProgramTable& table_;
  std::string directory_;  // empty: not known any more
  std::set<std::string, std::less<>> functions_;
  Classification out_;
  int depth_ = 0;
};

}  // namespace agentfs::policy
