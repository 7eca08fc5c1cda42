// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "adapters/mcp/tools.h"
#include "base/path_glob.h"

namespace agentfs::mcp {
namespace {

using Json = nlohmann::ordered_json;

// An answer over this is of no use, and a model has better ways to ask.
constexpr size_t kMaxEntries = 500'000;

Result<PathGlob> AnchoredGlob(const std::string& pattern) {
  auto glob = PathGlob::Compile("/" + pattern);
  if (!glob.ok()) return Error(EINVAL, "'" + pattern + "': " + glob.error().message());
  return glob;
}

class Globs {
 public:
  Result<void> Add(const std::string& pattern) {
    AGENTFS_ASSIGN(PathGlob glob, AnchoredGlob(pattern));
    globs_.push_back(std::move(glob));
    return Ok();
  }
  // `relative` begins with a slash.
  bool Match(std::string_view relative) const {
    for (const PathGlob& glob : globs_) {
      if (glob.Matches(relative)) return true;
    }
    return false;
  }

 private:
  std::vector<PathGlob> globs_;
};

Result<Globs> ExcludedBy(const Json& arguments) {
  Globs globs;
  for (const Json& each : arguments.value("excludePatterns", Json::array())) {
    AGENTFS_TRY(globs.Add(each.get<std::string>()));
  }
  return globs;
}

// In a tree, what has no star means that name at any depth too.
Result<Globs> ExcludedFromTree(const Json& arguments) {
  Globs globs;
  for (const Json& each : arguments.value("excludePatterns", Json::array())) {
    const std::string pattern = each.get<std::string>();
    AGENTFS_TRY(globs.Add(pattern));
    if (pattern.find('*') != std::string::npos) continue;
    AGENTFS_TRY(globs.Add("**/" + pattern));
  }
  return globs;
}

// Goes through a tree, parents before children, leaving out what is excluded.
class TreeWalk {
 public:
  TreeWalk(ToolCall& call, const Globs& excluded) : call_(call), excluded_(excluded) {}

  using Enter = std::function<Result<void>(const FileEntry& entry, const std::string& relative)>;
  using Leave = std::function<void()>;

  Result<void> Walk(const std::string& path, const std::string& relative, const Enter& enter,
                    const Leave& leave) {
    AGENTFS_ASSIGN(const auto entries, call_.files().ListEntries(path));
    for (const FileEntry& entry : entries) {
      if (call_.stop.stop_requested()) return Error(ECANCELED);
      const std::string below = relative + "/" + entry.name;
      if (excluded_.Match(below)) continue;
      call_.progress.Step();
      if (++visited_ > kMaxEntries) {
        return Error(EFBIG, "EFBIG: more than 500000 entries", "name a smaller directory");
      }
      AGENTFS_TRY(enter(entry, below));
      if (!S_ISDIR(entry.attr.mode)) continue;
      auto walked = Walk(entry.path, below, enter, leave);
      // What may not be read, or has just gone, has nothing to show.
      if (walked.code() == EACCES || walked.code() == ENOENT) walked = Ok();
      if (!walked.ok()) return FileError(walked.error(), call_.paths.ToClient(entry.path));
      leave();
    }
    return Ok();
  }

 private:
  ToolCall& call_;
  const Globs& excluded_;
  size_t visited_ = 0;
};

}  // namespace

Result<Json> DirectoryTree(ToolCall& call) {
  AGENTFS_ASSIGN(const std::string path, call.PathArgument("path"));
  AGENTFS_ASSIGN(const Globs excluded, ExcludedFromTree(call.arguments));
  Json tree = Json::array();
  std::vector<Json> parents;
  TreeWalk walk(call, excluded);
  const auto leave = [&] {
    // The children are complete: they go into their directory, the last of the level above.
    Json children = std::move(tree);
    tree = std::move(parents.back());
    parents.pop_back();
    tree.back()["children"] = std::move(children);
  };
  const auto enter = [&](const FileEntry& entry, const std::string&) {
    const bool directory = S_ISDIR(entry.attr.mode);
    tree.push_back({{"name", entry.name}, {"type", directory ? "directory" : "file"}});
    if (directory) {
      parents.push_back(std::move(tree));
      tree = Json::array();
    }
    return Ok();
  };
  const auto walked = walk.Walk(path, "", enter, leave);
  if (!walked.ok()) return FileError(walked.error(), call.paths.ToClient(path));
  return TextResult(tree.dump(2, ' ', false, Json::error_handler_t::replace));
}

Result<Json> SearchFiles(ToolCall& call) {
  AGENTFS_ASSIGN(const std::string path, call.PathArgument("path"));
  AGENTFS_ASSIGN(const Globs excluded, ExcludedBy(call.arguments));
  Globs wanted;
  AGENTFS_TRY(wanted.Add(call.arguments.at("pattern").get<std::string>()));
  std::string text;
  TreeWalk walk(call, excluded);
  const auto enter = [&](const FileEntry& entry, const std::string& relative) {
    if (!wanted.Match(relative)) return Ok();
    if (!text.empty()) text += '\n';
    text += call.paths.ToClient(entry.path);
    return Ok();
  };
  const auto walked = walk.Walk(path, "", enter, [] {});
  if (!walked.ok()) return FileError(walked.error(), call.paths.ToClient(path));
  return TextResult(text.empty() ? "No matches found" : std::move(text));
}

}  // namespace agentfs::mcp
