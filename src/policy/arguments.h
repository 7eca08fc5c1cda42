// SPDX-License-Identifier: Apache-2.0
//
// The words after a program's name, told apart with what is known about its options.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/program_table.h"
#include "policy/shell/syntax.h"

namespace agentfs::policy {

struct Option {
  std::string name;   // "-o", "--output"
  std::string value;  // if it has one
  bool has_value = false;
  bool literal = true;                   // of the value
  std::span<const shell::Word> command;  // of an option that a command follows
};

struct Arguments {
  std::vector<Option> options;
  std::vector<const shell::Word*> operands;  // all but those in `rest`
  // From the first word that is not the program's own: of a command inside, a subcommand, or an
  // interpreter's program. Empty for programs that have nothing of that kind.
  std::span<const shell::Word> rest;
  // The value of a module option (python -m), with `rest` as its arguments.
  std::optional<shell::Word> module;

  bool Has(const Flags& flags) const;
};

// Whether an option as written is this one: "--in" is "--in-place".
bool IsFlag(std::string_view written, std::string_view flag);
bool IsFlag(std::string_view written, const Flags& flags);

Arguments ReadArguments(const ProgramFacts& facts, std::span<const shell::Word> words);

}  // namespace agentfs::policy
