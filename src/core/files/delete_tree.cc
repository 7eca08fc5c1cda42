// SPDX-License-Identifier: Apache-2.0
#include "core/files/delete_tree.h"

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <atomic>
#include <random>
#include <utility>
#include <vector>

#include "core/files/tree_walker.h"

namespace agentfs {
namespace {

constexpr int kNameAttempts = 16;
constexpr size_t kTemporaryDigits = 16;

// In the temporary names of this process, and most likely of no other.
uint32_t ProcessMark() {
  static const uint32_t mark = std::random_device{}();
  return mark;
}

// Gone already is as good as removed.
Result<void> Gone(Result<void> removed, std::string_view path) {
  if (removed.ok() || removed.code() == ENOENT) return Ok();
  return AtPath(removed.error(), "cannot delete", path);
}

// Gives the caller, who owns them, all rights in the directories of a tree.
void OpenUp(FileSystem& fs, const Caller& caller, NodeRef start) {
  std::vector<NodeRef> pending{std::move(start)};
  absl::flat_hash_set<NodeId> seen;  // in a damaged tree one may come again
  while (!pending.empty()) {
    NodeRef directory = std::move(pending.back());
    pending.pop_back();
    AttrChange change;
    change.mode = 0700;
    (void)fs.SetAttr(caller, *directory, change);
    (void)fs.ReadDirectoryPlus(caller, *directory, 0, [&](const DirEntry&, const Found& child) {
      const bool directory = S_ISDIR(child.attr.mode);
      if (directory && seen.insert(child.node->id()).second) pending.push_back(child.node);
      return Visit::kContinue;
    });
  }
}

}  // namespace

void DiscardTree(FileSystem& fs, const Caller& caller, Node& parent, std::string_view name) {
  Result<Found> found = fs.Lookup(caller, parent, name);
  if (!found.ok()) return;
  if (caller.uid != 0 && S_ISDIR(found->attr.mode)) OpenUp(fs, caller, found->node);
  found->node = NodeRef();
  (void)DeleteTree(fs, caller, parent, name, {});
}

Result<void> DeleteTree(FileSystem& fs, const Caller& caller, Node& parent, std::string_view name,
                        const std::stop_token& stop) {
  AGENTFS_ASSIGN(Found start, fs.Lookup(caller, parent, name));
  const bool is_directory = S_ISDIR(start.attr.mode);
  TreeWalker walker(fs, caller, std::move(start));
  for (;;) {
    if (stop.stop_requested()) return Error(ECANCELED);
    AGENTFS_ASSIGN(TreeWalker::Event event, walker.Next());
    if (event == TreeWalker::Event::kEnd) break;
    if (walker.parent() == nullptr) continue;
    if (event == TreeWalker::Event::kLeave) {
      AGENTFS_TRY(Gone(fs.RemoveDirectory(caller, *walker.parent(), walker.name()), walker.path()));
    } else if (!S_ISDIR(walker.found().attr.mode)) {
      AGENTFS_TRY(Gone(fs.Unlink(caller, *walker.parent(), walker.name()), walker.path()));
    }
  }
  return Gone(
      is_directory ? fs.RemoveDirectory(caller, parent, name) : fs.Unlink(caller, parent, name),
      name);
}

std::string TemporaryName(std::string_view prefix) {
  static std::atomic<uint32_t> counter{0};
  return fmt::format("{}{:08x}{:08x}", prefix, ProcessMark(), counter.fetch_add(1));
}

void DiscardAbandoned(FileSystem& fs, const Caller& caller, Node& parent, std::string_view prefix) {
  const std::string ours = fmt::format("{}{:08x}", prefix, ProcessMark());
  std::vector<std::string> names;
  (void)fs.ReadDirectory(caller, parent, 0, [&](const DirEntry& entry) {
    const std::string_view name = entry.name;
    const bool temporary =
        name.size() == prefix.size() + kTemporaryDigits && name.starts_with(prefix) &&
        name.find_first_not_of("0123456789abcdef", prefix.size()) == std::string_view::npos;
    if (temporary && entry.type == S_IFDIR && !name.starts_with(ours)) names.emplace_back(name);
    return Visit::kContinue;
  });
  for (const std::string& name : names) DiscardTree(fs, caller, parent, name);
}

Result<TemporaryDirectory> MakeTemporaryDirectory(FileSystem& fs, const Caller& caller,
                                                  Node& parent, std::string_view prefix) {
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    std::string name = TemporaryName(prefix);
    Result<Found> made = fs.MakeDirectory(caller, parent, name, 0700);
    if (made.ok()) return TemporaryDirectory{std::move(name), std::move(*made)};
    if (made.code() != EEXIST) return std::move(made).error();
  }
  return Error(EEXIST);
}

}  // namespace agentfs
