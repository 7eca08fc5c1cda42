// SPDX-License-Identifier: Apache-2.0
//
// Programs that run others.
#include <array>

#include "policy/classifier.h"

namespace agentfs::policy {
namespace {

using shell::Word;

constexpr std::array<std::string_view, 6> kSystemDirectories = {
    "/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/usr/local/sbin/"};

// The words, with those that have `placeholder` in them as not literal.
std::vector<Word> WithPlaceholders(std::span<const Word> words, std::string_view placeholder) {
  std::vector<Word> out(words.begin(), words.end());
  for (Word& word : out) {
    if (word.text.find(placeholder) != std::string::npos) word.literal = false;
  }
  return out;
}

}  // namespace

// Whether the name finds the program that the table means.
bool Classifier::InSystemDirectory(const Word& word) const {
  const size_t slash = word.text.rfind('/');
  if (slash == std::string::npos) return !word.tilde;
  for (std::string_view directory : kSystemDirectories) {
    if (std::string_view(word.text).substr(0, slash + 1) == directory) return true;
  }
  return false;
}

void Classifier::Inside(const Subject& subject) {
  OperandAssignments(subject);
  InsideOptions(subject);
  InsideInterpreter(subject);
  const auto& rest = subject.arguments.rest;
  switch (subject.facts.inner) {
    case Inner::kCommand:
      if (!subject.arguments.Has(subject.facts.reading)) InnerCommand(subject);
      break;
    case Inner::kText:
      JoinedText(rest, subject.input);
      if (subject.appends) Opaque("", "the command comes from the input");
      break;
    case Inner::kFirstText:
      if (!rest.empty() && rest[0].text != "-") WordText(rest[0], subject.input);
      break;
    case Inner::kTemplate:
      Template(subject);
      break;
    case Inner::kNothing:
    case Inner::kSubcommand:
      break;
  }
}

// sh -c's kin in options, and find -exec.
void Classifier::InsideOptions(const Subject& subject) {
  for (const Option& option : subject.arguments.options) {
    if (IsFlag(option.name, subject.facts.text)) {
      Word word;
      word.text = option.value;
      word.literal = option.literal && option.has_value;
      WordText(word, Input{Input::kUnknown});
    }
    if (IsFlag(option.name, subject.facts.commands)) {
      const auto words = WithPlaceholders(option.command, "{}");
      Words(words, Input{Input::kUnknown}, true);
    }
  }
}

// The text of sh -c, or of what a shell reads; the module of python -m.
void Classifier::InsideInterpreter(const Subject& subject) {
  const auto& [facts, arguments, input, appends, part] = subject;
  if (arguments.module) {
    std::vector<Word> words = {*arguments.module};
    words.insert(words.end(), arguments.rest.begin(), arguments.rest.end());
    return Words(words, input, appends);
  }
  if (facts.interpreter != Interpreter::kShell) return;
  if (arguments.Has(facts.text_operand)) {
    if (!arguments.rest.empty()) return WordText(arguments.rest[0], input);
    return Opaque(part.Text(), "the text of the command is missing");
  }
  const bool reads = arguments.rest.empty() || arguments.Has({"-s"});
  if (reads && input.kind == Input::kText && input.text->literal) {
    Text(input.text->text, Input{Input::kUnknown});
  }
}

// env NAME=value, export NAME=value.
void Classifier::OperandAssignments(const Subject& subject) {
  if (!subject.facts.assignments) return;
  for (const Word* operand : subject.arguments.operands) {
    const size_t equals = operand->text.find('=');
    const std::string name = operand->text.substr(0, equals);
    if (!operand->literal && name.find_first_of("$`") != std::string::npos) {
      Part part;
      part.words = {operand->text};
      part.categories = Category::kMutating;
      part.reasons.emplace_back("which variables this sets shows only when it runs");
      Add(std::move(part));
      continue;
    }
    if (equals == std::string::npos) continue;
    Word value;
    value.text = operand->text.substr(equals + 1);
    value.literal = operand->literal;
    Assign(name, &value);
  }
}

void Classifier::InnerCommand(const Subject& subject) {
  const auto& [facts, arguments, input, appends, part] = subject;
  if (!facts.appends) return Words(arguments.rest, input, appends);
  // xargs puts what it reads at the end, or where its placeholder stands.
  if (arguments.rest.empty()) {
    if (appends) Opaque("", "the command comes from the input");
    return;
  }
  std::string placeholder = "{}";
  for (const Option& option : arguments.options) {
    if (option.name == "-I" && !option.value.empty()) placeholder = option.value;
  }
  const auto words = WithPlaceholders(arguments.rest, placeholder);
  Words(words, Input{Input::kUnknown}, true);
}

// parallel 'gzip {}' and parallel gzip: the words make a text for a shell.
void Classifier::Template(const Subject& subject) {
  const std::span<const Word> rest = subject.arguments.rest;
  if (rest.empty()) return Opaque("", "the command comes from the input");
  std::string text;
  for (const Word& word : rest) {
    if (word.text.starts_with(":::")) break;
    if (!word.literal) return Opaque(word.text, "the command shows only when it runs");
    if (!text.empty()) text += ' ';
    for (char c : word.text) {
      if (c == '{') text += "$_";  // what takes its place is not known
      text += c;
    }
  }
  if (text.empty()) return Opaque("", "the command comes from the input");
  // One argument more, that nobody knows.
  Text(text + " $_", Input{Input::kUnknown});
}

void Classifier::JoinedText(std::span<const Word> words, Input input) {
  Word joined;
  for (const Word& word : words) {
    if (!joined.text.empty()) joined.text += ' ';
    joined.text += word.text;
    joined.literal &= word.literal && !word.pattern;
  }
  if (!joined.text.empty()) WordText(joined, input);
}

void Classifier::WordText(const Word& word, Input input) {
  if (word.literal) return Text(word.text, input);
  Opaque(word.text, "the text of the command shows only when it runs");
}

}  // namespace agentfs::policy
