// SPDX-License-Identifier: Apache-2.0
#include "policy/program_table.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace agentfs::policy {
namespace {

constexpr size_t kUsualPrograms = 2048;

// The next piece before `separator`, which is taken away with it.
std::string_view TakePiece(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::string_view piece = TakePiece(text, separator);
    if (!piece.empty()) pieces.push_back(piece);
  }
  return pieces;
}

Error WrongFact(std::string_view fact) {
  return Error(EINVAL, "'" + std::string(fact) + "' is no fact");
}

// Words that stand for themselves.
const std::unordered_map<std::string_view, void (*)(ProgramFacts&)>& Marks() {
  using Map = std::unordered_map<std::string_view, void (*)(ProgramFacts&)>;
  static const Map* const kMarks =
      new Map{{"build", [](ProgramFacts& facts) { facts.purpose = Purpose::kBuild; }},
              {"publish", [](ProgramFacts& facts) { facts.purpose = Purpose::kPublish; }},
              {"command", [](ProgramFacts& facts) { facts.inner = Inner::kCommand; }},
              {"joined_text", [](ProgramFacts& facts) { facts.inner = Inner::kText; }},
              {"first_text", [](ProgramFacts& facts) { facts.inner = Inner::kFirstText; }},
              {"subcommands", [](ProgramFacts& facts) { facts.inner = Inner::kSubcommand; }},
              {"template", [](ProgramFacts& facts) { facts.inner = Inner::kTemplate; }},
              {"shell", [](ProgramFacts& facts) { facts.interpreter = Interpreter::kShell; }},
              {"interpreter", [](ProgramFacts& facts) { facts.interpreter = Interpreter::kOther; }},
              {"prompts", [](ProgramFacts& facts) { facts.interpreter = Interpreter::kHarmless; }},
              {"sed", [](ProgramFacts& facts) { facts.dialect = Dialect::kSed; }},
              {"awk", [](ProgramFacts& facts) { facts.dialect = Dialect::kAwk; }},
              {"writes_all", [](ProgramFacts& facts) { facts.writes = Writes::kAll; }},
              {"writes_last", [](ProgramFacts& facts) { facts.writes = Writes::kLast; }},
              {"long_options", [](ProgramFacts& facts) { facts.long_options = true; }},
              {"assignments", [](ProgramFacts& facts) { facts.assignments = true; }},
              {"appends", [](ProgramFacts& facts) { facts.appends = true; }},
              {"changes_directory", [](ProgramFacts& facts) { facts.changes_directory = true; }},
              {"letters_first", [](ProgramFacts& facts) { facts.letters_first = true; }}};
  return *kMarks;
}

Result<Flags ProgramFacts::*> ListNamed(std::string_view key) {
  using Lists = std::unordered_map<std::string_view, Flags ProgramFacts::*>;
  static const Lists* const kLists = new Lists{
      {"takes", &ProgramFacts::takes},       {"writes", &ProgramFacts::written},
      {"text", &ProgramFacts::text},         {"text_operand", &ProgramFacts::text_operand},
      {"code", &ProgramFacts::code},         {"commands", &ProgramFacts::commands},
      {"modules", &ProgramFacts::modules},   {"instead", &ProgramFacts::instead},
      {"in_place", &ProgramFacts::in_place}, {"reading", &ProgramFacts::reading},
      {"suspect", &ProgramFacts::suspects}};
  const auto found = kLists->find(key);
  if (found == kLists->end()) return WrongFact(key);
  return found->second;
}

Result<void> SetList(std::string_view key, std::string_view value, ProgramFacts& facts) {
  if (key == "skip" || key == "reads_up_to") {
    int& number = key == "skip" ? facts.skip : facts.reads_up_to;
    const auto end = std::from_chars(value.data(), value.data() + value.size(), number);
    if (end.ec != std::errc()) return WrongFact(key);
    return Ok();
  }
  if (key == "guard") {
    const std::string_view option = TakePiece(value, '=');
    facts.guards.push_back({option, Split(value, '|')});
    return Ok();
  }
  AGENTFS_ASSIGN(auto list, ListNamed(key));
  facts.*list = Split(value, ',');
  return Ok();
}

// "-i,--in-place->mutating", "!-m,-F->interactive" (when none of them is there).
Result<void> AddEffect(std::string_view flags, std::string_view names, ProgramFacts& facts) {
  FlagEffect effect;
  const bool absent = flags.starts_with("!");
  if (absent) flags.remove_prefix(1);
  effect.flags = Split(flags, ',');
  for (std::string_view name : Split(names, '+')) {
    const auto category = CategoryNamed(name);
    if (!category) return WrongFact(name);
    effect.adds.Add(*category);
  }
  (absent ? facts.without : facts.effects).push_back(std::move(effect));
  return Ok();
}

Result<void> AddFact(std::string_view word, ProgramFacts& facts) {
  if (const auto category = CategoryNamed(word)) {
    facts.categories.Add(*category);
    return Ok();
  }
  if (const size_t arrow = word.find("->"); arrow != std::string_view::npos) {
    return AddEffect(word.substr(0, arrow), word.substr(arrow + 2), facts);
  }
  if (const auto mark = Marks().find(word); mark != Marks().end()) {
    mark->second(facts);
    return Ok();
  }
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return WrongFact(word);
  return SetList(word.substr(0, equals), word.substr(equals + 1), facts);
}

}  // namespace

std::string WithoutVersion(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789.");
  if (end == std::string::npos) return name;
  const size_t size = name[end] == '-' && end + 1 < name.size() ? end : end + 1;
  return name.substr(0, size);
}

// PROGRAM... [/ SUBCOMMAND...] : FACT..., or $VARIABLE... : CATEGORY.
Result<void> ProgramTable::AddLine(std::string_view line) {
  const size_t colon = line.find(" : ");
  if (colon == std::string_view::npos) return Error(EINVAL, "' : ' is missing");
  ProgramFacts facts;
  for (std::string_view word : Split(line.substr(colon + 3), ' ')) {
    AGENTFS_TRY(AddFact(word, facts));
  }
  const size_t at = facts_.size();
  facts_.push_back(std::move(facts));
  std::string_view names = line.substr(0, colon);
  const size_t slash = names.find(" / ");
  if (slash == std::string_view::npos) {
    for (std::string_view name : Split(names, ' ')) AGENTFS_TRY(AddName(std::string(name), at));
    return Ok();
  }
  for (std::string_view program : Split(names.substr(0, slash), ',')) {
    for (std::string_view subcommand : Split(names.substr(slash + 3), ' ')) {
      AGENTFS_TRY(AddName(std::string(program) + " " + std::string(subcommand), at));
    }
  }
  return Ok();
}

Result<void> ProgramTable::AddName(const std::string& name, size_t facts) {
  const bool added = name.starts_with("$")
                         ? environment_.emplace(name.substr(1), facts_[facts].categories).second
                         : programs_.emplace(name, facts).second;
  if (!added) return Error(EINVAL, "'" + name + "' is there twice");
  return Ok();
}

Result<ProgramTable> ProgramTable::Parse(std::string_view text) {
  ProgramTable table;
  table.facts_.reserve(std::count(text.begin(), text.end(), '\n'));
  table.programs_.reserve(kUsualPrograms);
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = TakePiece(text, '\n');
    if (line.empty() || line.starts_with("#")) continue;
    if (auto added = table.AddLine(line); !added.ok()) {
      return added.error().WithContext("line " + std::to_string(number));
    }
  }
  return table;
}

const ProgramTable& ProgramTable::BuiltIn() {
  static const ProgramTable* const kTable = [] {
    auto table = Parse(BuiltInFacts());
    if (!table.ok()) {
      std::fprintf(stderr, "agentfs: program facts: %s\n", table.error().message().c_str());
      std::abort();
    }
    return new ProgramTable(std::move(*table));
  }();
  return *kTable;
}

const ProgramFacts* ProgramTable::Find(const std::string& name) const {
  auto found = programs_.find(name);
  if (found == programs_.end()) found = programs_.find(WithoutVersion(name));
  return found == programs_.end() ? nullptr : &facts_[found->second];
}

CategorySet ProgramTable::EnvironmentEffect(const std::string& name) const {
  const auto found = environment_.find(name);
  return found == environment_.end() ? CategorySet() : found->second;
}

}  // namespace agentfs::policy
