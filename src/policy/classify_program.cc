// SPDX-License-Identifier: Apache-2.0
//
// One program with its arguments: what the table says, applied.
#include <algorithm>

#include "policy/classifier.h"
#include "policy/inline_script.h"

namespace agentfs::policy {
namespace {

using shell::Word;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool IsHarmless(const Guard& guard, const std::string& value) {
  const std::string lower = Lower(value);
  return std::any_of(guard.harmless.begin(), guard.harmless.end(),
                     [&](std::string_view prefix) { return lower.starts_with(prefix); });
}

// `rm --help`, `cargo --version`.
bool OnlyAsksForHelp(std::span<const Word> words) {
  return words.size() == 1 && (words[0].text == "--help" || words[0].text == "--version");
}

bool IsStandardInput(std::string_view file) {
  return file == "-" || file.starts_with("/dev/stdin") || file.starts_with("/dev/fd/") ||
         file.starts_with("/proc/");
}

// What runs others is looked at together with them.
bool HasOptionsThatChange(const ProgramFacts& facts) {
  if (facts.inner != Inner::kNothing || facts.interpreter != Interpreter::kNone) return false;
  return !facts.written.empty() || !facts.in_place.empty() || !facts.effects.empty() ||
         !facts.commands.empty() || !facts.text.empty() || !facts.code.empty() ||
         !facts.guards.empty();
}

void AddReason(Part& part, CategorySet adds, std::string reason) {
  part.categories.Add(adds);
  part.reasons.push_back(std::move(reason));
}

}  // namespace

void Classifier::Program(const ProgramFacts& facts, std::span<const Word> words, Input input,
                         bool appends, Part part) {
  const Arguments arguments = ReadArguments(facts, words);
  Subject subject{facts, arguments, input, appends, part};
  for (const Option& option : arguments.options) part.flags.push_back(option.name);
  if (facts.inner == Inner::kSubcommand && Subcommand(subject)) return;
  for (const Word* operand : arguments.operands) part.arguments.push_back(operand->text);
  const bool helps = OnlyAsksForHelp(words) && facts.inner != Inner::kCommand && !appends;
  if (!helps) {
    Effects(subject);
    Guards(subject);
    Code(subject);
    Dialects(subject);
    Interpret(subject);
  }
  Paths(subject);
  if (facts.changes_directory) ChangeDirectory(subject);
  Add(part);
  if (!helps) Inside(subject);
}

// Goes on with the facts of a subcommand; false: it has none, or there is none.
bool Classifier::Subcommand(const Subject& subject) {
  const std::span<const Word> rest = subject.arguments.rest;
  if (rest.empty()) return false;
  Part& part = subject.part;
  const std::string name =
      part.subcommand.empty() ? rest[0].text : part.subcommand + " " + rest[0].text;
  const ProgramFacts* facts = rest[0].literal ? table_.Find(part.program + " " + name) : nullptr;
  if (facts == nullptr) {
    part.subcommand = name;
    if (!rest[0].literal) {
      AddReason(part, Category::kHostEscapeRisk, "the subcommand shows only when it runs");
    }
    return false;
  }
  Guards(subject);
  for (const FlagEffect& effect : subject.facts.effects) {
    if (subject.arguments.Has(effect.flags)) part.categories.Add(effect.adds);
  }
  part.subcommand = name;
  Program(*facts, rest.subspan(1), subject.input, subject.appends, std::move(part));
  return true;
}

void Classifier::Effects(const Subject& subject) {
  const auto& [facts, arguments, input, appends, part] = subject;
  const bool bare = arguments.rest.empty() && !appends &&
                    static_cast<int>(arguments.operands.size()) <= facts.reads_up_to;
  // A module speaks for itself (python -m pytest).
  if (!bare && !arguments.module && !arguments.Has(facts.reading)) {
    part.purpose = facts.purpose;
    part.categories.Add(facts.categories);
    if (facts.categories.Has(Category::kHostEscapeRisk)) {
      part.reasons.push_back(part.program +
                             " reaches beyond the view, or runs what cannot be seen");
    }
  }
  for (const FlagEffect& effect : facts.effects) {
    if (!arguments.Has(effect.flags)) continue;
    AddReason(part, effect.adds, "of an option of " + part.program);
    // It changes more than what a build makes.
    const bool changes = effect.adds.Has(Category::kMutating);
    if (changes && part.purpose == Purpose::kBuild) part.purpose = Purpose::kGeneral;
  }
  if (arguments.Has(facts.in_place)) part.categories.Add(Category::kMutating);
  for (const FlagEffect& effect : facts.without) {
    if (!arguments.Has(effect.flags)) part.categories.Add(effect.adds);
  }
  if (appends && HasOptionsThatChange(facts)) {
    AddReason(part, Category::kMutating, "what follows may be options that change files");
  }
}

// Options whose values may name commands to run.
void Classifier::Guards(const Subject& subject) {
  for (const Guard& guard : subject.facts.guards) {
    for (const Option& option : subject.arguments.options) {
      if (!IsFlag(option.name, guard.option)) continue;
      if (option.literal && IsHarmless(guard, option.value)) continue;
      AddReason(subject.part, Category::kHostEscapeRisk,
                option.name + " " + option.value + " may run a command");
    }
    const auto& operands = subject.arguments.operands;
    if (guard.option != "@1" || operands.size() < 2) continue;
    if (subject.arguments.Has(subject.facts.reading)) continue;
    if (operands[0]->literal && IsHarmless(guard, operands[0]->text)) continue;
    AddReason(subject.part, Category::kHostEscapeRisk, operands[0]->text + " may run a command");
  }
}

// Code in options, and text that is known to run commands.
void Classifier::Code(const Subject& subject) {
  const auto& [facts, arguments, input, appends, part] = subject;
  if (arguments.Has(facts.code)) {
    AddReason(part, Category::kHostEscapeRisk,
              "code inside of a command line cannot be seen through");
  }
  for (const Option& option : arguments.options) {
    if (IsFlag(option.name, facts.instead) && IsStandardInput(option.value)) {
      AddReason(part, Category::kHostEscapeRisk, "what it runs comes from the input");
    }
  }
  for (std::string_view suspect : facts.suspects) {
    const auto has = [&](const std::string& word) { return word.find(suspect) != word.npos; };
    if (std::any_of(part.words.begin(), part.words.end(), has)) {
      AddReason(part, Category::kHostEscapeRisk, std::string(suspect) + " may run a command");
    }
  }
}

// The script of sed or awk: the first operand, or what options give.
void Classifier::Dialects(const Subject& subject) {
  const ProgramFacts& facts = subject.facts;
  const Arguments& arguments = subject.arguments;
  if (facts.dialect == Dialect::kNone) return;
  const auto look = [&subject](const std::string& script, bool literal) {
    CategorySet found =
        subject.facts.dialect == Dialect::kSed ? ClassifySed(script) : ClassifyAwk(script);
    if (!literal) found = Category::kHostEscapeRisk;
    if (found != CategorySet()) AddReason(subject.part, found, "of what its script says");
  };
  bool given = false;
  for (const Option& option : arguments.options) {
    if (!IsFlag(option.name, facts.instead)) continue;
    given = true;
    if (IsFlag(option.name, Flags{"-e", "--expression", "--source"})) {
      look(option.value, option.literal);
    }
  }
  if (given) return;
  if (!arguments.operands.empty())
    look(arguments.operands[0]->text, arguments.operands[0]->literal);
  if (arguments.operands.empty() && subject.appends) look("", false);
}

// Shells and interpreters: where their program comes from. Text that can be looked at is looked at
// by InsideInterpreter.
void Classifier::Interpret(const Subject& subject) {
  const auto& [facts, arguments, input, appends, part] = subject;
  if (facts.interpreter == Interpreter::kNone) return;
  if (arguments.Has(facts.reading) || arguments.Has(facts.code) || arguments.module) return;
  if (arguments.Has(facts.text_operand) || arguments.Has(facts.instead)) return;
  if (!arguments.rest.empty() && !arguments.Has({"-s"})) {
    if (facts.inner != Inner::kSubcommand) InterpretFile(subject, arguments.rest[0]);
    return;
  }
  if (appends) {
    return AddReason(part, Category::kHostEscapeRisk, "what it runs comes from the input");
  }
  if (facts.interpreter == Interpreter::kHarmless) {
    if (input.kind == Input::kTerminal) part.categories.Add(Category::kInteractive);
    return;
  }
  if (input.kind == Input::kTerminal) {
    part.categories = CategorySet();
    return AddReason(part, Category::kInteractive,
                     part.program + " without a program asks for one");
  }
  const bool seen =
      input.kind == Input::kText && input.text->literal && facts.interpreter == Interpreter::kShell;
  if (seen) return;
  AddReason(part, Category::kHostEscapeRisk,
            part.program + " runs what it reads, and that cannot be seen");
}

void Classifier::InterpretFile(const Subject& subject, const Word& file) {
  Part& part = subject.part;
  const std::string& text = file.text;
  if (subject.facts.interpreter == Interpreter::kHarmless) return;
  if (!file.literal || file.pattern || IsStandardInput(text)) {
    return AddReason(part, Category::kHostEscapeRisk, "which program it runs cannot be seen");
  }
  part.arguments.push_back(text);
  AddReason(part, Category::kMutating, "what " + text + " does is not known");
}

}  // namespace agentfs::policy
