// SPDX-License-Identifier: Apache-2.0
#include "policy/shell/brace_expansion.h"

#include <cstdlib>
#include <optional>

namespace agentfs::shell {
namespace {

constexpr size_t kMaxBraceBytes = 4096;

// Text with the mark of each byte: whether it was unquoted.
struct Marked {
  std::string text, active;

  bool Is(size_t at, char c) const { return text[at] == c && active[at] != 0; }
  Marked Sub(size_t begin, size_t end) const {
    return {text.substr(begin, end - begin), active.substr(begin, end - begin)};
  }
  void Append(const Marked& other) {
    text += other.text;
    active += other.active;
  }
};

struct Group {
  size_t begin = 0, end = 0;  // of the braces, the closing one included
  std::vector<Marked> choices;
};

std::optional<long> WholeNumber(const std::string& text) {
  const size_t digits = text.find_first_not_of("0123456789", text.starts_with("-") ? 1 : 0);
  if (text.empty() || text == "-" || text.size() > 9 || digits != std::string::npos) return {};
  return std::atol(text.c_str());
}

// {1..5} and {a..e}, with a step perhaps; none: it is no sequence. An empty list: too long.
std::optional<std::vector<Marked>> Sequence(const Marked& inside) {
  const size_t dots = inside.text.find("..");
  if (dots == std::string::npos || inside.active.find('\0') != std::string::npos) return {};
  const std::string from = inside.text.substr(0, dots);
  std::string to = inside.text.substr(dots + 2);
  long step = 1;
  if (const size_t more = to.find(".."); more != std::string::npos) {
    const auto given = WholeNumber(to.substr(more + 2));
    if (!given) return {};
    step = *given == 0 ? 1 : std::labs(*given);
    to.resize(more);
  }
  const bool letters = from.size() == 1 && to.size() == 1 && IsNameStart(from[0]);
  const auto first = letters ? static_cast<long>(from[0]) : WholeNumber(from);
  const auto last = letters ? static_cast<long>(to[0]) : WholeNumber(to);
  if (!first || !last) return {};
  std::vector<Marked> out;
  if (std::labs(*last - *first) / step >= static_cast<long>(kMaxBraceWords)) return out;
  const long direction = *first <= *last ? step : -step;
  for (long value = *first; direction > 0 ? value <= *last : value >= *last; value += direction) {
    std::string text = letters ? std::string(1, static_cast<char>(value)) : std::to_string(value);
    std::string active(text.size(), 0);
    out.push_back({std::move(text), std::move(active)});
  }
  return out;
}

// The group that opens at `begin`, if it is one.
std::optional<Group> GroupAt(const Marked& word, size_t begin) {
  Group group{begin, 0, {}};
  int open = 0;
  size_t choice = begin + 1;
  for (size_t at = begin; at < word.text.size(); ++at) {
    if (word.Is(at, '{')) ++open;
    if (open == 1 && word.Is(at, ',')) {
      group.choices.push_back(word.Sub(choice, at));
      choice = at + 1;
    }
    if (!word.Is(at, '}') || --open > 0) continue;
    group.end = at + 1;
    if (group.choices.empty()) {
      auto sequence = Sequence(word.Sub(begin + 1, at));
      if (!sequence) return {};
      group.choices = std::move(*sequence);
    } else {
      group.choices.push_back(word.Sub(choice, at));
    }
    return group;
  }
  return {};
}

std::optional<Group> FirstGroup(const Marked& word) {
  // Each '{' that opens nothing costs a scan of the rest; only so many are tried.
  size_t tries = kMaxBraceWords;
  for (size_t at = 0; at < word.text.size() && tries > 0; ++at) {
    if (!word.Is(at, '{')) continue;
    --tries;
    if (auto group = GroupAt(word, at)) return group;
  }
  return {};
}

bool HasActive(const Marked& word, char c) {
  for (size_t at = 0; at < word.text.size(); ++at) {
    if (word.Is(at, c)) return true;
  }
  return false;
}

bool MayExpand(const Marked& word) {
  return HasActive(word, '{') &&
         (HasActive(word, ',') || word.text.find("..") != std::string::npos);
}

// Whether all braces are of groups that have a choice. What bash makes of others, and of a dollar
// that may come to stand before a name, is not worth knowing.
bool IsClean(const Marked& word) {
  std::vector<std::pair<size_t, bool>> open;  // where, and whether it has a comma
  for (size_t at = 0; at < word.text.size(); ++at) {
    if (word.Is(at, '$')) return false;
    if (word.Is(at, '{')) open.emplace_back(at, false);
    if (word.Is(at, ',') && !open.empty()) open.back().second = true;
    if (!word.Is(at, '}')) continue;
    if (open.empty()) return false;
    const auto [begin, comma] = open.back();
    open.pop_back();
    if (!comma && !Sequence(word.Sub(begin + 1, at))) return false;
  }
  return open.empty();
}

// Whether everything was expanded; what is left over does not count.
bool Expand(std::vector<Marked> waiting, std::vector<Marked>& done) {
  size_t steps = 4 * kMaxBraceWords;
  while (!waiting.empty()) {
    Marked word = std::move(waiting.back());
    waiting.pop_back();
    auto group = FirstGroup(word);
    if (!group) {
      done.push_back(std::move(word));
      if (done.size() > kMaxBraceWords) return false;
      continue;
    }
    const size_t more = group->choices.size();
    if (more == 0 || waiting.size() + more > kMaxBraceWords || --steps == 0) return false;
    const Marked before = word.Sub(0, group->begin);
    const Marked after = word.Sub(group->end, word.text.size());
    for (size_t i = group->choices.size(); i-- > 0;) {
      Marked next = before;
      next.Append(group->choices[i]);
      next.Append(after);
      waiting.push_back(std::move(next));
    }
  }
  return true;
}

}  // namespace

void ExpandBraces(WordBuilder built, std::vector<Word>& words) {
  Marked whole{built.word.text, built.active};
  std::vector<Marked> done;
  if (!MayExpand(whole)) {
    words.push_back(std::move(built.word));
    return;
  }
  if (whole.text.size() > kMaxBraceBytes || !IsClean(whole) || !Expand({std::move(whole)}, done)) {
    built.word.literal = false;
    words.push_back(std::move(built.word));
    return;
  }
  for (Marked& each : done) {
    if (each.text.empty() && !built.word.quoted) continue;
    Word word;
    word.literal = built.word.literal;
    word.quoted = built.word.quoted;
    word.pattern = built.word.pattern;
    word.tilde = each.text.starts_with("~") && each.active[0] != 0;
    word.text = std::move(each.text);
    // The substitutions run for each of the words; once is enough to know them.
    word.substitutions = std::move(built.word.substitutions);
    built.word.substitutions.clear();
    words.push_back(std::move(word));
  }
}

}  // namespace agentfs::shell
