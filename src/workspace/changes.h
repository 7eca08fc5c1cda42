// SPDX-License-Identifier: Apache-2.0
//
// What differs between two views of a volume, by path: the one source of diff, apply and summaries.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/filesystem.h"
#include "agentfs/result.h"
#include "agentfs/volume.h"
#include "vfs/outside.h"

namespace agentfs {

// One path whose state differs. A path is in the list once. What was renamed has left its old path
// empty, and was put where nothing was: everything else is said with the other kinds.
struct PathChange {
  enum class Kind : uint8_t { kAdded, kRemoved, kModified, kRenamed };
  Kind kind = Kind::kModified;
  std::string path;      // now; of what was removed: before
  std::string old_path;  // of what was renamed
  // The two states; the node is null where there is none.
  Found before, after;
  // What differs of what is there in both: nothing if only its name does.
  bool content = false;  // bytes, a link's target, the type
  bool mode = false;     // permission bits, owner or group
  bool xattrs = false;

  // Of changes against the base, what they know of it: when the branch took the name, or one above
  // it, from the base (0: it did not, the base had none), and what the file that it changed is
  // there, and looked like then.
  int64_t since_ms = 0;
  std::optional<std::string> base_path = {};
  BaseSignature base_signature = {};

  const Attr& attr() const { return after.node ? after.attr : before.attr; }
  // A file has become a link, a link a directory, ...
  bool type_changed() const;
};

// What stands in the place of another, though that alone is no difference: a directory, or a file
// or link that is the same.
struct StandIn {
  std::string path;
  std::optional<std::string> base_path;  // of a directory: where the base has it, if it does
  NodeId recorded;                       // by which layers know it; null: by none
  bool exchanged = false;                // one of the two was, or is, elsewhere in the tree
};

// What of a volume is compared: the workspace, what lies outside of it (kHostPrefix), or both.
enum class ChangeScope : uint8_t { kWorkspace, kHost, kAll };

// What has to be compared to find the changes at or below `paths`.
ChangeScope ScopeOf(const std::vector<std::string>& paths);

// The paths that differ between the refs `from` and `to` (a branch, a snapshot, "base"), sorted by
// path. Files whose bytes, modes and extended attributes are the same do not differ, whatever was
// done to them; times alone are no difference. Takes time in proportion to what changed, and to the
// content of files that were written; with Effort::kBounded only to the first, because past some
// megabytes content that was written is taken to differ. `moved`, if given, gets what of
// `to` stands in the place of another. ENOENT: a ref.
enum class Effort : uint8_t { kExact, kBounded };
Result<std::vector<PathChange>> FindChanges(Volume& volume, std::string_view from,
                                            std::string_view to,
                                            ChangeScope scope = ChangeScope::kWorkspace,
                                            Effort effort = Effort::kExact,
                                            std::vector<StandIn>* moved = nullptr);

bool IsAtOrBelow(std::string_view path, const std::vector<std::string>& directories);

// Those at or below one of `paths`, all if there are none. What was renamed across the border is
// added or removed.
std::vector<PathChange> SelectPaths(std::vector<PathChange> changes,
                                    const std::vector<std::string>& paths);

// The view of a ref, for reading.
Result<std::shared_ptr<FileSystem>> OpenRef(Volume& volume, std::string_view ref);

// The views that changes are between.
struct Views {
  std::shared_ptr<FileSystem> before, after;
};
Result<Views> OpenViews(Volume& volume, std::string_view from, std::string_view to);

}  // namespace agentfs
