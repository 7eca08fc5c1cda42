// SPDX-License-Identifier: Apache-2.0
//
// The overlay rules of the design, each by its number.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/content_layout.h"
#include "core_rig.h"

namespace agentfs {
namespace {

using posix::Pattern;
using posix::TimeChange;

struct stat HostStat(const std::string& path) {
  struct stat found {};
  EXPECT_EQ(::lstat(path.c_str(), &found), 0) << path;
  return found;
}

class OverlayTest : public CoreTest {
 protected:
  uint64_t StoredBytes() {
    Flush();
    return Get(volume().GetStats()).stored_bytes;
  }
  size_t ContentRows() { return Rows(tables::kData) + Rows(tables::kSpans); }
  std::vector<std::string> Names(posix::Subject& fs, const std::string& path) {
    std::vector<std::string> names;
    for (const auto& entry : Get(fs.List(path))) names.push_back(entry.name);
    std::sort(names.begin(), names.end());
    return names;
  }
};

TEST_F(OverlayTest, Rule1ReadsCreateNothing) {
  BaseDirectory("d/e");
  BaseFile("d/small", "content");
  BaseFile("d/big", Pattern(300'000));
  std::filesystem::create_symlink("d/small", base("link"));
  OpenOverBase();
  auto fs = Branch();
  const size_t rows = AllRows();
  std::vector<struct stat> before;
  for (const char* path : {"d", "d/e", "d/small", "d/big", "link"}) {
    before.push_back(HostStat(base(path)));
  }
  const uint64_t written = RowsWritten([&] {
    EXPECT_EQ(Names(*fs, ""), (std::vector<std::string>{"d", "link"}));
    EXPECT_EQ(Names(*fs, "d"), (std::vector<std::string>{"big", "e", "small"}));
    EXPECT_EQ(Get(fs->ReadFile("d/small")), "content");
    EXPECT_EQ(Get(fs->ReadFile("link")), "content");
    EXPECT_EQ(Get(fs->ReadFile("d/big")), Pattern(300'000));
    EXPECT_EQ(Get(fs->ReadLink("link")), "d/small");
    EXPECT_EQ(Get(fs->Stat("d/big")).size, 300'000u);
    EXPECT_EQ(fs->Stat("nothing").code(), ENOENT);
    EXPECT_TRUE(fs->ListXattrs("d/small").ok());
    EXPECT_TRUE(fs->Access("d/small", R_OK).ok());
    EXPECT_TRUE(fs->StatFs().ok());
    auto file = Get(fs->Open("d/big", O_RDONLY));
    EXPECT_EQ(Get(file->Seek(0, SeekTarget::kData)), 0u);
    Get(file->Sync());
  });
  EXPECT_EQ(written, 0u);
  EXPECT_EQ(AllRows(), rows);
  EXPECT_EQ(Objects(), 0u);
  size_t i = 0;
  for (const char* path : {"d", "d/e", "d/small", "d/big", "link"}) {
    const struct stat after = HostStat(base(path));
    EXPECT_EQ(after.st_mtim.tv_nsec, before[i].st_mtim.tv_nsec) << path;
    EXPECT_EQ(after.st_ctim.tv_nsec, before[i].st_ctim.tv_nsec) << path;
    ++i;
  }
}

TEST_F(OverlayTest, Rule1ChangesLeaveTheBaseUntouched) {
  BaseFile("f", "old");
  BaseFile("gone", "x");
  BaseDirectory("d");
  OpenOverBase();
  auto fs = Branch();
  Get(fs->WriteFile("f", "new"));
  Get(fs->Unlink("gone"));
  Get(fs->Rename("d", "moved"));
  Get(fs->WriteFile("moved/in", "y"));
  Flush();
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(base(""))) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"d", "f", "gone"}));
  EXPECT_EQ(HostStat(base("f")).st_size, 3);
}

TEST_F(OverlayTest, Rule2AChangeOfContentCopiesOnlyWhatItMust) {
  const std::string content = Pattern(16 << 20);
  for (const bool single_file : {false, true}) {
    options_.single_file = single_file;
    BaseFile("big", content);
    OpenOverBase();
    auto fs = Branch();
    Get(Get(fs->Open("big", O_WRONLY | O_APPEND))->Append("!"));
    EXPECT_LE(StoredBytes(), 64u * 1024) << "one chunk";
    EXPECT_GT(StoredBytes(), 0u);
    EXPECT_EQ(Get(fs->ReadFile("big")), content + "!");
    Get(Get(fs->Open("big", O_WRONLY))->Write(5'000'000, "?"));
    EXPECT_LE(StoredBytes(), 2 * ContentLayout::For(options_).chunk_size);
    std::string expected = content + "!";
    expected[5'000'000] = '?';
    EXPECT_EQ(Get(fs->ReadFile("big")), expected);
    ExpectClean();
    fs.reset();
    Close();
  }
}

TEST_F(OverlayTest, Rule2ShrinkingAndGrowingABaseFileShowsZerosNotTheBase) {
  const std::string content = Pattern(300'000);
  for (const bool single_file : {false, true}) {
    options_.single_file = single_file;
    BaseFile("big", content);
    OpenOverBase();
    auto fs = Branch();
    Get(fs->Truncate("big", 100'001));
    Get(fs->Truncate("big", 300'000));
    EXPECT_EQ(Get(fs->ReadFile("big")), content.substr(0, 100'001) + std::string(199'999, '\0'));
    fs.reset();
    Close();
  }
}

TEST_F(OverlayTest, Rule3MetadataChangesCopyNoContent) {
  const std::string content = Pattern(200'000);
  for (const char* name : {"chmod", "chown", "times", "xattr", "rename", "link"}) {
    BaseFile(name, content);
  }
  OpenOverBase();
  auto fs = Branch();
  Get(fs->Chmod("chmod", 0600));
  Get(fs->Chown("chown", 5, 6));
  Get(fs->SetTimes("times", TimeChange::Set(1), TimeChange::Set(2)));
  Get(fs->SetXattr("xattr", "user.a", "b"));
  Get(fs->Rename("rename", "renamed"));
  Get(fs->Link("link", "link2"));
  EXPECT_EQ(ContentRows(), 0u);
  EXPECT_EQ(StoredBytes(), 0u);
  EXPECT_EQ(Objects(), 0u);
  for (const char* name : {"chmod", "chown", "times", "xattr", "renamed", "link", "link2"}) {
    EXPECT_EQ(Get(fs->ReadFile(name)), content) << name;
  }
  EXPECT_EQ(Get(fs->Stat("chmod")).mode & 07777, 0600u);
  EXPECT_EQ(Get(fs->Stat("chown")).uid, 5u);
  EXPECT_EQ(Get(fs->Stat("times")).mtime.sec, 2);
  EXPECT_EQ(Get(fs->GetXattr("xattr", "user.a")), "b");
  EXPECT_EQ(fs->Stat("rename").code(), ENOENT);
  EXPECT_EQ(Get(fs->Stat("link2")).nlink, 2u);
  ExpectClean();
}

TEST_F(OverlayTest, Rule3RenameOfABaseDirectoryOfTenThousandFilesIsConstant) {
  BaseDirectory("tree");
  for (int i = 0; i < 10'000; ++i) BaseFile("tree/f" + std::to_string(i), "x");
  OpenOverBase();
  auto fs = Branch();
  const uint64_t written = RowsWritten([&] { Get(fs->Rename("tree", "moved")); });
  EXPECT_LE(written, 16u) << "entries, the nodes of three directories, counters";
  EXPECT_EQ(fs->Stat("tree").code(), ENOENT);
  EXPECT_EQ(fs->Stat("tree/f5").code(), ENOENT);
  EXPECT_EQ(Get(fs->List("moved")).size(), 10'000u);
  // What the host changes later shows at the new place only.
  BaseFile("tree/f5", "changed by the host");
  BaseFile("tree/new", "made by the host");
  EXPECT_EQ(Get(fs->ReadFile("moved/f5")), "changed by the host");
  EXPECT_EQ(Get(fs->ReadFile("moved/new")), "made by the host");
  EXPECT_EQ(fs->Stat("tree/new").code(), ENOENT);
  EXPECT_EQ(fs->Stat("tree").code(), ENOENT);
  // And what is changed here.
  Get(fs->WriteFile("moved/f6", "changed here"));
  EXPECT_EQ(Get(fs->ReadFile("moved/f6")), "changed here");
  EXPECT_EQ(HostStat(base("tree/f6")).st_size, 1);
  ExpectClean();
}

TEST_F(OverlayTest, Rule4CopyUpKeepsModeOwnerTimesAndXattrs) {
  BaseFile("f", "content");
  ASSERT_EQ(::chmod(base("f").c_str(), 0751), 0);
  const timespec times[2] = {{1000, 11}, {2000, 22}};
  ASSERT_EQ(::utimensat(AT_FDCWD, base("f").c_str(), times, 0), 0);
  const bool xattrs = ::setxattr(base("f").c_str(), "user.k", "v", 1, 0) == 0;
  OpenOverBase();
  auto fs = Branch();
  const Attr before = Get(fs->Stat("f"));
  Get(fs->SetXattr("f", "user.new", "n"));
  const Attr after = Get(fs->Stat("f"));
  EXPECT_EQ(after.mode, before.mode);
  EXPECT_EQ(after.uid, before.uid);
  EXPECT_EQ(after.gid, before.gid);
  EXPECT_EQ(after.size, before.size);
  EXPECT_EQ(after.mtime.sec, 2000);
  EXPECT_EQ(after.mtime.nsec, 22u);
  EXPECT_EQ(after.atime.sec, 1000);
  EXPECT_TRUE(after.btime == before.btime);
  if (xattrs) {
    EXPECT_EQ(Get(fs->GetXattr("f", "user.k")), "v");
  }
  EXPECT_EQ(Get(fs->GetXattr("f", "user.new")), "n");
}

TEST_F(OverlayTest, Rule4PoliciesSayWhichModeACopyGets) {
  BaseFile("f", "content");
  BaseDirectory("d");
  ASSERT_EQ(::chmod(base("f").c_str(), 0777), 0);
  options_.copy_up.mode = CopyUpPolicy::Mode::kCloneUmask;
  options_.copy_up.umask = 027;
  OpenOverBase();
  auto fs = Branch();
  Get(fs->SetXattr("f", "user.a", "b"));
  EXPECT_EQ(Get(fs->Stat("f")).mode & 07777, 0750u);
  fs.reset();
  Close();
  options_.copy_up.mode = CopyUpPolicy::Mode::kFixed;
  options_.copy_up.fixed_file_mode = 0604;
  options_.copy_up.fixed_directory_mode = 0705;
  OpenOverBase();
  fs = Branch();
  Get(fs->SetXattr("f", "user.a", "b"));
  Get(fs->SetXattr("d", "user.a", "b"));
  EXPECT_EQ(Get(fs->Stat("f")).mode & 07777, 0604u);
  EXPECT_EQ(Get(fs->Stat("d")).mode & 07777, 0705u);
}

TEST_F(OverlayTest, Rule5InodeNumbersAreStable) {
  BaseDirectory("d");
  BaseFile("d/f", "content");
  OpenOverBase(Backing::kSqlite);
  auto fs = Branch();
  const NodeId file = Get(fs->Stat("d/f")).node;
  const NodeId directory = Get(fs->Stat("d")).node;
  Get(fs->WriteFile("mine", "m"));
  const NodeId mine = Get(fs->Stat("mine")).node;
  Get(fs->WriteFile("d/f", "changed"));
  EXPECT_EQ(Get(fs->Stat("d/f")).node, file) << "copy-up";
  Get(fs->Rename("d", "e"));
  Get(fs->Rename("e/f", "g"));
  EXPECT_EQ(Get(fs->Stat("g")).node, file) << "rename";
  EXPECT_EQ(Get(fs->Stat("e")).node, directory);
  Get(volume().CreateSnapshot("main", "snap", "", Durability::kNone));
  Get(fs->Chmod("g", 0600));
  fs.reset();
  Reopen();
  fs = Branch();
  EXPECT_EQ(Get(fs->Stat("g")).node, file) << "reopen";
  EXPECT_EQ(Get(fs->Stat("e")).node, directory);
  EXPECT_EQ(Get(fs->Stat("mine")).node, mine);
  EXPECT_EQ(Get(Snapshot("snap")->Stat("g")).node, file);
  for (const auto& entry : Get(fs->List(""))) {
    EXPECT_EQ(entry.node, Get(fs->Stat(entry.name)).node.value) << entry.name;
  }
}

TEST_F(OverlayTest, Rule6AnUnlinkedFileLivesUntilItsLastReferenceGoes) {
  BaseFile("base", "of the base");
  OpenOverBase(Backing::kSqlite);
  auto fs = Branch();
  Get(fs->Chmod("", 0755));
  const size_t rows = AllRows();
  Get(fs->WriteFile("small", "content"));
  Get(fs->SetXattr("small", "user.a", "b"));
  Get(fs->WriteFile("large", Pattern(200'000)));
  auto small = Get(fs->Open("small", O_RDWR));
  auto large = Get(fs->Open("large", O_RDWR));
  auto of_base = Get(fs->Open("base", O_RDONLY));
  Flush();
  Get(fs->Unlink("small"));
  Get(fs->Unlink("large"));
  Get(fs->Unlink("base"));
  Flush();
  EXPECT_EQ(Get(small->Read(0, 100)), "content");
  Get(small->Write(7, "!"));
  Get(large->Write(100'000, "?"));
  Flush();
  EXPECT_EQ(Get(small->Read(0, 100)), "content!");
  EXPECT_EQ(Get(small->Stat()).nlink, 0u);
  EXPECT_EQ(Get(large->Read(100'000, 1)), "?");
  EXPECT_EQ(Get(of_base->Read(0, 100)), "of the base");
  EXPECT_EQ(Objects(), 1u);
  small.reset();
  large.reset();
  of_base.reset();
  EXPECT_EQ(Rows(tables::kData), 0u);
  EXPECT_EQ(Rows(tables::kSpans), 0u);
  EXPECT_EQ(Rows(tables::kXattrs), 0u);
  EXPECT_EQ(Rows(tables::kOrphans), 0u);
  EXPECT_EQ(Objects(), 0u);
  EXPECT_LE(AllRows(), rows + 4) << "the whiteout of the base's file, and counters";
  ExpectClean();
}

TEST_F(OverlayTest, Rule7ADriftedBaseUnderASparseFileIsAnErrorThatNamesIt) {
  BaseDirectory("some");
  for (const bool single_file : {false, true}) {
    options_.single_file = single_file;
    BaseFile("some/file", Pattern(400'000));
    OpenOverBase();
    auto fs = Branch();
    Get(Get(fs->Open("some/file", O_WRONLY))->Write(0, "changed"));
    Flush();
    BaseFile("some/file", Pattern(400'000, 9) + "more");
    auto file = Get(fs->Open("some/file", O_RDONLY));
    const auto read = file->Read(300'000, 100);
    ASSERT_FALSE(read.ok()) << "the new base's bytes were mixed in";
    EXPECT_NE(read.error().message().find("some/file"), std::string::npos)
        << read.error().message();
    EXPECT_EQ(Get(file->Read(0, 7)), "changed") << "what is ours can still be read";
    file.reset();
    fs.reset();
    Close();
  }
}

TEST_F(OverlayTest, Rule7WhatNobodyTouchedShowsTheBaseAsItIsNow) {
  BaseFile("f", "one");
  BaseFile("mode", "one");
  BaseDirectory("d");
  OpenOverBase();
  auto fs = Branch();
  EXPECT_EQ(Get(fs->ReadFile("f")), "one");
  EXPECT_EQ(Get(fs->List("d")).size(), 0u);
  Get(fs->Chmod("mode", 0600));
  BaseFile("f", "two, longer");
  BaseFile("mode", "two");
  BaseFile("d/new", "n");
  EXPECT_EQ(Get(fs->ReadFile("f")), "two, longer");
  EXPECT_EQ(Get(fs->Stat("f")).size, 11u);
  EXPECT_EQ(Get(fs->ReadFile("mode")), "two") << "its content is still the base's";
  EXPECT_EQ(Names(*fs, "d"), std::vector<std::string>{"new"});
  std::filesystem::remove(base("f"));
  EXPECT_EQ(fs->Stat("f").code(), ENOENT);
}

TEST_F(OverlayTest, Rule8TheStateDirectoryIsNotVisible) {
  BaseDirectory(".agentfs/objects");
  BaseFile("f", "x");
  OpenOverBase();
  auto fs = Branch();
  EXPECT_EQ(Names(*fs, ""), std::vector<std::string>{"f"});
  EXPECT_EQ(fs->Stat(".agentfs").code(), ENOENT);
  EXPECT_EQ(fs->Stat(".agentfs/objects").code(), ENOENT);
}

TEST_F(OverlayTest, ADeletedAndRecreatedBaseDirectoryIsOpaque) {
  BaseDirectory("d/sub");
  BaseFile("d/a", "a");
  BaseFile("d/sub/b", "b");
  OpenOverBase(Backing::kSqlite);
  auto fs = Branch();
  EXPECT_EQ(fs->RemoveDirectory("d").code(), ENOTEMPTY);
  Get(fs->Unlink("d/a"));
  Get(fs->Unlink("d/sub/b"));
  Get(fs->RemoveDirectory("d/sub"));
  Get(fs->RemoveDirectory("d"));
  EXPECT_EQ(fs->Stat("d").code(), ENOENT);
  Get(fs->MakeDirectory("d"));
  EXPECT_TRUE(Names(*fs, "d").empty());
  BaseFile("d/late", "made by the host");
  EXPECT_TRUE(Names(*fs, "d").empty());
  EXPECT_EQ(fs->Stat("d/late").code(), ENOENT);
  Get(fs->WriteFile("d/a", "mine"));
  Get(volume().CreateSnapshot("main", "snap", "", Durability::kNone));
  fs.reset();
  Reopen();
  fs = Branch();
  EXPECT_EQ(Names(*fs, "d"), std::vector<std::string>{"a"});
  EXPECT_EQ(Get(fs->ReadFile("d/a")), "mine");
  EXPECT_EQ(Names(*Snapshot("snap"), "d"), std::vector<std::string>{"a"});
  ExpectClean();
}

TEST_F(OverlayTest, HardLinksSurviveCopyUpSnapshotsAndReopen) {
  BaseFile("a", "base");
  std::filesystem::create_hard_link(base("a"), base("b"));
  OpenOverBase(Backing::kSqlite);
  auto fs = Branch();
  Get(Get(fs->Open("a", O_WRONLY))->Write(0, "X"));
  EXPECT_EQ(Get(fs->ReadFile("b")), "Xase") << "copied up through the other name";
  EXPECT_EQ(Get(fs->Stat("a")).node, Get(fs->Stat("b")).node);
  EXPECT_EQ(Get(fs->Stat("b")).nlink, 2u);
  Get(fs->Link("b", "c"));
  EXPECT_EQ(Get(fs->Stat("a")).nlink, 3u);
  Get(volume().CreateSnapshot("main", "snap", "", Durability::kNone));
  Get(Get(fs->Open("c", O_WRONLY))->Write(0, "Y"));
  Get(fs->Unlink("b"));
  fs.reset();
  Reopen();
  fs = Branch();
  EXPECT_EQ(Get(fs->ReadFile("a")), "Yase");
  EXPECT_EQ(Get(fs->Stat("a")).node, Get(fs->Stat("c")).node);
  EXPECT_EQ(Get(fs->Stat("a")).nlink, 2u);
  EXPECT_EQ(fs->Stat("b").code(), ENOENT);
  auto snap = Snapshot("snap");
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(Get(snap->ReadFile(name)), "Xase") << name;
    EXPECT_EQ(Get(snap->Stat(name)).nlink, 3u) << name;
  }
  ExpectClean();
}

TEST_F(OverlayTest, SymbolicLinksOfTheBaseAreNotFollowedOutOfIt) {
  std::filesystem::create_symlink("/etc", base("out"));
  OpenOverBase();
  auto fs = Branch();
  EXPECT_EQ(Get(fs->ReadLink("out")), "/etc");
  EXPECT_EQ(fs->Stat("out/passwd").code(), ENOENT);
}

// ---- 7, the other way round: what nobody touched follows the base, what was changed stays

TEST_F(OverlayTest, ChangedFilesStayWhenTheBaseLosesThem) {
  BaseDirectory("d");
  BaseDirectory("d/e");
  BaseFile("d/e/written", "base's");
  BaseFile("d/e/chmodded", "base's");
  BaseFile("d/e/untouched", "base's");
  BaseFile("top", "base's");
  OpenOverBase(Backing::kSqlite);
  auto fs = Branch();
  Get(fs->WriteFile("d/e/written", "branch's"));
  Get(fs->WriteFile("d/e/new", "branch's"));
  Get(Get(fs->Open("top", O_WRONLY | O_APPEND))->Write(6, "+"));
  std::filesystem::remove_all(base("d"));
  std::filesystem::remove(base("top"));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Names(*fs, "d/e"), (std::vector<std::string>{"new", "written"}));
    EXPECT_EQ(Get(fs->ReadFile("d/e/written")), "branch's");
    EXPECT_EQ(Get(fs->ReadFile("d/e/new")), "branch's");
    EXPECT_EQ(Get(fs->ReadFile("top")), "base's+");
    fs.reset();
    Reopen();
    fs = Branch();
  }
}

TEST_F(OverlayTest, ChangedFilesStayWhenTheBaseReplacesThem) {
  BaseFile("f", "base's");
  BaseFile("g", "base's");
  OpenOverBase();
  auto fs = Branch();
  Get(fs->WriteFile("f", "branch's"));
  EXPECT_EQ(Get(fs->ReadFile("g")), "base's");
  for (const char* name : {"f", "g"}) {
    BaseFile("saved", "a person's");
    ASSERT_EQ(::rename(base("saved").c_str(), base(name).c_str()), 0);
  }
  EXPECT_EQ(Get(fs->ReadFile("f")), "branch's");
  EXPECT_EQ(Get(fs->ReadFile("g")), "a person's");
  Get(fs->Unlink("f"));
  EXPECT_EQ(fs->Stat("f").code(), ENOENT);
  ExpectClean();
}

}  // namespace
}  // namespace agentfs
