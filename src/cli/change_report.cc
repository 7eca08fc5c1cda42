// SPDX-License-Identifier: Apache-2.0
#include "cli/change_report.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/file_mode.h"
#include "workspace/git_quote.h"

namespace agentfs::cli {
namespace {

using Kind = PathChange::Kind;

std::string ShownPath(const PathChange& change, const std::string& path) {
  const std::string known(KnownPath(path));
  return GitQuote(S_ISDIR(change.attr().mode) ? known + "/" : known);
}

bool IsIn(std::string_view path, std::string_view directory) {
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

// Whether something in the directory `at` has changed in the same way. Sorted by path, what it
// holds comes behind it, and perhaps names that begin with its own.
bool HoldsMore(std::vector<PathChange>::const_iterator at,
               std::vector<PathChange>::const_iterator end) {
  for (auto each = at + 1; each != end && each->path.starts_with(at->path); ++each) {
    if (each->kind == at->kind && IsIn(each->path, at->path)) return true;
  }
  return false;
}

std::array<size_t, 4> CountKinds(const std::vector<PathChange>& changes) {
  std::array<size_t, 4> counts = {};
  for (const PathChange* change : ListedChanges(changes)) {
    ++counts[static_cast<size_t>(change->kind)];
  }
  return counts;
}

size_t DigitsOf(uint64_t number) { return std::to_string(number).size(); }

std::string StatName(const PathChange& change) {
  if (change.kind == Kind::kRenamed) {
    return ShownPath(change, change.old_path) + " => " + ShownPath(change, change.path);
  }
  const std::string name = ShownPath(change, change.path);
  if (change.kind == Kind::kRemoved) return name + " (gone)";
  return change.kind == Kind::kAdded ? name + " (new)" : name;
}

std::string Bar(const LineCounts& lines, uint64_t most, size_t width, bool color) {
  const uint64_t all = lines.added + lines.removed;
  auto scaled = [&](uint64_t count) -> size_t {
    if (count == 0 || most <= width) return count;
    return std::max<uint64_t>(1, count * width / most);
  };
  const size_t plus = scaled(lines.added), minus = all == 0 ? 0 : scaled(lines.removed);
  if (!color) return std::string(plus, '+') + std::string(minus, '-');
  return "\033[32m" + std::string(plus, '+') + "\033[31m" + std::string(minus, '-') + "\033[m";
}

std::string StatTotals(const std::vector<FileStat>& files) {
  uint64_t added = 0, removed = 0;
  for (const FileStat& file : files) {
    added += file.lines.added;
    removed += file.lines.removed;
  }
  std::string text = fmt::format(" {} file{} changed", files.size(), files.size() == 1 ? "" : "s");
  if (added > 0) text += fmt::format(", {} insertion{}(+)", added, added == 1 ? "" : "s");
  if (removed > 0) text += fmt::format(", {} deletion{}(-)", removed, removed == 1 ? "" : "s");
  return text + "\n";
}

// What was deleted comes first; else the order stays.
template <typename List, typename KindOf>
void DeletionsFirst(List& list, KindOf kind_of) {
  std::stable_partition(list.begin(), list.end(),
                        [&](const auto& each) { return kind_of(each) == Kind::kRemoved; });
}

// Of what is gone with its directory so much is named; more is one line for the directory.
constexpr size_t kNamedInDirectory = 5;

// The outermost directory of `gone` that the path is in; empty: none.
std::string_view OutermostOf(const std::set<std::string_view>& gone, std::string_view path) {
  for (size_t at = path.find('/', 1); at != path.npos; at = path.find('/', at + 1)) {
    if (gone.contains(path.substr(0, at))) return path.substr(0, at);
  }
  return {};
}

// What was deleted: each is named, by itself or by a directory that went with all that it held.
class DeletionLines {
 public:
  DeletionLines(const std::vector<PathChange>& changes,
                const std::vector<const PathChange*>& listed) {
    for (const PathChange& change : changes) {
      const bool gone = change.kind == Kind::kRemoved && S_ISDIR(change.attr().mode);
      if (gone) gone_.insert(change.path);
    }
    for (const PathChange* change : listed) {
      if (change->kind == Kind::kRemoved) ++held_[OutermostOf(gone_, change->path)];
    }
  }

  // Empty: it was named with another.
  std::string LineFor(const PathChange& change) {
    const std::string_view directory = OutermostOf(gone_, change.path);
    size_t& held = held_[directory];
    if (directory.empty() || (held > 0 && held <= kNamedInDirectory)) {
      return fmt::format("  D {}\n", ShownPath(change, change.path));
    }
    if (held == 0) return {};
    const std::string shown = GitQuote(std::string(KnownPath(directory)) + "/");
    return fmt::format("  D {} ({} files)\n", shown, std::exchange(held, 0));
  }

 private:
  std::set<std::string_view> gone_;
  std::map<std::string_view, size_t> held_;  // 0: told
};

}  // namespace

char StatusLetter(const PathChange& change) {
  static constexpr char kLetters[] = {'A', 'D', 'M', 'R'};
  return kLetters[static_cast<size_t>(change.kind)];
}

std::vector<const PathChange*> ListedChanges(const std::vector<PathChange>& changes) {
  std::vector<const PathChange*> listed;
  for (auto at = changes.begin(); at != changes.end(); ++at) {
    const bool directory = S_ISDIR(at->attr().mode) && at->kind != Kind::kModified;
    if (!directory || !HoldsMore(at, changes.end())) listed.push_back(&*at);
  }
  return listed;
}

std::string StatusLine(const PathChange& change) {
  std::string line(1, StatusLetter(change));
  if (change.kind == Kind::kRenamed) line += "\t" + ShownPath(change, change.old_path);
  return line + "\t" + ShownPath(change, change.path) + "\n";
}

nlohmann::ordered_json ChangeJson(const PathChange& change) {
  nlohmann::ordered_json json = {{"status", std::string(1, StatusLetter(change))},
                                 {"path", KnownPath(change.path)}};
  if (change.kind == Kind::kRenamed) json["old_path"] = KnownPath(change.old_path);
  if (IsOutside(change.path)) json["outside"] = true;
  json["type"] = TypeName(change.attr().mode);
  if (change.type_changed()) json["old_type"] = TypeName(change.before.attr.mode);
  if (change.before.node) {
    json["old_mode"] = fmt::format("{:04o}", change.before.attr.mode & 07777);
    json["old_size"] = change.before.attr.size;
  }
  if (change.after.node) {
    json["mode"] = fmt::format("{:04o}", change.after.attr.mode & 07777);
    json["size"] = change.after.attr.size;
  }
  json["content_changed"] = change.content || !change.before.node || !change.after.node;
  json["mode_changed"] = change.mode;
  json["xattrs_changed"] = change.xattrs;
  return json;
}

nlohmann::ordered_json CountsJson(const std::vector<PathChange>& changes) {
  const auto counts = CountKinds(changes);
  return {{"added", counts[0]},
          {"modified", counts[2]},
          {"removed", counts[1]},
          {"renamed", counts[3]}};
}

std::string CountsText(const std::vector<PathChange>& changes) {
  const auto counts = CountKinds(changes);
  std::string text;
  auto add = [&](size_t count, std::string_view what) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(counts[1], "deleted");
  add(counts[2], "modified");
  add(counts[0], "added");
  add(counts[3], "renamed");
  return text.empty() ? "no changes" : text;
}

std::string ChangeSummary(const std::vector<PathChange>& changes, size_t limit) {
  std::vector<const PathChange*> listed = ListedChanges(changes);
  // What git does is told last: it is a consequence of the rest.
  std::stable_partition(listed.begin(), listed.end(), [](const PathChange* change) {
    return change->path.find("/.git/") == std::string::npos;
  });
  DeletionsFirst(listed, [](const PathChange* change) { return change->kind; });
  DeletionLines deletions(changes, listed);
  std::string text;
  size_t shown = 0;
  for (const PathChange* change : listed) {
    if (change->kind == Kind::kRemoved) {
      text += deletions.LineFor(*change);
      continue;
    }
    if (shown++ >= limit) continue;
    text += fmt::format(
        "  {} {}{}\n", StatusLetter(*change),
        change->kind == Kind::kRenamed ? ShownPath(*change, change->old_path) + " -> " : "",
        ShownPath(*change, change->path));
  }
  if (shown > limit) text += fmt::format("  ... and {} more\n", shown - limit);
  return text;
}

std::string StatText(const std::vector<FileStat>& files, size_t width, bool color) {
  std::vector<FileStat> ordered = files;
  DeletionsFirst(ordered, [](const FileStat& file) { return file.change->kind; });
  size_t name_width = 0;
  uint64_t most = 0;
  bool binary = false;
  for (const FileStat& file : ordered) {
    name_width = std::max(name_width, StatName(*file.change).size());
    most = std::max(most, file.lines.added + file.lines.removed);
    binary |= file.lines.binary;
  }
  const size_t digits = std::max(DigitsOf(most), binary ? size_t{3} : 1);
  const size_t taken = 1 + name_width + 3 + digits + 1;
  const size_t bar = width > taken + 10 ? width - taken : 10;
  std::string text;
  for (const FileStat& file : ordered) {
    text += fmt::format(" {:<{}} | ", StatName(*file.change), name_width);
    if (file.lines.binary) {
      const PathChange& change = *file.change;
      text += fmt::format("{:>{}} {} -> {} bytes\n", "Bin", digits,
                          change.before.node ? change.before.attr.size : 0,
                          change.after.node ? change.after.attr.size : 0);
      continue;
    }
    const uint64_t all = file.lines.added + file.lines.removed;
    text += fmt::format("{:>{}}{}\n", all, digits,
                        all == 0 ? "" : " " + Bar(file.lines, most, bar, color));
  }
  return text + (ordered.empty() ? "" : StatTotals(ordered));
}

}  // namespace agentfs::cli
