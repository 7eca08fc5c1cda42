// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/change_report.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/path_arguments.h"
#include "cli/session.h"

namespace agentfs::cli {
namespace {

// What is compared: two refs, and perhaps only some paths.
struct Question {
  std::string from = "base", to;
  std::vector<std::string> arguments;  // the paths as they were given
  std::vector<std::string> paths;
};

// The first arguments may be refs; the others, and all after "--", are paths.
Result<Question> Understand(const Context& context, Session& session, const DiffOptions& options) {
  Volume& volume = session.volume();
  Question question;
  question.to = options.branch.empty() ? std::string(kMainBranch) : options.branch;
  AGENTFS_TRY(RequireBranch(volume, question.to));
  auto argument = options.arguments.begin();
  std::vector<std::string> refs;
  const size_t paths = std::min(context.words_after_dashes, options.arguments.size());
  const auto end = options.arguments.end() - static_cast<ptrdiff_t>(paths);
  for (; argument != end && refs.size() < 2; ++argument) {
    if (argument->starts_with("/") || !IsRef(volume, *argument)) break;
    refs.push_back(*argument);
  }
  if (refs.size() == 2) {
    question.from = refs[0];
    question.to = refs[1];
  } else if (refs.size() == 1 && IsBranch(volume, refs[0]) && options.branch.empty()) {
    question.to = refs[0];
  } else if (refs.size() == 1) {
    question.from = refs[0];
  }
  question.arguments = {argument, options.arguments.end()};
  return question;
}

// A path that is neither there nor was is a mistake.
Result<void> FindPaths(Context& context, const Layout& layout, const DiffOptions& options,
                       const Views& views, Question& question) {
  AGENTFS_ASSIGN(question.paths, PathsInAndOut(context, layout, views, question.arguments));
  if (options.outside) question.paths.emplace_back(kHostPrefix);
  if (ScopeOf(question.paths) == ChangeScope::kAll) {
    return Error(EINVAL, "diff: some of the paths are outside of the workspace, and some are not",
                 "ask for them one after the other");
  }
  return RequirePaths(
      context, views, question.paths,
      fmt::format("{} nor in {}, nor a branch or snapshot", question.from, question.to));
}

// What is outside of the workspace is told as the host names it, so that the patch is one for "/".
Result<std::vector<PathChange>> FindAll(Volume& volume, const Question& question) {
  AGENTFS_ASSIGN(auto changes,
                 FindChanges(volume, question.from, question.to, ScopeOf(question.paths)));
  changes = SelectPaths(std::move(changes), question.paths);
  for (PathChange& change : changes) {
    change.path = std::string(KnownPath(change.path));
    change.old_path = std::string(KnownPath(change.old_path));
  }
  return changes;
}

std::string_view ColorOf(PatchLine kind) {
  switch (kind) {
    case PatchLine::kHeader:
      return "\033[1m";
    case PatchLine::kHunk:
      return "\033[36m";
    case PatchLine::kAdded:
      return "\033[32m";
    case PatchLine::kRemoved:
      return "\033[31m";
    default:
      return "";
  }
}

// The text with each of its lines in the colour.
std::string Colored(std::string_view text, std::string_view color) {
  if (color.empty()) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out.append(color).append(text.substr(0, end)).append("\033[m");
    if (end < text.size()) out.push_back('\n');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Result<void> PrintPatch(const Context& context, const Views& views,
                        const std::vector<PathChange>& changes) {
  const bool color = context.UseColor();
  PatchWriter writer(*views.before, *views.after, [&](PatchLine kind, std::string_view text) {
    return context.Print(color ? Colored(text, ColorOf(kind)) : std::string(text));
  });
  size_t unsaid = 0;
  for (const PathChange& change : changes) {
    AGENTFS_TRY(writer.Write(change));
    unsaid += S_ISDIR(change.attr().mode) || PatchCanSay(change) ? 0 : 1;
  }
  if (unsaid > 0) {
    context.Notice(fmt::format(
        "agentfs: {} change{} that a patch cannot say (modes, attributes, special files, .git); "
        "--name-status lists all",
        unsaid, unsaid == 1 ? "" : "s"));
  }
  return Ok();
}

size_t TerminalWidth(const Context& context) {
  struct winsize size = {};
  for (int fd : {context.console->streams().out, context.console->streams().err}) {
    if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  }
  return 80;
}

Result<std::vector<FileStat>> CountAll(const Views& views, const std::vector<PathChange>& changes) {
  std::vector<FileStat> files;
  for (const PathChange* change : ListedChanges(changes)) {
    AGENTFS_ASSIGN(const LineCounts lines, CountLines(*views.before, *views.after, *change));
    files.push_back({change, lines});
  }
  return files;
}

Result<void> PrintJsonDiff(const Context& context, const Question& question, const Views& views,
                           const std::vector<PathChange>& changes, bool stat) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  if (stat) {
    AGENTFS_ASSIGN(const auto files, CountAll(views, changes));
    for (const FileStat& file : files) {
      list.push_back(ChangeJson(*file.change));
      list.back()["binary"] = file.lines.binary;
      list.back()["insertions"] = file.lines.added;
      list.back()["deletions"] = file.lines.removed;
    }
  } else {
    for (const PathChange* change : ListedChanges(changes)) list.push_back(ChangeJson(*change));
  }
  return context.PrintJson({{"from", question.from},
                            {"to", question.to},
                            {"changes", list},
                            {"summary", CountsJson(changes)}});
}

Result<void> PrintDiff(const Context& context, const DiffOptions& options, const Question& question,
                       const Views& views, const std::vector<PathChange>& changes) {
  if (context.json) return PrintJsonDiff(context, question, views, changes, options.stat);
  if (options.name_status) {
    for (const PathChange* change : ListedChanges(changes)) {
      AGENTFS_TRY(context.Print(StatusLine(*change)));
    }
    return Ok();
  }
  if (!options.stat) return PrintPatch(context, views, changes);
  AGENTFS_ASSIGN(const auto files, CountAll(views, changes));
  return context.Print(StatText(files, TerminalWidth(context), context.UseColor()));
}

}  // namespace

Result<int> RunDiff(Context& context, const DiffOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  bool differs = false;
  {
    AGENTFS_ASSIGN(Question question, Understand(context, *session, options));
    for (const std::string& ref : {question.from, question.to}) {
      AGENTFS_TRY(session->operations().FlushPages(ref));
    }
    AGENTFS_ASSIGN(const Views views, OpenViews(session->volume(), question.from, question.to));
    AGENTFS_TRY(FindPaths(context, session->workspace().layout, options, views, question));
    AGENTFS_ASSIGN(const auto changes, FindAll(session->volume(), question));
    differs = !changes.empty();
    AGENTFS_TRY(PrintDiff(context, options, question, views, changes));
  }
  AGENTFS_TRY(session->Close());
  return options.exit_code && differs ? kNo : kDone;
}

}  // namespace agentfs::cli
