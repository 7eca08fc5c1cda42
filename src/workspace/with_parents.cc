// SPDX-License-Identifier: Apache-2.0
#include "workspace/with_parents.h"

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "agentfs/path.h"

namespace agentfs {

std::vector<PathChange> WithParents(const std::vector<PathChange>& all,
                                    std::vector<PathChange> selected) {
  if (selected.size() == all.size()) return selected;
  absl::flat_hash_map<std::string_view, const PathChange*> directories;
  for (const PathChange& change : all) {
    const bool here = change.before.node && S_ISDIR(change.before.attr.mode);
    const bool comes = change.after.node && S_ISDIR(change.after.attr.mode);
    if (comes && (!here || !change.old_path.empty())) directories[change.path] = &change;
  }
  absl::flat_hash_set<std::string> known;
  for (const PathChange& change : selected) known.insert(change.path);
  for (size_t i = 0; i < selected.size(); ++i) {
    if (!selected[i].after.node) continue;
    const std::string parent(ParentPath(selected[i].path));
    const auto it = directories.find(parent);
    if (it == directories.end() || !known.insert(parent).second) continue;
    selected.push_back(*it->second);
    if (selected.back().kind != PathChange::Kind::kRenamed) continue;
    selected.back().kind = PathChange::Kind::kAdded;
    selected.back().old_path.clear();
    selected.back().before = Found();
  }
  std::sort(selected.begin(), selected.end(),
            [](const PathChange& a, const PathChange& b) { return a.path < b.path; });
  return selected;
}

}  // namespace agentfs
