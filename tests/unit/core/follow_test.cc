// SPDX-License-Identifier: Apache-2.0
//
// Paths that a branch gives back to the base, and what it remembers of the base meanwhile.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/originals.h"
#include "core_rig.h"

namespace agentfs {
namespace {

class FollowTest : public CoreTest, public testing::WithParamInterface<bool> {
 protected:
  void OpenSmallBase() {
    BaseDirectory("d");
    BaseFile("d/f", "base");
    BaseFile("g", "other");
    OpenOverBase(Backing::kSqlite);
  }
  // With the parameter, what the branch has is in a sealed layer.
  void MaybeSeal() {
    if (GetParam()) Get(volume().CreateSnapshot("main", "", "", Durability::kNone));
  }
  void Follow(std::vector<std::string> paths, FollowMode mode = FollowMode::kUnlessUsed) {
    Get(volume().FollowBase("main", paths, mode));
  }
  size_t Differences() {
    const Touched touched = Get(volume().TouchedBetween("base", "main"));
    return touched.names.size();
  }
  bool HasOriginal(posix::Subject& fs, const std::string& path, std::string_view wanted) {
    auto original = fs.GetXattr(path, std::string(kOriginalXattr));
    return original.ok() && *original == wanted;
  }
};

TEST_P(FollowTest, AChangedFileIsTheBasesAgain) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->WriteFile("d/f", "branch"));
  Get(fs->SetXattr("d/f", "user.x", "1"));
  MaybeSeal();
  Follow({"/d/f"});
  EXPECT_EQ(Get(fs->ReadFile("d/f")), "base");
  EXPECT_EQ(fs->GetXattr("d/f", "user.x").code(), ENODATA);
  BaseFile("d/f", "changed later");
  EXPECT_EQ(Get(fs->ReadFile("d/f")), "changed later");
  Get(fs->WriteFile("d/f", "branch again"));
  EXPECT_EQ(fs->GetXattr("d/f", "user.x").code(), ENODATA);
  fs.reset();
  Reopen();
  EXPECT_EQ(Get(Branch()->ReadFile("d/f")), "branch again");
  EXPECT_EQ(Branch()->GetXattr("d/f", "user.x").code(), ENODATA);
  ExpectClean();
}

TEST_P(FollowTest, ARemovedFileIsThereAgain) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->Unlink("d/f"));
  Get(fs->RemoveDirectory("d"));
  Get(fs->Unlink("g"));
  MaybeSeal();
  Follow({"/d", "/d/f", "/g"});
  EXPECT_EQ(Get(fs->ReadFile("d/f")), "base");
  EXPECT_EQ(Get(fs->ReadFile("g")), "other");
  // Made and removed again: what older layers say of the name stays forgotten.
  Get(fs->Unlink("g"));
  ::unlink(base("g").c_str());
  Follow({"/g"});
  Get(fs->WriteFile("g", "new"));
  Get(fs->Unlink("g"));
  EXPECT_EQ(fs->Stat("g").code(), ENOENT);
  fs.reset();
  Reopen();
  EXPECT_EQ(Branch()->Stat("g").code(), ENOENT);
  EXPECT_EQ(Get(Branch()->ReadFile("d/f")), "base");
  ExpectClean();
}

TEST_P(FollowTest, WhatWasPutIntoTheBaseIsItsOwnThen) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->MakeDirectory("new"));
  Get(fs->WriteFile("new/file", "made"));
  Get(fs->WriteFile("temporary", "replaced"));
  Get(fs->Rename("temporary", "g"));
  MaybeSeal();
  BaseDirectory("new");
  BaseFile("new/file", "made");
  BaseFile("new/other", "appeared");
  ::unlink(base("g").c_str());
  BaseFile("g", "replaced");
  Follow({"/g", "/new", "/new/file"});
  EXPECT_EQ(Get(fs->ReadFile("new/file")), "made");
  EXPECT_EQ(Get(fs->ReadFile("new/other")), "appeared");
  BaseFile("new/file", "later");
  BaseFile("g", "later too");
  EXPECT_EQ(Get(fs->ReadFile("new/file")), "later");
  EXPECT_EQ(Get(fs->ReadFile("g")), "later too");
  fs.reset();
  Reopen();
  EXPECT_EQ(Get(Branch()->ReadFile("new/file")), "later");
  EXPECT_EQ(Get(Branch()->ReadFile("g")), "later too");
  ExpectClean();
}

TEST_P(FollowTest, SnapshotsKeepWhatTheyHad) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->WriteFile("d/f", "branch"));
  Get(fs->Unlink("g"));
  Get(volume().CreateSnapshot("main", "before", "", Durability::kNone));
  Follow({"/d/f", "/g"});
  EXPECT_EQ(Get(fs->ReadFile("d/f")), "base");
  EXPECT_EQ(Get(Snapshot("before")->ReadFile("d/f")), "branch");
  EXPECT_EQ(Snapshot("before")->Stat("g").code(), ENOENT);
  Get(volume().Restore("main", "before"));
  EXPECT_EQ(Get(fs->ReadFile("d/f")), "branch");
  fs.reset();
  Get(volume().CollectGarbage());
  ExpectClean();
}

TEST_P(FollowTest, WhatIsNewerOrInUseStays) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->WriteFile("open", "1"));
  Get(fs->WriteFile("newer", "1"));
  Get(fs->WriteFile("idle", "1"));
  Get(volume().CreateSnapshot("main", "", "", Durability::kNone));
  auto handle = Get(fs->Open("open", O_RDWR));
  Get(fs->WriteFile("newer", "2"));
  for (const char* name : {"open", "newer", "idle"}) BaseFile(name, "1");
  Follow({"/idle", "/newer", "/open"}, FollowMode::kUnlessNewer);
  Get(handle->Write(0, "written"));
  EXPECT_EQ(Get(fs->ReadFile("open")), "written");
  EXPECT_EQ(Get(fs->ReadFile("newer")), "2");
  BaseFile("idle", "base's");
  EXPECT_EQ(Get(fs->ReadFile("idle")), "base's");
  handle.reset();
  fs.reset();
  ExpectClean();
}

TEST_P(FollowTest, WhatTheBaseHasNowCanBeAccepted) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->WriteFile("d/f", "branch"));
  Get(fs->Unlink("g"));
  MaybeSeal();
  ::chmod(base("d/f").c_str(), 0600);
  Follow({"/d/f", "/g"}, FollowMode::kAccept);
  EXPECT_EQ(Get(fs->ReadFile("d/f")), "branch");
  EXPECT_EQ(fs->Stat("g").code(), ENOENT);
  struct stat st;
  ASSERT_EQ(::stat(base("d/f").c_str(), &st), 0);
  bool found = false;
  for (const Touched::Node& node : Get(volume().TouchedBetween("base", "main")).nodes) {
    if (node.base_path != "d/f") continue;
    found = true;
    EXPECT_EQ(node.signature.ctime.nsec, static_cast<uint32_t>(st.st_ctim.tv_nsec));
  }
  EXPECT_TRUE(found);
  fs.reset();
  ExpectClean();
}

TEST_P(FollowTest, HardLinksAreGivenBackNameByName) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->WriteFile("a", "linked"));
  Get(fs->Link("a", "b"));
  MaybeSeal();
  BaseFile("a", "linked");
  Follow({"/a", "/b"});
  EXPECT_EQ(Get(fs->ReadFile("b")), "linked");
  EXPECT_EQ(Get(fs->Stat("b")).nlink, 1u);
  fs.reset();
  ExpectClean();
}

TEST_P(FollowTest, RemembersWhenANameWasTakenFromTheBase) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->WriteFile("new", "x"));
  Get(fs->Unlink("g"));
  MaybeSeal();
  const Touched touched = Get(volume().TouchedBetween("base", "main"));
  for (const Touched::Name& name : touched.names) {
    EXPECT_EQ(name.since_ms != 0, name.name == "g") << name.name;
  }
  Get(fs->WriteFile("g", "again"));
  EXPECT_EQ(Get(volume().TouchedBetween("base", "main")).names.size(), 2u);
}

TEST_P(FollowTest, KeepsTheOriginalOfTextThatIsReplaced) {
  OpenSmallBase();
  auto fs = Branch();
  Get(fs->WriteFile("d/f", "branch"));
  EXPECT_TRUE(HasOriginal(*fs, "d/f", std::string("d/f\0base", 8)));
  Get(fs->WriteFile("temporary", "saved"));
  Get(fs->Rename("temporary", "g"));
  EXPECT_TRUE(HasOriginal(*fs, "g", std::string("g\0other", 7)));
  MaybeSeal();
  Get(fs->WriteFile("temporary", "saved again"));
  Get(fs->Rename("temporary", "g"));
  EXPECT_TRUE(HasOriginal(*fs, "g", std::string("g\0other", 7)));
  EXPECT_TRUE(Get(fs->ListXattrs("g")).empty());
  EXPECT_EQ(fs->SetXattr("g", std::string(kOriginalXattr), "x").code(), EOPNOTSUPP);
  Get(fs->Unlink("g"));
  Get(fs->Unlink("d/f"));
  fs.reset();
  Reopen();
  ExpectClean();
}

INSTANTIATE_TEST_SUITE_P(Layers, FollowTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Sealed" : "Open"; });

}  // namespace
}  // namespace agentfs
