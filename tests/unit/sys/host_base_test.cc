// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "agentfs/base_fs.h"
#include "scratch.h"

namespace agentfs {
namespace {

using std::string_literals::operator""s;
using testing::UnorderedElementsAre;

class HostBaseTest : public testing::Test {
 protected:
  HostBaseTest() {
    MakeHostDirectory(host_ / "root");
    MakeHostDirectory(host_ / "outside");
    WriteHostFile(host_ / "outside/secret", "secret");
    Open();
  }

  void Open(std::vector<std::string> hidden = {}) {
    auto base = OpenHostBase(root(), std::move(hidden));
    ASSERT_TRUE(base.ok()) << base.error().message();
    base_ = std::move(base).value();
  }

  std::string root() const { return host_ / "root"; }
  std::string At(std::string_view name) const { return root() + "/" + std::string(name); }

  std::vector<std::string> Names(std::string_view path) {
    auto entries = base_->List(path);
    EXPECT_TRUE(entries.ok()) << path;
    std::vector<std::string> names;
    if (entries.ok()) {
      for (const BaseEntry& entry : *entries) names.push_back(entry.name);
    }
    return names;
  }

  std::string Read(std::string_view path) {
    auto file = base_->Open(path);
    EXPECT_TRUE(file.ok()) << path << ": " << file.error().message();
    if (!file.ok()) return "";
    std::string out(1 << 16, '\0');
    auto n = (*file)->Read(0, out);
    EXPECT_TRUE(n.ok());
    out.resize(n.ok() ? *n : 0);
    return out;
  }

  Scratch host_;
  std::unique_ptr<BaseFs> base_;
};

TEST_F(HostBaseTest, StatSaysWhatTheHostSays) {
  WriteHostFile(At("f"), "hello");
  ASSERT_EQ(::chmod(At("f").c_str(), 04751), 0);
  struct stat st;
  ASSERT_EQ(::stat(At("f").c_str(), &st), 0);
  auto got = base_->Stat("f");
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->attr.mode, st.st_mode);
  EXPECT_EQ(got->attr.size, 5u);
  EXPECT_EQ(got->attr.uid, st.st_uid);
  EXPECT_EQ(got->attr.gid, st.st_gid);
  EXPECT_EQ(got->attr.nlink, 1u);
  EXPECT_EQ(got->attr.blocks, static_cast<uint64_t>(st.st_blocks));
  EXPECT_EQ(got->attr.mtime, (Timestamp{st.st_mtim.tv_sec, uint32_t(st.st_mtim.tv_nsec)}));
  EXPECT_EQ(got->signature.inode, st.st_ino);
  EXPECT_EQ(got->signature.size, 5u);
  EXPECT_NE(got->identity, 0u);
  EXPECT_LT(got->identity, uint64_t{1} << 62);
}

TEST_F(HostBaseTest, TheEmptyPathIsTheRoot) {
  auto root = base_->Stat("");
  ASSERT_TRUE(root.ok());
  EXPECT_TRUE(S_ISDIR(root->attr.mode));
  EXPECT_EQ(base_->Stat("absent").code(), ENOENT);
}

TEST_F(HostBaseTest, ReadsFilesFromAnyOffset) {
  MakeHostDirectory(At("d"));
  WriteHostFile(At("d/f"), "0123456789");
  EXPECT_EQ(Read("d/f"), "0123456789");
  auto file = base_->Open("d/f");
  ASSERT_TRUE(file.ok());
  char out[4];
  EXPECT_EQ(*(*file)->Read(8, out), 2u);
  EXPECT_EQ(std::string(out, 2), "89");
  EXPECT_EQ(*(*file)->Read(10, out), 0u);
  EXPECT_EQ((*file)->Stat()->identity, base_->Stat("d/f")->identity);
  EXPECT_GE((*file)->descriptor(), 0);
}

TEST_F(HostBaseTest, SeeksDataAndHoles) {
  WriteHostFile(At("f"), "");
  ASSERT_EQ(::truncate(At("f").c_str(), 1 << 20), 0);
  auto file = base_->Open("f");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*(*file)->Seek(0, SeekTarget::kHole), 0u);
  EXPECT_EQ((*file)->Seek(0, SeekTarget::kData).code(), ENXIO);
  EXPECT_EQ((*file)->Seek(2 << 20, SeekTarget::kHole).code(), ENXIO);
  EXPECT_EQ((*file)->Seek(UINT64_MAX, SeekTarget::kData).code(), ENXIO);
}

TEST_F(HostBaseTest, ListGivesNamesAndTypes) {
  WriteHostFile(At("f"), "x");
  MakeHostDirectory(At("d"));
  MakeHostLink("f", At("l"));
  WriteHostFile(At("\xff\xfe"), "bytes");
  auto entries = base_->List("");
  ASSERT_TRUE(entries.ok());
  std::vector<std::pair<std::string, uint32_t>> got;
  for (const BaseEntry& e : *entries) got.emplace_back(e.name, e.type);
  EXPECT_THAT(got, UnorderedElementsAre(std::pair("f"s, S_IFREG), std::pair("d"s, S_IFDIR),
                                        std::pair("l"s, S_IFLNK), std::pair("\xff\xfe"s, S_IFREG)));
  EXPECT_TRUE(Names("d").empty());
  EXPECT_EQ(base_->List("f").code(), ENOTDIR);
  EXPECT_EQ(base_->List("absent").code(), ENOENT);
}

TEST_F(HostBaseTest, SymlinksAreSeenAndNeverFollowed) {
  MakeHostLink("../outside", At("out"));
  MakeHostLink("/etc", At("abs"));
  MakeHostDirectory(At("d"));
  WriteHostFile(At("d/f"), "x");
  MakeHostLink("d", At("in"));
  MakeHostLink("d/f", At("file"));

  EXPECT_TRUE(S_ISLNK(base_->Stat("out")->attr.mode));
  EXPECT_EQ(*base_->ReadLink("out"), "../outside");
  EXPECT_EQ(*base_->ReadLink("abs"), "/etc");
  EXPECT_EQ(base_->ReadLink("d").code(), EINVAL);
  for (std::string_view path : {"out/secret", "abs/passwd", "in/f"}) {
    EXPECT_EQ(base_->Stat(path).code(), ELOOP) << path;
    EXPECT_EQ(base_->Open(path).code(), ELOOP) << path;
    EXPECT_EQ(base_->ReadLink(path).code(), ELOOP) << path;
    EXPECT_EQ(base_->ListXattrs(path).code(), ELOOP) << path;
  }
  for (std::string_view path : {"out", "abs", "in"}) {
    EXPECT_NE(base_->List(path).code(), 0) << path;
  }
  EXPECT_EQ(base_->Open("file").code(), ELOOP);
}

TEST_F(HostBaseTest, NothingOutsideTheRootCanBeNamed) {
  MakeHostDirectory(At("d"));
  for (std::string_view path : {"..", "../outside", "../outside/secret", "d/../../outside/secret",
                                "/etc/passwd", "/", "d/../.."}) {
    EXPECT_EQ(base_->Stat(path).code(), EXDEV) << path;
    EXPECT_EQ(base_->Open(path).code(), EXDEV) << path;
    EXPECT_EQ(base_->List(path).code(), EXDEV) << path;
  }
  EXPECT_EQ(base_->Stat("d\0/../../outside"s).code(), EINVAL);
}

TEST_F(HostBaseTest, MagicLinksLeadNowhere) {
  {
    auto proc = OpenHostBase("/proc/self");
    ASSERT_TRUE(proc.ok());
    EXPECT_NE((*proc)->Stat("root/etc/passwd").code(), 0);
    EXPECT_NE((*proc)->Open("exe").code(), 0);
  }
}

// A directory that is swapped for a link outwards, again and again, never leads outside.
TEST_F(HostBaseTest, ASwapOfADirectoryByALinkNeverEscapes) {
  MakeHostDirectory(At("d"));
  WriteHostFile(At("d/secret"), "inside");
  MakeHostLink(host_ / "outside", At("evil"));
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop) {
      ::renameat2(AT_FDCWD, At("d").c_str(), AT_FDCWD, At("evil").c_str(), RENAME_EXCHANGE);
    }
  });
  int seen = 0;
  for (int i = 0; i < 20000; ++i) {
    auto file = base_->Open("d/secret");
    if (!file.ok()) {
      EXPECT_TRUE(file.code() == ELOOP || file.code() == ENOTDIR) << file.code();
      continue;
    }
    char out[16];
    auto n = (*file)->Read(0, out);
    ASSERT_TRUE(n.ok());
    ASSERT_EQ(std::string(out, *n), "inside");
    ++seen;
  }
  stop = true;
  swapper.join();
  EXPECT_GT(seen, 0);
}

TEST_F(HostBaseTest, ARenameOfTheRootDoesNotMatter) {
  WriteHostFile(At("f"), "x");
  ASSERT_EQ(::rename(root().c_str(), (host_ / "moved").c_str()), 0);
  MakeHostDirectory(root());
  EXPECT_EQ(Read("f"), "x");
}

TEST_F(HostBaseTest, HardLinksShareAnIdentityAndOtherFilesDoNot) {
  WriteHostFile(At("a"), "x");
  MakeHostDirectory(At("d"));
  ASSERT_EQ(::link(At("a").c_str(), At("d/b").c_str()), 0);
  WriteHostFile(At("c"), "x");
  uint64_t a = base_->Stat("a")->identity;
  EXPECT_EQ(a, base_->Stat("d/b")->identity);
  EXPECT_NE(a, base_->Stat("c")->identity);
  ASSERT_EQ(::rename(At("a").c_str(), At("renamed").c_str()), 0);
  EXPECT_EQ(a, base_->Stat("renamed")->identity);
  Open();  // as after a restart
  EXPECT_EQ(a, base_->Stat("renamed")->identity);
}

TEST_F(HostBaseTest, AChangeOfContentChangesTheSignatureNotTheIdentity) {
  WriteHostFile(At("f"), "one");
  auto before = base_->Stat("f");
  WriteHostFile(At("f"), "three");
  auto after = base_->Stat("f");
  EXPECT_EQ(before->identity, after->identity);
  EXPECT_FALSE(before->signature == after->signature);
}

TEST_F(HostBaseTest, HiddenNamesAreAbsentFromTheRootOnly) {
  MakeHostDirectory(At(".agentfs"));
  WriteHostFile(At(".agentfs/state"), "x");
  MakeHostDirectory(At("d"));
  MakeHostDirectory(At("d/.agentfs"));
  WriteHostFile(At("d/.agentfs/state"), "visible");
  Open({".agentfs"});
  EXPECT_THAT(Names(""), UnorderedElementsAre("d"));
  EXPECT_THAT(Names("d"), UnorderedElementsAre(".agentfs"));
  EXPECT_EQ(Read("d/.agentfs/state"), "visible");
  for (std::string_view path : {".agentfs", ".agentfs/state", "./.agentfs", "d/../.agentfs/state",
                                ".agentfs/../d", ".agentfs//state"}) {
    EXPECT_EQ(base_->Stat(path).code(), ENOENT) << path;
    EXPECT_EQ(base_->Open(path).code(), ENOENT) << path;
    EXPECT_EQ(base_->List(path).code(), ENOENT) << path;
    EXPECT_EQ(base_->ReadLink(path).code(), ENOENT) << path;
    EXPECT_EQ(base_->ListXattrs(path).code(), ENOENT) << path;
    EXPECT_EQ(base_->GetXattr(path, "user.a").code(), ENOENT) << path;
  }
}

TEST_F(HostBaseTest, OnlyRegularFilesOpenAndAFifoDoesNotBlock) {
  ASSERT_EQ(::mkfifo(At("fifo").c_str(), 0600), 0);
  MakeHostDirectory(At("d"));
  EXPECT_EQ(base_->Open("fifo").code(), EINVAL);
  EXPECT_EQ(base_->Open("d").code(), EINVAL);
  EXPECT_EQ(base_->Open("").code(), EINVAL);
  EXPECT_TRUE(S_ISFIFO(base_->Stat("fifo")->attr.mode));
}

TEST_F(HostBaseTest, PathsLongerThanTheKernelTakesAtOnceWork) {
  std::string path;
  int directory = ::open(root().c_str(), O_PATH | O_DIRECTORY);
  const std::string name(200, 'd');
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(::mkdirat(directory, name.c_str(), 0755), 0);
    int next = ::openat(directory, name.c_str(), O_PATH | O_DIRECTORY);
    ::close(directory);
    directory = next;
    path += name + "/";
  }
  int file = ::openat(directory, "f", O_CREAT | O_WRONLY, 0644);
  ASSERT_EQ(::write(file, "deep", 4), 4);
  ::close(file);
  ::close(directory);
  EXPECT_GT(path.size(), 4096u);
  EXPECT_EQ(Read(path + "f"), "deep");
  EXPECT_EQ(base_->Stat(path + "absent").code(), ENOENT);
}

TEST_F(HostBaseTest, XattrsAreListedAndRead) {
  WriteHostFile(At("f"), "x");
  MakeHostDirectory(At("d"));
  const std::string large(2000, 'v');
  if (::setxattr(At("f").c_str(), "user.large", large.data(), large.size(), 0) != 0) {
    GTEST_SKIP() << "the temporary directory's filesystem has no user xattrs";
  }
  ASSERT_EQ(::setxattr(At("f").c_str(), "user.empty", "", 0, 0), 0);
  ASSERT_EQ(::setxattr(At("d").c_str(), "user.dir", "\0\1", 2, 0), 0);
  auto names = base_->ListXattrs("f");
  ASSERT_TRUE(names.ok());
  EXPECT_THAT(*names, testing::IsSupersetOf({"user.large", "user.empty"}));
  EXPECT_EQ(*base_->GetXattr("f", "user.large"), large);
  EXPECT_EQ(*base_->GetXattr("f", "user.empty"), "");
  EXPECT_EQ(*base_->GetXattr("d", "user.dir"), "\0\1"s);
  EXPECT_EQ(base_->GetXattr("f", "user.absent").code(), ENODATA);
  EXPECT_EQ(base_->GetXattr("absent", "user.a").code(), ENOENT);
}

TEST_F(HostBaseTest, XattrsOfALinkAreTheLinksOwn) {
  WriteHostFile(At("f"), "x");
  MakeHostLink("f", At("l"));
  if (::lsetxattr(At("l").c_str(), "trusted.link", "own", 3, 0) != 0) {
    GTEST_SKIP() << "setting trusted xattrs needs root and a filesystem that has them";
  }
  EXPECT_EQ(*base_->GetXattr("l", "trusted.link"), "own");
  EXPECT_EQ(base_->GetXattr("f", "trusted.link").code(), ENODATA);
}

TEST_F(HostBaseTest, ReadingLeavesTheAccessTimeWhereWeMay) {
  WriteHostFile(At("f"), "x");
  struct timespec old[2] = {{1000, 0}, {2000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, At("f").c_str(), old, 0), 0);
  EXPECT_EQ(Read("f"), "x");
  EXPECT_EQ(base_->Stat("f")->attr.atime.sec, 1000);
}

TEST_F(HostBaseTest, WhatWillBeReadTouchesNoAccessTime) {
  WriteHostFile(At("f"), "x");
  struct timespec old[2] = {{1000, 0}, {2000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, At("f").c_str(), old, 0), 0);
  base_->Open("f").value()->WillRead(1);
  EXPECT_EQ(base_->Stat("f")->attr.atime.sec, 1000);
  EXPECT_FALSE(base_->Stat("f")->mounted);
}

TEST_F(HostBaseTest, WhatIsOutsideOrNeverLookedAtIsNotAtHand) {
  WriteHostFile(At("f"), "x");
  MakeHostLink("../outside", At("link"));
  EXPECT_FALSE(base_->IsAtHand("never/looked/at"));
  EXPECT_FALSE(base_->IsAtHand("link/secret"));
  EXPECT_FALSE(base_->IsAtHand("../outside/secret"));
  Open({"f"});
  EXPECT_FALSE(base_->IsAtHand("f")) << "it is hidden";
}

TEST_F(HostBaseTest, StatFsTellsTheHostsSpace) {
  auto stats = base_->StatFs();
  ASSERT_TRUE(stats.ok());
  EXPECT_GT(stats->blocks, 0u);
  EXPECT_GE(stats->blocks, stats->blocks_free);
  EXPECT_EQ(stats->name_max, 255u);
}

TEST(OpenHostBaseTest, NamesTheRootThatCannotBeOpened) {
  Scratch host;
  auto absent = OpenHostBase(host / "absent");
  EXPECT_EQ(absent.code(), ENOENT);
  EXPECT_THAT(absent.error().message(), testing::HasSubstr(host / "absent"));
  WriteHostFile(host / "f", "x");
  EXPECT_EQ(OpenHostBase(host / "f").code(), ENOTDIR);
}

}  // namespace
}  // namespace agentfs
