// SPDX-License-Identifier: Apache-2.0
//
// What a shell script says, as far as the commands in it go: which programs with which words, in
// which pipelines, with which redirections. Connectors, conditions and jumps are not kept: a reader
// has to assume that everything runs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agentfs::shell {

struct Script;

// One word of a command. `text` is what is left after quotes were removed; an expansion stands in
// it as it was written ("$HOME/x").
struct Word {
  std::string text;
  bool literal = true;                // without expansions: the program gets exactly `text`
  bool quoted = false;                // a part of it was quoted
  bool pattern = false;               // an unquoted *, ? or [ in it: names of files take its place
  bool tilde = false;                 // begins with an unquoted ~
  std::vector<Script> substitutions;  // of commands and processes, anywhere in it
};

// NAME=value before or as a command; an array's elements are not told apart.
struct Assignment {
  std::string name;
  Word value;
};

enum class RedirectionKind : uint8_t {
  kRead,        // <
  kWrite,       // > >> >| &> &>> <> and >& with a file
  kDuplicate,   // <& and >& with a descriptor
  kHereDoc,     // << and <<-: `target` is the content
  kHereString,  // <<<: `target` is the content
};

struct Redirection {
  RedirectionKind kind = RedirectionKind::kRead;
  int fd = 0;  // -1: one that the shell chooses ({name}>file), or both 1 and 2
  std::shared_ptr<Word> target;
};

enum class CommandKind : uint8_t {
  kSimple,    // assignments, words
  kCompound,  // `bodies` run; `words` are expanded (for x in WORDS, case WORD, [[ ]], (( )))
  kFunction,  // `bodies` run when `name` is called
};

struct Command {
  CommandKind kind = CommandKind::kSimple;
  std::string name;  // of a function; the keyword of a compound command
  std::vector<Assignment> assignments;
  std::vector<Word> words;
  std::vector<Redirection> redirections;
  std::vector<Script> bodies;
};

// Commands that are connected by pipes.
struct Pipeline {
  std::vector<Command> commands;
};

// Everything that may run, in the order in which it is written.
struct Script {
  std::vector<Pipeline> pipelines;
};

}  // namespace agentfs::shell
