// SPDX-License-Identifier: Apache-2.0
#include "core/files/tree_walker.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace agentfs {

Result<std::vector<std::string>> SortedNames(FileSystem& fs, const Caller& caller,
                                             Node& directory) {
  AGENTFS_TRY(fs.Open(caller, directory, O_RDONLY | O_DIRECTORY));
  std::vector<std::string> names;
  AGENTFS_TRY(fs.ReadDirectory(caller, directory, 0, [&](const DirEntry& entry) {
    names.emplace_back(entry.name);
    return Visit::kContinue;
  }));
  std::sort(names.begin(), names.end());
  return names;
}

Error AtPath(const Error& error, std::string_view what, std::string_view path) {
  std::string context(what);
  context.append(" '").append(path).append("'");
  return error.WithContext(context);
}

TreeWalker::TreeWalker(FileSystem& fs, const Caller& caller, Found start)
    : fs_(fs), caller_(caller), current_(std::move(start)) {}

Result<TreeWalker::Event> TreeWalker::Next() {
  if (!started_) {
    started_ = true;
    if (S_ISDIR(current_.attr.mode)) AGENTFS_TRY(Enter());
    return Event::kEnter;
  }
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.names.empty()) return Leave();
    name_ = std::move(level.names.back());
    level.names.pop_back();
    path_.resize(level.path_size);
    if (!path_.empty()) path_ += '/';
    path_ += name_;
    parent_ = level.directory.node.get();
    Result<Found> found = fs_.Lookup(caller_, *parent_, name_);
    if (found.code() == ENOENT) continue;
    if (!found.ok()) return AtPath(found.error(), "cannot look at", path_);
    current_ = std::move(*found);
    if (S_ISDIR(current_.attr.mode)) AGENTFS_TRY(Enter());
    return Event::kEnter;
  }
  return Event::kEnd;
}

Result<void> TreeWalker::Enter() {
  AGENTFS_TRY(trail_.Enter(current_.node->id(), path_));
  Result<std::vector<std::string>> names = SortedNames(fs_, caller_, *current_.node);
  if (!names.ok()) return AtPath(names.error(), "cannot list", path_);
  std::reverse(names->begin(), names->end());
  levels_.push_back({current_, name_, std::move(*names), path_.size()});
  return Ok();
}

TreeWalker::Event TreeWalker::Leave() {
  Level level = std::move(levels_.back());
  levels_.pop_back();
  current_ = std::move(level.directory);
  trail_.Leave(current_.node->id());
  name_ = std::move(level.name);
  path_.resize(level.path_size);
  parent_ = levels_.empty() ? nullptr : levels_.back().directory.node.get();
  return Event::kLeave;
}

}  // namespace agentfs
