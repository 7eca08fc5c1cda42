// SPDX-License-Identifier: Apache-2.0
#include "volume_exercise.h"

#include <string>

#include "agentfs/files.h"
#include "require.h"

namespace agentfs {
namespace {

void ReadEverything(std::shared_ptr<FileSystem> fs) {
  Files files(std::move(fs));
  uint64_t left = 2000;  // entries: a damaged tree may be a large one
  (void)files.Walk("/", [&](const FileEntry& entry) {
    (void)files.Entry(entry.path);
    (void)files.ReadSymlink(entry.path);
    if (Result<Found> found = files.Resolve(entry.path, FollowLinks::kNo); found.ok()) {
      char bytes[5000];
      (void)files.filesystem()->Read(*found->node, 0, bytes);
      (void)files.filesystem()->Read(*found->node, found->attr.size / 2, bytes);
      (void)files.filesystem()->ListXattrs({}, *found->node);
    }
    return --left == 0 ? Visit::kStop : Visit::kContinue;
  });
}

void ReadAllRefs(Volume& volume) {
  for (const BranchInfo& branch : volume.ListBranches()) {
    if (auto view = volume.OpenBranch(branch.name); view.ok()) ReadEverything(std::move(*view));
    (void)volume.GetViewStats(branch.name);
  }
  for (const SnapshotInfo& snapshot : volume.ListSnapshots()) {
    if (auto view = volume.OpenSnapshot(snapshot.name); view.ok()) ReadEverything(std::move(*view));
  }
  (void)volume.GetStats();
}

}  // namespace

void FillVolume(Volume& volume) {
  Files files(volume.OpenBranch(kMainBranch).value());
  REQUIRE(files.CreateDirectories("/d/e").ok());
  REQUIRE(files.WriteBytes("/d/file", "content").ok());
  REQUIRE(files.WriteBytes("/d/e/larger", std::string(9000, 'x')).ok());
  REQUIRE(files.CreateHardLink("/d/file", "/linked").ok());
  REQUIRE(files.CreateSymlink("/soft", "d/file").ok());
  Node& node = *files.Resolve("/d/file").value().node;
  REQUIRE(files.filesystem()->SetXattr({}, node, "user.x", "value", XattrMode::kSet).ok());
  REQUIRE(volume.CreateSnapshot(kMainBranch, "first", "message", Durability::kNone).ok());
  REQUIRE(files.WriteBytes("/d/file", "changed").ok());
  REQUIRE(files.Delete("/d/e", Recursion::kYes).ok());
  REQUIRE(volume.CreateBranch("other", "first").ok());
}

void ExerciseVolume(Volume& volume) {
  ReadAllRefs(volume);
  (void)volume.Check(false);
  (void)volume.Check(true);
  ReadAllRefs(volume);
  (void)volume.CreateSnapshot(kMainBranch, "after", "", Durability::kNone);
  (void)volume.CollectGarbage();
  (void)volume.Close();
}

}  // namespace agentfs
