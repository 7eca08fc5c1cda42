// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include "fake_fs.h"
#include "files_fixture.h"

namespace agentfs::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CopyTest : public FilesFixture {};

TEST_P(CopyTest, VariedTreeIsCopiedExactly) {
  ASSERT_OK(files_.CreateDirectory("/from"));
  MakeVariedTree(files_, "/from");
  ASSERT_OK(files_.Copy("/from", "/to", Recursion::kYes));
  EXPECT_EQ(Dump(files_, "/to"), Dump(files_, "/from"));
  // The copy is its own: hard links join the copies, not copy and original.
  EXPECT_EQ(files_.Entry("/to/plain")->attr.nlink, 2u);
  ASSERT_OK(files_.WriteBytes("/to/plain", "changed"));
  EXPECT_EQ(*files_.ReadBytes("/from/plain"), "some text\n");
  EXPECT_EQ(*files_.ReadBytes("/to/sub/plain-too"), "changed");
}

TEST_P(CopyTest, SingleFilesAndLinks) {
  ASSERT_OK(files_.WriteBytes("/f", "content"));
  ASSERT_OK(files_.SetMode("/f", 0640));
  ASSERT_OK(files_.CreateSymlink("/l", "f"));
  ASSERT_OK(files_.Copy("/f", "/g"));
  ASSERT_OK(files_.Copy("/l", "/m"));
  EXPECT_EQ(*files_.ReadBytes("/g"), "content");
  EXPECT_EQ(files_.Entry("/g")->attr.mode, uint32_t{S_IFREG | 0640});
  EXPECT_EQ(*files_.ReadSymlink("/m"), "f");
  EXPECT_EQ(files_.Copy("/none", "/x").code(), ENOENT);
  EXPECT_EQ(files_.Copy("/f", "/no/x").code(), ENOENT);
}

TEST_P(CopyTest, DirectoriesWantRecursion) {
  ASSERT_OK(files_.CreateDirectory("/d"));
  EXPECT_EQ(files_.Copy("/d", "/e").code(), EISDIR);
  EXPECT_FALSE(files_.Exists("/e"));
}

TEST_P(CopyTest, IntoItselfIsRefusedWithAMessage) {
  ASSERT_OK(files_.CreateDirectories("/d/sub/deeper"));
  ASSERT_OK(files_.CreateSymlink("/link", "d/sub"));
  std::string before = Dump(files_, "/");
  for (const char* to : {"/d/x", "/d/sub/x", "/d/sub/deeper/x", "/link/x"}) {
    Result<void> copied = files_.Copy("/d", to, Recursion::kYes);
    ASSERT_EQ(copied.code(), EINVAL) << to;
    EXPECT_THAT(copied.error().message(), HasSubstr("into itself"));
  }
  EXPECT_EQ(files_.Copy("/", "/d/x", Recursion::kYes).code(), EINVAL);
  EXPECT_EQ(files_.Copy("/d", "/d", Recursion::kYes, Overwrite::kYes).code(), EINVAL);
  EXPECT_EQ(files_.Copy("/d/sub", "/d", Recursion::kYes, Overwrite::kYes).code(), EINVAL);
  EXPECT_EQ(Dump(files_, "/"), before);
  ASSERT_OK(files_.Copy("/d", "/dx", Recursion::kYes));  // a longer name is no child
}

TEST_P(CopyTest, ExistingTargetWantsOverwrite) {
  ASSERT_OK(files_.WriteBytes("/f", "new"));
  ASSERT_OK(files_.WriteBytes("/g", "old"));
  EXPECT_EQ(files_.Copy("/f", "/g").code(), EEXIST);
  EXPECT_EQ(*files_.ReadBytes("/g"), "old");
  ASSERT_OK(files_.Copy("/f", "/g", Recursion::kNo, Overwrite::kYes));
  EXPECT_EQ(*files_.ReadBytes("/g"), "new");
  EXPECT_EQ(files_.Copy("/f", "/f", Recursion::kNo, Overwrite::kYes).code(), EINVAL);
  EXPECT_EQ(*files_.ReadBytes("/f"), "new");
  EXPECT_THAT(*files_.ListNames("/"), ElementsAre("f", "g"));
}

TEST_P(CopyTest, OverwriteReplacesWholeTrees) {
  ASSERT_OK(files_.CreateDirectories("/new/a"));
  ASSERT_OK(files_.WriteBytes("/new/a/f", "new"));
  ASSERT_OK(files_.CreateDirectories("/old/b/c"));
  ASSERT_OK(files_.WriteBytes("/old/b/f", "old"));
  ASSERT_OK(files_.Copy("/new", "/old", Recursion::kYes, Overwrite::kYes));
  EXPECT_EQ(Dump(files_, "/old"), Dump(files_, "/new"));
  EXPECT_THAT(*files_.ListNames("/"), ElementsAre("new", "old"));
}

TEST_P(CopyTest, TypesMustAgreeWhenOverwriting) {
  ASSERT_OK(files_.CreateDirectory("/d"));
  ASSERT_OK(files_.WriteBytes("/f", "x"));
  EXPECT_EQ(files_.Copy("/f", "/d", Recursion::kYes, Overwrite::kYes).code(), EISDIR);
  EXPECT_EQ(files_.Copy("/d", "/f", Recursion::kYes, Overwrite::kYes).code(), ENOTDIR);
  EXPECT_EQ(files_.Copy("/d", "/", Recursion::kYes, Overwrite::kYes).code(), EBUSY);
}

TEST_P(CopyTest, OverwritingALinkReplacesTheLink) {
  ASSERT_OK(files_.WriteBytes("/f", "new"));
  ASSERT_OK(files_.WriteBytes("/kept", "kept"));
  ASSERT_OK(files_.CreateSymlink("/l", "kept"));
  ASSERT_OK(files_.Copy("/f", "/l", Recursion::kNo, Overwrite::kYes));
  EXPECT_EQ(*files_.ReadBytes("/kept"), "kept");
  EXPECT_TRUE(S_ISREG(files_.Entry("/l")->attr.mode));
}

TEST_P(CopyTest, OrdinaryCallersOwnTheirCopies) {
  ASSERT_OK(files_.CreateDirectory("/home"));
  ASSERT_OK(files_.SetMode("/home", 0777));
  ASSERT_OK(files_.WriteBytes("/tool", "x"));
  ASSERT_OK(files_.SetMode("/tool", 06755));
  ASSERT_OK(files_.WriteBytes("/secret", "x"));
  ASSERT_OK(files_.SetMode("/secret", 0600));
  Caller caller;
  caller.uid = caller.gid = 1000;
  Files other(backend_.fs, caller);
  ASSERT_OK(other.Copy("/tool", "/home/tool"));
  Attr attr = files_.Entry("/home/tool")->attr;
  EXPECT_EQ(attr.uid, 1000u);
  EXPECT_EQ(attr.mode, uint32_t{S_IFREG | 0755}) << "set-id bits must not change hands";
  EXPECT_EQ(other.Copy("/secret", "/home/secret").code(), EACCES);
  EXPECT_FALSE(files_.Exists("/home/secret"));
}

AGENTFS_FILES_SUITE(CopyTest);

TEST(CopyFaultTest, FailedOverwriteLeavesTheTarget) {
  for (uint64_t nth = 1;; ++nth) {
    ASSERT_LT(nth, 100u);
    auto fs = std::make_shared<FakeFs>();
    Files files(fs);
    ASSERT_OK(files.CreateDirectories("/new/a"));
    ASSERT_OK(files.WriteBytes("/new/a/f", "new"));
    ASSERT_OK(files.CreateDirectories("/old/b"));
    std::string before = Dump(files, "/old");
    fs->FailChange(nth, EIO);
    Result<void> copied = files.Copy("/new", "/old", Recursion::kYes, Overwrite::kYes);
    if (files.Exists("/old/a")) break;
    EXPECT_EQ(copied.code(), EIO);
    EXPECT_EQ(Dump(files, "/old"), before) << nth;
    EXPECT_THAT(*files.ListNames("/"), ElementsAre("new", "old")) << nth;
  }
}

}  // namespace
}  // namespace agentfs::testing
