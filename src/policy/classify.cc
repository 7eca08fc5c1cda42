// SPDX-License-Identifier: Apache-2.0
#include "policy/classify.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "policy/classifier.h"
#include "policy/shell/parse.h"

namespace agentfs::policy {
namespace {

using shell::CommandKind;
using shell::RedirectionKind;
using shell::Word;

// Commands inside of commands inside of commands: nobody writes more.
constexpr int kMaxDepth = 24;
constexpr size_t kMaxParts = 10'000;
constexpr size_t kMaxTextLength = 160;

// How bash hands functions on to others.
constexpr std::string_view kExportedFunction = "BASH_FUNC_";

// Values with which a variable that names a program is harmless.
constexpr std::array<std::string_view, 5> kHarmlessValues = {"", "cat", "true", ":", "less"};

// Whether a text has a[$(command)] in it that the shell itself does not expand there.
bool HidesSubscript(const Word& word) {
  const std::string& text = word.text;
  const size_t last = word.literal ? text.find_last_of("$`") : text.npos;
  for (size_t at = 1; (at = text.find('[', at)) != std::string::npos; ++at) {
    const unsigned char before = static_cast<unsigned char>(text[at - 1]);
    if (!std::isalnum(before) && before != '_') continue;
    const std::string_view rest = std::string_view(text).substr(at + 1);
    // What is expanded was looked at; arithmetic in a subscript is usual.
    const bool usual = !word.literal && rest.starts_with("$((");
    if (last != text.npos && last > at) return true;
    if (!usual && (rest.starts_with("$(") || rest.starts_with("`"))) return true;
  }
  return false;
}

// Counts the levels of commands inside of commands.
class Level {
 public:
  explicit Level(int& depth) : depth_(depth) { ++depth_; }
  ~Level() { --depth_; }

 private:
  int& depth_;
};

}  // namespace

std::string Part::Text() const {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    text += word.empty() ? "''" : word;
    if (text.size() > kMaxTextLength) return text.substr(0, kMaxTextLength) + "...";
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

Classifier::Classifier(const Surroundings& surroundings)
    : surroundings_(surroundings),
      table_(ProgramTable::BuiltIn()),
      directory_(surroundings.directory) {}

Classification Classifier::Take() {
  for (const Part& part : out_.parts) out_.categories.Add(part.categories);
  return std::move(out_);
}

void Classifier::Add(Part part) {
  if (out_.parts.size() < kMaxParts) {
    out_.parts.push_back(std::move(part));
    return;
  }
  // What is beyond the bound is not looked at, and must not seem harmless.
  out_.parts.back().categories.Add(Category::kHostEscapeRisk);
}

void Classifier::Opaque(std::string_view text, std::string_view why) {
  Part part;
  part.words.emplace_back(text);
  part.categories = Category::kHostEscapeRisk;
  part.reasons.emplace_back(why);
  Add(std::move(part));
}

void Classifier::Text(std::string_view text, Input input) {
  Level level(depth_);
  if (depth_ > kMaxDepth) return Opaque(text, "it is nested too deeply");
  auto script = shell::ParseScript(text);
  if (!script.ok()) return Opaque(text, script.error().message());
  auto outer = std::exchange(functions_, {});
  CollectFunctions(*script);
  Script(*script, input);
  functions_ = std::move(outer);
}

void Classifier::CollectFunctions(const shell::Script& script) {
  for (const shell::Pipeline& pipeline : script.pipelines) {
    for (const shell::Command& command : pipeline.commands) {
      if (command.kind == CommandKind::kFunction) functions_.insert(command.name);
      for (const shell::Script& body : command.bodies) CollectFunctions(body);
    }
  }
}

void Classifier::Script(const shell::Script& script, Input input) {
  for (const shell::Pipeline& pipeline : script.pipelines) {
    for (size_t i = 0; i < pipeline.commands.size(); ++i) {
      Command(pipeline.commands[i], i > 0 ? Input{Input::kUnknown} : input);
    }
  }
}

void Classifier::Command(const shell::Command& command, Input input) {
  Substitutions(command);
  Evaluations(command);
  for (const shell::Redirection& each : command.redirections) input = Redirect(each, input);
  if (command.kind == CommandKind::kSimple) {
    Assignments(command);
    if (!command.words.empty()) Words(command.words, input);
    return;
  }
  // A function may be called with any input; commands of a group share theirs.
  const bool unknown = command.kind == CommandKind::kFunction || input.kind == Input::kText;
  for (const shell::Script& body : command.bodies) {
    Script(body, unknown ? Input{Input::kUnknown} : input);
  }
}

void Classifier::Substitutions(const shell::Command& command) {
  const auto look = [this](const Word& word) {
    for (const shell::Script& each : word.substitutions) Script(each, Input{Input::kUnknown});
  };
  for (const shell::Assignment& each : command.assignments) look(each.value);
  for (const Word& each : command.words) look(each);
  for (const shell::Redirection& each : command.redirections) look(*each.target);
}

// Texts that bash evaluates once more: ${x@P}, and subscripts in conditions and in what becomes the
// value of a variable, which arithmetic may meet.
void Classifier::Evaluations(const shell::Command& command) {
  const auto look = [this](const Word& word) {
    if (HidesSubscript(word)) Opaque(word.text, "arithmetic would run the command in it");
  };
  for (const shell::Assignment& each : command.assignments) look(each.value);
  for (const shell::Redirection& each : command.redirections) {
    if (each.kind == RedirectionKind::kHereString) look(*each.target);
  }
  if (command.kind == CommandKind::kCompound) std::ranges::for_each(command.words, look);
  const bool condition = command.name == "[[" || command.name == "((";
  for (const Word& word : command.words) {
    const std::string& text = word.text;
    const bool prompt = !word.literal && text.find("@P}") != std::string::npos;
    const bool subscript = condition && word.substitutions.empty() &&
                           (text.find("[$(") != text.npos || text.find("[`") != text.npos);
    if (prompt || subscript) Opaque(text, "its value is evaluated once more");
  }
}

void Classifier::Assignments(const shell::Command& command) {
  for (const shell::Assignment& each : command.assignments) Assign(each.name, &each.value);
}

void Classifier::Assign(std::string_view name, const Word* value) {
  CategorySet effect = table_.EnvironmentEffect(std::string(name));
  if (name.starts_with(kExportedFunction)) effect = Category::kHostEscapeRisk;
  if (effect == CategorySet()) return;
  const auto& harmless = kHarmlessValues;
  if (value && value->literal &&
      std::find(harmless.begin(), harmless.end(), value->text) != harmless.end()) {
    return;
  }
  Part part;
  part.words = {std::string(name) + "=" + (value ? value->text : "")};
  part.categories = effect;
  part.reasons.push_back(std::string(name) + " changes what other commands run");
  Add(std::move(part));
}

// Adds what a redirection writes; gives what the command reads after it.
Input Classifier::Redirect(const shell::Redirection& redirection, Input input) {
  const Word& target = *redirection.target;
  const bool is_input = redirection.fd == 0;
  const bool network = target.text.starts_with("/dev/tcp/") || target.text.starts_with("/dev/udp/");
  if (redirection.kind == RedirectionKind::kWrite || network) {
    Part part;
    part.program = ">";
    part.words = {">", target.text};
    if (network) {
      part.categories = Category::kNetworked;
      part.reasons.emplace_back("bash opens a connection for that name");
    } else {
      UsePath(part, target, Access::kWrite);
    }
    Add(std::move(part));
  } else if (redirection.kind == RedirectionKind::kRead) {
    Part part;
    part.program = "<";
    part.words = {"<", target.text};
    UsePath(part, target, Access::kRead);
    Add(std::move(part));
  }
  if (!is_input) return input;
  const bool text = redirection.kind == RedirectionKind::kHereDoc ||
                    redirection.kind == RedirectionKind::kHereString;
  return text ? Input{Input::kText, &target} : Input{Input::kUnknown};
}

void Classifier::Words(std::span<const Word> words, Input input, bool appends) {
  Level level(depth_);
  if (words.empty()) {
    if (appends) Opaque("", "the command comes from the input");
    return;
  }
  const Word& first = words[0];
  if (depth_ > kMaxDepth) return Opaque(first.text, "it is nested too deeply");
  if (!first.literal || first.pattern) {
    return Opaque(first.text, "which program this is shows only when it runs");
  }
  Part part;
  part.program = first.text.substr(first.text.rfind('/') + 1);
  for (const Word& word : words) part.words.push_back(word.text);
  const bool own = !InSystemDirectory(first);
  const ProgramFacts* facts = table_.Find(part.program);
  if (own) {
    part.categories.Add(Category::kMutating);
    part.reasons.push_back(first.text + " is not one of the system's programs");
  }
  if (facts != nullptr) return Program(*facts, words.subspan(1), input, appends, std::move(part));
  if (functions_.contains(first.text)) return;  // its body was looked at
  static const ProgramFacts* const kUnknown = new ProgramFacts();
  part.categories.Add(Category::kMutating);
  if (!own) part.reasons.push_back("what " + part.program + " does is not known");
  Program(*kUnknown, words.subspan(1), input, appends, std::move(part));
}

Classification ClassifyText(std::string_view text, const Surroundings& surroundings) {
  Classifier classifier(surroundings);
  classifier.Text(text, Input{surroundings.has_input ? Input::kUnknown : Input::kTerminal});
  return classifier.Take();
}

Classification ClassifyArguments(const std::vector<std::string>& arguments,
                                 const Surroundings& surroundings) {
  std::vector<Word> words;
  for (const std::string& argument : arguments) {
    words.emplace_back();
    words.back().text = argument;
    words.back().quoted = true;
  }
  Classifier classifier(surroundings);
  classifier.Words(words, Input{surroundings.has_input ? Input::kUnknown : Input::kTerminal});
  return classifier.Take();
}

}  // namespace agentfs::policy
