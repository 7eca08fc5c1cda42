// SPDX-License-Identifier: Apache-2.0
#include "workspace/pack.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "workspace/changes.h"
#include "workspace/restore_paths.h"
#include "workspace/standstill.h"

namespace agentfs {
namespace {

constexpr std::string_view kBase = "base";

bool HasOwnName(const SnapshotInfo& snapshot) {
  return snapshot.name != "s" + std::to_string(snapshot.number);
}

// Every path below the root, as added to nothing.
Result<std::vector<PathChange>> Everything(FileSystem& fs) {
  std::vector<PathChange> all;
  struct Directory {
    std::string path;
    NodeRef node;
  };
  std::vector<Directory> open = {{"", fs.Root()}};
  while (!open.empty()) {
    const Directory directory = std::move(open.back());
    open.pop_back();
    AGENTFS_TRY(fs.ReadDirectoryPlus(Caller{}, *directory.node, 0,
                                     [&](const DirEntry& entry, const Found& found) {
                                       PathChange added;
                                       added.kind = PathChange::Kind::kAdded;
                                       added.path = directory.path + "/" + std::string(entry.name);
                                       added.after = found;
                                       added.content = true;
                                       if (S_ISDIR(found.attr.mode))
                                         open.push_back({added.path, found.node});
                                       all.push_back(std::move(added));
                                       return Visit::kContinue;
                                     }));
  }
  std::ranges::sort(all, {}, &PathChange::path);
  return all;
}

class Packer {
 public:
  Packer(Volume& from, Volume& to) : from_(from), to_(to), branches_(from.ListBranches()) {}
  Result<void> Run();

 private:
  // Branches may change meanwhile: each is packed as it is now.
  Result<void> StandStill();
  Result<void> FillBase();
  // Makes the branch of `to`, which is what `before` is in `from`, what `ref` is.
  Result<void> Advance(const std::string& branch, const std::string& before,
                       const std::string& ref);
  // The same from wherever the branch stands, or from the best that is packed already.
  Result<void> AdvanceTo(const std::string& branch, LayerId on, const std::string& ref);
  Result<void> PackSnapshot(const SnapshotInfo& snapshot);

  Volume& from_;
  Volume& to_;
  const std::vector<BranchInfo> branches_;
  std::map<std::string, Standstill> still_;   // by branch
  std::map<std::string, std::string> heads_;  // by branch of `to`: the ref of `from` that it is
  std::map<LayerId, std::string> packed_;     // snapshots by their layer in `from`
};

Result<void> Packer::FillBase() {
  AGENTFS_ASSIGN(const auto base, OpenRef(from_, kBase));
  AGENTFS_ASSIGN(const auto main, to_.OpenBranch(kMainBranch));
  AGENTFS_ASSIGN(const auto all, Everything(*base));
  AGENTFS_TRY(MakeChanges(*main, *base, all));
  AGENTFS_ASSIGN(const SnapshotInfo filled,
                 to_.CreateSnapshot(kMainBranch, "", "", Durability::kNone));
  heads_[std::string(kMainBranch)] = kBase;
  return to_.DeleteSnapshot(filled.name);
}

Result<void> Packer::Advance(const std::string& branch, const std::string& before,
                             const std::string& ref) {
  AGENTFS_ASSIGN(const auto changes, FindChanges(from_, before, ref));
  AGENTFS_ASSIGN(const auto source, OpenRef(from_, ref));
  AGENTFS_ASSIGN(const auto target, to_.OpenBranch(branch));
  AGENTFS_TRY(MakeChanges(*target, *source, changes));
  heads_[branch] = ref;
  return Ok();
}

Result<void> Packer::AdvanceTo(const std::string& branch, LayerId on, const std::string& ref) {
  if (!heads_.contains(branch)) {
    const auto best = packed_.find(on);
    const std::string start = best == packed_.end() ? std::string(kBase) : best->second;
    AGENTFS_TRY(to_.CreateBranch(branch, start));
    heads_[branch] = start;
  }
  return Advance(branch, heads_[branch], ref);
}

Result<void> Packer::PackSnapshot(const SnapshotInfo& snapshot) {
  AGENTFS_TRY(AdvanceTo(snapshot.branch, LayerId(), snapshot.name));
  AGENTFS_TRY(
      to_.CreateSnapshot(snapshot.branch, snapshot.name, snapshot.message, Durability::kNone));
  packed_[snapshot.layer] = snapshot.name;
  return Ok();
}

Result<void> Packer::StandStill() {
  for (const BranchInfo& branch : branches_) {
    AGENTFS_ASSIGN(Standstill still, Standstill::Of(from_, branch.name, "while it is packed"));
    still_.emplace(branch.name, std::move(still));
  }
  return Ok();
}

Result<void> Packer::Run() {
  const auto snapshots = from_.ListSnapshots();
  AGENTFS_TRY(StandStill());
  AGENTFS_TRY(FillBase());
  for (const SnapshotInfo& snapshot : snapshots) {
    if (HasOwnName(snapshot)) AGENTFS_TRY(PackSnapshot(snapshot));
  }
  std::map<std::string, std::string> gone = heads_;
  for (const BranchInfo& branch : branches_) {
    AGENTFS_TRY(AdvanceTo(branch.name, branch.parent, still_.at(branch.name).ref()));
    gone.erase(branch.name);
  }
  // Their snapshots were made in them, and stay.
  for (const auto& [branch, head] : gone) AGENTFS_TRY(to_.DeleteBranch(branch));
  return to_.Flush(Durability::kSynced);
}

}  // namespace

Result<void> PackVolume(Volume& from, Volume& to) { return Packer(from, to).Run(); }

}  // namespace agentfs
