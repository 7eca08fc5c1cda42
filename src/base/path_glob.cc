// SPDX-License-Identifier: Apache-2.0
#include "base/path_glob.h"

#include <algorithm>
#include <span>

#include "agentfs/path.h"

namespace agentfs {
namespace {

constexpr size_t kMaxAlternatives = 64;

// The length of the [...] at the front of a glob; 0: it is not closed.
size_t BracketLength(std::string_view glob) {
  size_t at = 1;
  if (at < glob.size() && (glob[at] == '!' || glob[at] == '^')) ++at;
  if (at < glob.size() && glob[at] == ']') ++at;
  while (at < glob.size() && glob[at] != ']') at += glob[at] == '\\' ? 2 : 1;
  return at < glob.size() ? at + 1 : 0;
}

bool BracketMatches(std::string_view inside, char c) {
  const bool negated = inside.starts_with("!") || inside.starts_with("^");
  if (negated) inside.remove_prefix(1);
  bool found = false;
  for (size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] == '\\' && i + 1 < inside.size()) ++i;
    const unsigned char low = static_cast<unsigned char>(inside[i]);
    unsigned char high = low;
    if (i + 2 < inside.size() && inside[i + 1] == '-') {
      high = static_cast<unsigned char>(inside[i + 2]);
      i += 2;
    }
    const auto byte = static_cast<unsigned char>(c);
    found |= low <= byte && byte <= high;
  }
  return found != negated;
}

// How much of the glob one byte of the name uses up; 0: it does not match.
size_t MatchByte(std::string_view glob, char c) {
  if (glob[0] == '?') return 1;
  if (glob[0] == '[') {
    const size_t length = BracketLength(glob);
    if (length > 0) return BracketMatches(glob.substr(1, length - 2), c) ? length : 0;
  }
  if (glob[0] == '\\' && glob.size() > 1) return glob[1] == c ? 2 : 0;
  return glob[0] == c ? 1 : 0;
}

// Only the last ** needs to be tried again: whatever an earlier one could give up, it could, too.
bool NamesMatch(std::span<const std::string> globs, std::span<const std::string_view> names) {
  size_t g = 0, n = 0;
  size_t retry_glob = globs.size() + 1, retry_name = 0;
  while (n < names.size()) {
    if (g < globs.size() && globs[g] == "**") {
      retry_glob = ++g;
      retry_name = n;
    } else if (g < globs.size() && NameMatches(globs[g], names[n])) {
      ++g;
      ++n;
    } else if (retry_glob <= globs.size()) {
      g = retry_glob;
      n = ++retry_name;
    } else {
      return false;
    }
  }
  while (g < globs.size() && globs[g] == "**") ++g;
  return g == globs.size();
}

// The names of a glob that the next name of a path may have to match, after `path`; the one past
// the last: it has matched already.
using Places = std::vector<bool>;
void SkipAnyNumber(std::span<const std::string> globs, Places& places) {
  for (size_t g = 0; g < globs.size(); ++g) {
    if (places[g] && globs[g] == "**") places[g + 1] = true;
  }
}

Places PlacesAfter(std::span<const std::string> globs, std::span<const std::string_view> path) {
  Places places(globs.size() + 1);
  places[0] = true;
  SkipAnyNumber(globs, places);
  for (const std::string_view name : path) {
    Places next(globs.size() + 1);
    next[globs.size()] = places[globs.size()];  // it holds whatever is beneath
    for (size_t g = 0; g < globs.size(); ++g) {
      if (!places[g]) continue;
      if (globs[g] == "**")
        next[g] = true;
      else if (NameMatches(globs[g], name))
        next[g + 1] = true;
    }
    SkipAnyNumber(globs, next);
    places = std::move(next);
  }
  return places;
}

// Where the brace at `open` closes; npos: nowhere.
size_t ClosingBrace(std::string_view glob, size_t open) {
  int depth = 0;
  for (size_t at = open; at < glob.size(); ++at) {
    if (glob[at] == '\\')
      ++at;
    else if (glob[at] == '{')
      ++depth;
    else if (glob[at] == '}' && --depth == 0)
      return at;
  }
  return std::string_view::npos;
}

size_t FirstBrace(std::string_view glob) {
  for (size_t at = 0; at < glob.size(); ++at) {
    if (glob[at] == '\\')
      ++at;
    else if (glob[at] == '{')
      return at;
  }
  return std::string_view::npos;
}

Result<void> ExpandBraces(const std::string& glob, std::vector<std::string>& out) {
  const size_t open = FirstBrace(glob);
  if (open == std::string::npos) {
    out.push_back(glob);
    return Ok();
  }
  const size_t close = ClosingBrace(glob, open);
  if (close == std::string::npos) return Error(EINVAL, "a { is not closed");
  int depth = 0;
  size_t begin = open + 1;
  for (size_t at = open + 1; at <= close; ++at) {
    if (glob[at] == '\\') {
      ++at;
      continue;
    }
    const bool ends = depth == 0 && (glob[at] == ',' || at == close);
    depth += glob[at] == '{' ? 1 : glob[at] == '}' ? -1 : 0;
    if (!ends) continue;
    AGENTFS_TRY(ExpandBraces(
        glob.substr(0, open) + glob.substr(begin, at - begin) + glob.substr(close + 1), out));
    if (out.size() > kMaxAlternatives) return Error(EINVAL, "it has too many alternatives");
    begin = at + 1;
  }
  return Ok();
}

Result<void> CheckBrackets(const std::string& name) {
  for (size_t at = 0; at < name.size(); ++at) {
    if (name[at] == '\\')
      ++at;
    else if (name[at] == '[') {
      const size_t length = BracketLength(std::string_view(name).substr(at));
      if (length == 0) return Error(EINVAL, "a [ is not closed");
      at += length - 1;
    }
  }
  return Ok();
}

}  // namespace

bool NameMatches(std::string_view glob, std::string_view name) {
  size_t g = 0, n = 0;
  size_t retry_glob = std::string_view::npos, retry_name = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      retry_glob = ++g;
      retry_name = n;
      continue;
    }
    const size_t used = g < glob.size() ? MatchByte(glob.substr(g), name[n]) : 0;
    if (used > 0) {
      g += used;
      ++n;
    } else if (retry_glob != std::string_view::npos) {
      g = retry_glob;
      n = ++retry_name;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

Result<PathGlob> PathGlob::Compile(std::string_view glob) {
  if (glob.empty() || glob == "/") return Error(EINVAL, "it names nothing");
  PathGlob compiled;
  compiled.text_ = glob;
  std::vector<std::string> texts;
  AGENTFS_TRY(ExpandBraces(compiled.text_, texts));
  for (const std::string& text : texts) {
    Names names;
    if (!text.starts_with("/")) names.push_back("**");
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('/', at), text.size());
      if (end > at) names.push_back(text.substr(at, end - at));
      if (end > at) AGENTFS_TRY(CheckBrackets(names.back()));
      at = end + 1;
    }
    compiled.alternatives_.push_back(std::move(names));
  }
  return compiled;
}

bool PathGlob::Matches(std::string_view path) const {
  const auto names = SplitPath(path);
  for (const Names& globs : alternatives_) {
    if (NamesMatch(globs, names)) return true;
  }
  return false;
}

bool PathGlob::MatchesOrHolds(std::string_view path) const {
  const auto names = SplitPath(path);
  for (const Names& globs : alternatives_) {
    for (size_t length = names.size(); length > 0; --length) {
      if (NamesMatch(globs, std::span(names).first(length))) return true;
    }
  }
  return false;
}

bool PathGlob::SameBeneath(std::string_view directory, std::string_view other) const {
  const auto names = SplitPath(directory), others = SplitPath(other);
  return std::all_of(alternatives_.begin(), alternatives_.end(), [&](const Names& globs) {
    return PlacesAfter(globs, names) == PlacesAfter(globs, others);
  });
}

}  // namespace agentfs
