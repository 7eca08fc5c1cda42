// SPDX-License-Identifier: Apache-2.0
//
// access(2), statfs(2), fsync(2).
#include <unistd.h>

#include "posix_test.h"

namespace agentfs::posix {
namespace {

class AccessTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(AccessTest);
class StatFsTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(StatFsTest);
class SyncTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(SyncTest);

TEST_P(AccessTest, EveryModeOfEveryClass) {
  NEEDS_OTHERS();
  for (uint32_t bits = 0; bits < 8; ++bits) {
    const std::string name = "f" + std::to_string(bits);
    Value(setup().WriteFile(name, ""));
    Value(setup().Chown(name, kAlice.uid, kTeam));
    Value(setup().Chmod(name, bits << 6 | (bits ^ 7) << 3 | bits));
  }
  const auto check = [&](const Identity& who, const std::string& name, uint32_t bits) {
    As as(fs(), who);
    for (int mask = 0; mask < 8; ++mask) {
      const bool allowed = (static_cast<uint32_t>(mask) & ~bits) == 0;
      EXPECT_EQ(fs().Access(name, mask).code(), allowed ? 0 : EACCES)
          << name << " mask " << mask << " uid " << who.uid;
    }
  };
  for (uint32_t bits = 0; bits < 8; ++bits) {
    const std::string name = "f" + std::to_string(bits);
    check(kAlice, name, bits);
    check(kBobInTeam, name, bits ^ 7);
    check(kBob, name, bits);
  }
}

TEST_P(AccessTest, RootExecutesOnlyWhatSomebodyMay) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("plain", ""));
  Value(setup().Chmod("plain", 0));
  Value(setup().WriteFile("program", ""));
  Value(setup().Chmod("program", 0001));
  Value(setup().MakeDirectory("d"));
  Value(setup().Chmod("d", 0));
  EXPECT_OK(fs().Access("plain", R_OK | W_OK));
  EXPECT_ERRNO(fs().Access("plain", X_OK), EACCES);
  EXPECT_OK(fs().Access("program", R_OK | W_OK | X_OK));
  EXPECT_OK(fs().Access("d", R_OK | W_OK | X_OK));
}

TEST_P(AccessTest, MissingAndUnreachable) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/f", ""));
  Value(setup().Chmod("d", 0700));
  EXPECT_ERRNO(fs().Access("missing", F_OK), ENOENT);
  EXPECT_OK(fs().Access("d/f", F_OK));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().Access("d/f", F_OK), EACCES);
}

TEST_P(StatFsTest, Figures) {
  const FsStats stats = Value(fs().StatFs());
  EXPECT_EQ(stats.name_max, 255u);
  EXPECT_GE(stats.block_size, 512u);
  EXPECT_GT(stats.blocks, 0u);
  EXPECT_LE(stats.blocks_free, stats.blocks);
  EXPECT_LE(stats.blocks_available, stats.blocks_free);
  EXPECT_LE(stats.files_free, stats.files);
}

TEST_P(SyncTest, FilesAndDirectories) {
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/f", Pattern(70000)));
  auto file = Open("d/f", O_RDWR);
  Value(file->Write(100, "synced"));
  EXPECT_OK(file->Sync());
  EXPECT_OK(Open("d", O_RDONLY)->Sync());
  EXPECT_OK(Open("d/f", O_RDONLY)->Sync());
  EXPECT_EQ(Content("d/f").substr(100, 6), "synced");
  EXPECT_OK(fs().Unlink("d/f"));
  EXPECT_OK(file->Sync());
}

}  // namespace
}  // namespace agentfs::posix
