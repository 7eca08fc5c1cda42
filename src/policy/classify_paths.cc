// SPDX-License-Identifier: Apache-2.0
//
// The paths that a command names, and those beyond the view among them.
#include <array>

#include "agentfs/path.h"
#include "policy/classifier.h"

namespace agentfs::policy {
namespace {

using shell::Word;

// Writing there changes nothing.
constexpr std::array<std::string_view, 7> kSinks = {
    "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full", "/dev/stdin"};

bool IsSink(std::string_view path) {
  for (std::string_view sink : kSinks) {
    if (path == sink) return true;
  }
  return path.starts_with("/dev/fd/");
}

// What follows ~ or $HOME; false: it is not about the home directory.
bool BelowHome(const Word& word, std::string_view& rest) {
  std::string_view text = word.text;
  for (std::string_view home : {"${HOME}", "$HOME", "~"}) {
    if (!text.starts_with(home) || (home == "~" && !word.tilde)) continue;
    text.remove_prefix(home.size());
    if (!text.empty() && text[0] != '/') return false;
    // Another expansion behind it could be anything.
    if (text.find('$') != std::string_view::npos || text.find('`') != std::string_view::npos) {
      return false;
    }
    rest = text;
    return true;
  }
  return false;
}

}  // namespace

bool Classifier::IsBelow(std::string_view path, std::string_view directory) const {
  if (directory == "/") return true;
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

std::string Classifier::Resolve(const Word& word) const {
  std::string path;
  std::string_view rest;
  if (BelowHome(word, rest)) {
    path = (surroundings_.home.empty() ? "/~" : surroundings_.home) + std::string(rest);
  } else if (!word.literal || word.text.empty()) {
    return "";
  } else if (word.tilde) {
    path = "/" + word.text;  // the home of somebody else
  } else if (word.text[0] == '/') {
    path = word.text;
  } else if (!directory_.empty()) {
    path = directory_ + "/" + word.text;
  } else {
    return "";
  }
  auto normal = NormalizePath(path);
  return normal.ok() ? std::move(*normal) : "";
}

void Classifier::UsePath(Part& part, const Word& word, Access access) {
  const std::string path = Resolve(word);
  if (IsSink(path)) return;
  if (access == Access::kWrite) {
    part.categories.Add(Category::kMutating);
    if (!path.empty()) WritePath(part, path);
  }
  if (!path.empty()) part.paths.push_back({path, access});
}

void Classifier::WritePath(Part& part, const std::string& path) {
  if (IsBelow(path, surroundings_.root)) return;
  for (const std::string& directory : surroundings_.writable) {
    if (IsBelow(path, directory)) return;
  }
  part.categories.Add(Category::kHostEscapeRisk);
  part.reasons.push_back(path + " is beyond the view");
}

// Operands and values of options, as the table says which of them are written.
void Classifier::Paths(const Subject& subject) {
  const auto& [facts, arguments, input, appends, part] = subject;
  for (const Option& option : arguments.options) {
    if (!option.has_value) continue;
    Word word;
    word.text = option.value;
    word.literal = option.literal;
    word.tilde = option.value.starts_with("~");
    UsePath(part, word, IsFlag(option.name, facts.written) ? Access::kWrite : Access::kRead);
  }
  if (facts.inner != Inner::kNothing && facts.interpreter == Interpreter::kNone) return;
  const bool in_place = arguments.Has(facts.in_place);
  const bool changes = in_place || (facts.writes != Writes::kNone && !arguments.Has(facts.reading));
  if (changes && appends) part.categories.Add(Category::kMutating);
  const size_t first = arguments.Has(facts.instead) ? 0 : static_cast<size_t>(facts.skip);
  for (size_t i = first; i < arguments.operands.size(); ++i) {
    const Word& word = *arguments.operands[i];
    const size_t equals = word.text.find('=');
    if (equals != std::string::npos && IsFlag(word.text.substr(0, equals), facts.written)) {
      Word target = word;
      target.text.erase(0, equals + 1);  // dd of=FILE
      UsePath(part, target, Access::kWrite);
      continue;
    }
    const bool written =
        changes && (in_place || facts.writes == Writes::kAll || i + 1 == arguments.operands.size());
    UsePath(part, word, written ? Access::kWrite : Access::kRead);
  }
  if (!arguments.rest.empty() && facts.interpreter != Interpreter::kNone && !arguments.module) {
    UsePath(part, arguments.rest[0], Access::kRead);
  }
}

void Classifier::ChangeDirectory(const Subject& subject) {
  const auto& operands = subject.arguments.operands;
  if (operands.empty()) {
    directory_ = surroundings_.home;
  } else {
    directory_ = operands[0]->text == "-" ? "" : Resolve(*operands[0]);
  }
}

}  // namespace agentfs::policy
