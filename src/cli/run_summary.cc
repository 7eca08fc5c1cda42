// SPDX-License-Identifier: Apache-2.0
//
// summary: what a run has changed, for people. Deletions come first, and all of them.
#include <fmt/core.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/session.h"
#include "workspace/changes.h"

namespace agentfs::cli {
namespace {

constexpr size_t kMostShown = 20;

bool IsDeletion(const PathChange& change) { return change.kind == PathChange::Kind::kRemoved; }

// Paths are bytes; what would disturb a terminal is shown as \ooo.
std::string Shown(std::string_view path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\{:03o}", byte);
    } else {
      text += c;
    }
  }
  return text;
}

// As the person knows it: in the workspace, or on the host.
std::string PathText(const PathChange& change, const std::string& path) {
  std::string text = Shown(path.starts_with(kHostPrefix) ? path.substr(kHostPrefix.size()) : path);
  if (S_ISDIR(change.attr().mode)) text += '/';
  return text;
}

std::string Line(const PathChange& change) {
  static constexpr char kLetters[] = {'A', 'D', 'M', 'R'};
  std::string line = fmt::format("  {} ", kLetters[static_cast<size_t>(change.kind)]);
  if (!change.old_path.empty()) line += PathText(change, change.old_path) + " -> ";
  return line + PathText(change, change.path) + "\n";
}

std::string Lines(const std::vector<PathChange>& changes) {
  std::string text;
  size_t shown = 0, others = 0;
  for (const PathChange& change : changes) {
    if (IsDeletion(change)) text += Line(change);
  }
  for (const PathChange& change : changes) {
    if (IsDeletion(change)) continue;
    if (++others <= kMostShown) {
      text += Line(change);
      ++shown;
    }
  }
  if (others > shown) text += fmt::format("  ... and {} more\n", others - shown);
  return text;
}

std::string Counted(const std::vector<PathChange>& changes) {
  size_t counts[4] = {};
  for (const PathChange& change : changes) ++counts[static_cast<size_t>(change.kind)];
  static constexpr std::pair<size_t, const char*> kWords[] = {
      {1, "deleted"}, {0, "new"}, {2, "modified"}, {3, "renamed"}};
  std::string text;
  for (const auto& [kind, word] : kWords) {
    if (counts[kind] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[kind], word);
  }
  return text;
}

std::string NextCommands(const std::string& branch) {
  const std::string option = branch == kMainBranch ? "" : " --branch " + branch;
  return fmt::format(
      "see it: agentfs diff{0}   keep it: agentfs apply{0}   go back: agentfs undo{0}\n", option);
}

}  // namespace

Result<int> RunSummary(Context& context, const SummaryOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  AGENTFS_ASSIGN(const auto inside, FindChanges(session->volume(), options.since, options.branch));
  AGENTFS_ASSIGN(const auto outside,
                 FindChanges(session->volume(), options.since, options.branch, ChangeScope::kHost));
  std::string text;
  if (inside.empty() && outside.empty()) {
    text = fmt::format("agentfs: no changes in branch {}\n", options.branch);
  }
  if (!inside.empty()) {
    text += fmt::format("agentfs: branch {}: {}\n", options.branch, Counted(inside));
    text += Lines(inside);
  }
  if (!outside.empty()) {
    text +=
        fmt::format("agentfs: outside of the workspace, in the branch too: {}\n", Counted(outside));
    text += Lines(outside);
  }
  if (!inside.empty() || !outside.empty()) text += NextCommands(options.branch);
  AGENTFS_TRY(session->Close());
  AGENTFS_TRY(context.Print(text));
  return kDone;
}

}  // namespace agentfs::cli
