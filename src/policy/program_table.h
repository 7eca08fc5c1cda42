// SPDX-License-Identifier: Apache-2.0
//
// What is known about programs: data (program_facts.cc), not code.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agentfs/result.h"
#include "policy/category.h"

namespace agentfs::policy {

// Why a program is run, where that decides more than what it does.
enum class Purpose : uint8_t { kGeneral, kBuild, kPublish };

// What follows a program's own options and the operands it skips.
enum class Inner : uint8_t {
  kNothing,
  kCommand,     // a command, word by word (env, sudo)
  kText,        // shell text, in words (eval, watch)
  kFirstText,   // shell text in the first word, operands after it (trap)
  kSubcommand,  // a name that has facts of its own (git push)
  kTemplate,    // words or one text with {} in it, and more arguments from elsewhere (parallel)
};

// Programs whose first operand is a program in a small language that can be looked at.
enum class Dialect : uint8_t { kNone, kSed, kAwk };

// What reads its program from a file or from the standard input.
enum class Interpreter : uint8_t {
  kNone,
  kShell,
  kOther,
  kHarmless,  // what it reads can run no commands (bc)
};

// Which operands are paths that are written.
enum class Writes : uint8_t { kNone, kAll, kLast };

using Flags = std::vector<std::string_view>;

struct FlagEffect {
  Flags flags;
  CategorySet adds;
};

// An option ("@1": the first of several operands) whose value runs commands unless it begins with
// one of these.
struct Guard {
  std::string_view option;
  std::vector<std::string_view> harmless;
};

struct ProgramFacts {
  CategorySet categories;
  Purpose purpose = Purpose::kGeneral;
  Inner inner = Inner::kNothing;
  Interpreter interpreter = Interpreter::kNone;
  Dialect dialect = Dialect::kNone;
  Writes writes = Writes::kNone;
  int skip = 0;                     // operands before the inner command, or before the first path
  bool long_options = false;        // -name is one option, not four
  bool assignments = false;         // NAME=value may stand before the inner command
  bool appends = false;             // arguments from elsewhere follow (xargs)
  bool changes_directory = false;   // cd
  bool letters_first = false;       // the first word may be options without a dash (tar xf)
  int reads_up_to = -1;             // with that many operands or fewer it only reads
  Flags takes;                      // options whose value is the next word
  Flags written;                    // options whose value is a path that is written
  Flags text;                       // options whose value is shell text
  Flags text_operand;               // options that make the first operand shell text (sh -c)
  Flags code;                       // options whose value is code of another language
  Flags commands;                   // options that a command follows, up to ; or + (find -exec)
  Flags modules;                    // options whose value is a program, with the words after it
  Flags instead;                    // options that take the first operand's place (sed -e)
  Flags in_place;                   // options with which it writes all of its operands
  Flags reading;                    // options that leave nothing but reading
  std::vector<FlagEffect> effects;  // of options that are there
  std::vector<FlagEffect> without;  // of options none of which is there
  std::vector<Guard> guards;
  std::vector<std::string_view> suspects;  // text in an argument that runs commands
};

class ProgramTable {
 public:
  // The facts that are built in.
  static const ProgramTable& BuiltIn();
  // EINVAL with the line for what does not follow the form that program_facts.cc describes. The
  // text must outlive the table.
  static Result<ProgramTable> Parse(std::string_view text);

  // A program by its name ("python3.11" is "python"), or a subcommand ("git push"); null: not
  // known.
  const ProgramFacts* Find(const std::string& name) const;
  // What setting a variable does to the commands after it.
  CategorySet EnvironmentEffect(const std::string& name) const;

 private:
  Result<void> AddLine(std::string_view line);
  Result<void> AddName(const std::string& name, size_t facts);

  std::vector<ProgramFacts> facts_;                   // one for each line
  std::unordered_map<std::string, size_t> programs_;  // where in facts_
  std::unordered_map<std::string, CategorySet> environment_;
};

// "python3.11" is "python", "gcc-12" is "gcc".
std::string WithoutVersion(const std::string& name);

// The text behind ProgramTable::BuiltIn.
std::string_view BuiltInFacts();

}  // namespace agentfs::policy
