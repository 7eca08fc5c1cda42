// SPDX-License-Identifier: Apache-2.0
#include "workspace/further_names.h"

#include <sys/stat.h>

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "workspace/file_content.h"
#include "workspace/locate.h"

namespace agentfs {
namespace {

using Nodes = absl::flat_hash_set<NodeId>;

// A name that goes, or comes, changes its ctime alone.
Result<bool> IsOther(FileSystem& before, FileSystem& after, const Touched::Node& item) {
  const Result<NodeRef> was = before.GetNode(item.node, item.base_path);
  const Result<NodeRef> is = after.GetNode(item.node, item.base_path);
  if (!was.ok() || !is.ok()) return false;
  const Result<Attr> was_so = before.GetAttr(**was), is_so = after.GetAttr(**is);
  if (!was_so.ok() || !is_so.ok()) return false;  // it has moved in the base, or gone
  const Attr &a = *was_so, &b = *is_so;
  if (S_ISDIR(b.mode) || a.nlink <= 1 || b.nlink == 0) return false;
  if (a.size != b.size || a.mtime != b.mtime || a.mode != b.mode || a.uid != b.uid ||
      a.gid != b.gid) {
    return true;
  }
  AGENTFS_ASSIGN(const auto had, ReadXattrs(before, **was));
  AGENTFS_ASSIGN(const auto has, ReadXattrs(after, **is));
  return had != has;
}

}  // namespace

Result<std::vector<FurtherName>> FindFurtherNames(FileSystem& before, FileSystem& after,
                                                  const Touched& touched) {
  Nodes wanted;
  for (const Touched::Node& item : touched.nodes) {
    AGENTFS_ASSIGN(const bool other, IsOther(before, after, item));
    if (other) wanted.insert(item.node);
  }
  std::vector<FurtherName> found;
  std::vector<NodeRef> left;
  if (!wanted.empty()) left.push_back(after.Root());
  while (!left.empty()) {
    const NodeRef directory = std::move(left.back());
    left.pop_back();
    std::vector<std::string> directories;
    AGENTFS_TRY(after.ReadDirectory(Caller{}, *directory, 0, [&](const DirEntry& entry) {
      const bool ours = directory->id() == kRootNode && entry.name == kStateDirectory;
      if (wanted.contains(entry.node)) found.push_back({directory, std::string(entry.name)});
      if (S_ISDIR(entry.type) && !ours) directories.emplace_back(entry.name);
      return Visit::kContinue;
    }));
    for (const std::string& name : directories) {
      Result<Found> child = after.Lookup(Caller{}, *directory, name);
      if (child.ok()) left.push_back(std::move(child->node));
    }
  }
  return found;
}

}  // namespace agentfs
