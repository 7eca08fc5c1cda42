// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include "agentfs/path.h"
#include "core/files/resolver.h"
#include "files_fixture.h"

namespace agentfs::testing {
namespace {

using ::testing::ElementsAre;

TEST(IsNormalPathTest, AgreesWithNormalizePath) {
  const std::string long_name(255, 'n');
  for (std::string path :
       {std::string("/"),        std::string("/a"),    std::string("/a/b"), "/" + long_name,
        "/" + long_name + "x",   std::string("a"),     std::string("/a/"),  std::string("//a"),
        std::string("/a//b"),    std::string("/."),    std::string("/.."),  std::string("/..."),
        std::string("/.a"),      std::string("/..a"),  std::string("/a/."), std::string("/a/.."),
        std::string("/a/./b"),   std::string("/a\\b"), std::string("\\"),   std::string(""),
        std::string("/a\0b", 4), std::string("/\xff"), std::string("//")}) {
    Result<std::string> normal = NormalizePath(path);
    EXPECT_EQ(IsNormalPath(path), normal.ok() && *normal == path) << path;
  }
}

class ResolveTest : public FilesFixture {
 protected:
  void SetUp() override {
    EXPECT_OK(files_.CreateDirectories("/a/b/c"));
    EXPECT_OK(files_.WriteBytes("/a/b/c/file", "content"));
    EXPECT_OK(files_.WriteBytes("/top", "top"));
  }
  int CodeOf(std::string_view path, FollowLinks follow = FollowLinks::kYes) {
    return files_.Resolve(path, follow).code();
  }
  NodeId Id(std::string_view path) { return files_.Resolve(path).value().node->id(); }
};

TEST_P(ResolveTest, FindsByAnyFormOfAPath) {
  NodeId id = Id("/a/b/c/file");
  for (const char* path : {"a/b/c/file", "/a/./b//c/file", "\\a\\b\\c\\file", "/x/../a/b/c/file",
                           "/../../a/b/c/file", "/a/b/c/file/"}) {
    EXPECT_EQ(Id(path), id) << path;
  }
  EXPECT_EQ(Id("/"), backend_.fs->Root()->id());
  EXPECT_EQ(Id(".."), backend_.fs->Root()->id());
}

TEST_P(ResolveTest, ErrorsAreThoseOfLinux) {
  EXPECT_EQ(CodeOf("/none"), ENOENT);
  EXPECT_EQ(CodeOf("/none/below"), ENOENT);
  EXPECT_EQ(CodeOf("/top/below"), ENOTDIR);
  EXPECT_EQ(CodeOf(""), EINVAL);
  EXPECT_EQ(CodeOf(std::string_view("/a\0b", 4)), EINVAL);
  EXPECT_EQ(CodeOf("/" + std::string(256, 'x')), ENAMETOOLONG);
}

TEST_P(ResolveTest, FollowsRelativeAndAbsoluteLinks) {
  ASSERT_OK(files_.CreateSymlink("/a/relative", "b/c"));
  ASSERT_OK(files_.CreateSymlink("/a/absolute", "/a/b"));
  ASSERT_OK(files_.CreateSymlink("/a/b/c/up", "../../../top"));
  ASSERT_OK(files_.CreateSymlink("/chain", "/a/relative/../c/up"));
  EXPECT_EQ(Id("/a/relative/file"), Id("/a/b/c/file"));
  EXPECT_EQ(Id("/a/absolute/c/file"), Id("/a/b/c/file"));
  EXPECT_EQ(Id("/a/b/c/up"), Id("/top"));
  EXPECT_EQ(Id("/chain"), Id("/top"));
  EXPECT_EQ(Id("/a/relative"), Id("/a/b/c"));
}

TEST_P(ResolveTest, DotDotInALinkIsTheParentOfTheDirectoryReached) {
  ASSERT_OK(files_.CreateSymlink("/short", "a/b/c"));
  ASSERT_OK(files_.CreateSymlink("/up", "short/.."));
  EXPECT_EQ(Id("/up"), Id("/a/b"));
  EXPECT_EQ(Id("/up/c/file"), Id("/a/b/c/file"));
  // In the path itself ".." is textual.
  EXPECT_EQ(Id("/short/.."), Id("/"));
}

TEST_P(ResolveTest, LinksNeverLeaveTheFilesystem) {
  ASSERT_OK(files_.CreateSymlink("/escape", "../../../../top"));
  ASSERT_OK(files_.CreateSymlink("/a/escape", "/../../top"));
  EXPECT_EQ(Id("/escape"), Id("/top"));
  EXPECT_EQ(Id("/a/escape"), Id("/top"));
}

TEST_P(ResolveTest, FollowIsAboutTheLastNameOnly) {
  ASSERT_OK(files_.CreateSymlink("/dir", "a/b"));
  ASSERT_OK(files_.CreateSymlink("/a/b/link", "c"));
  Found link = files_.Resolve("/dir/link", FollowLinks::kNo).value();
  EXPECT_TRUE(S_ISLNK(link.attr.mode));
  EXPECT_TRUE(S_ISDIR(files_.Resolve("/dir/link")->attr.mode));
  EXPECT_TRUE(S_ISLNK(files_.Entry("/dir")->attr.mode));
  EXPECT_TRUE(S_ISDIR(files_.Entry("/dir", FollowLinks::kYes)->attr.mode));
}

TEST_P(ResolveTest, TrailingSlashInATargetWantsADirectory) {
  ASSERT_OK(files_.CreateSymlink("/good", "a/b/"));
  ASSERT_OK(files_.CreateSymlink("/bad", "top/"));
  ASSERT_OK(files_.CreateSymlink("/dot", "."));
  EXPECT_EQ(Id("/good"), Id("/a/b"));
  EXPECT_EQ(CodeOf("/bad"), ENOTDIR);
  EXPECT_EQ(Id("/dot/dot/dot/top"), Id("/top"));
}

TEST_P(ResolveTest, FortyLinksAreFollowedAndNoMore) {
  ASSERT_OK(files_.CreateSymlink("/l1", "top"));
  for (int i = 2; i <= 41; ++i) {
    ASSERT_OK(files_.CreateSymlink("/l" + std::to_string(i), "l" + std::to_string(i - 1)));
  }
  EXPECT_EQ(Id("/l40"), Id("/top"));
  EXPECT_EQ(CodeOf("/l41"), ELOOP);
  ASSERT_OK(files_.CreateSymlink("/self", "self"));
  ASSERT_OK(files_.CreateSymlink("/ping", "pong/x"));
  ASSERT_OK(files_.CreateSymlink("/pong", "ping/x"));
  EXPECT_EQ(CodeOf("/self"), ELOOP);
  EXPECT_EQ(CodeOf("/self/x"), ELOOP);
  EXPECT_EQ(CodeOf("/ping"), ELOOP);
  EXPECT_EQ(CodeOf("/self", FollowLinks::kNo), 0);
}

TEST_P(ResolveTest, DanglingLinksDoNotExist) {
  ASSERT_OK(files_.CreateSymlink("/dangling", "none"));
  EXPECT_EQ(CodeOf("/dangling"), ENOENT);
  EXPECT_FALSE(files_.Exists("/dangling"));
  EXPECT_TRUE(files_.Entry("/dangling").ok());
  EXPECT_EQ(*files_.ReadSymlink("/dangling"), "none");
}

TEST_P(ResolveTest, KindsAreTold) {
  ASSERT_OK(files_.CreateSymlink("/to-dir", "a"));
  EXPECT_TRUE(files_.Exists("/top"));
  EXPECT_TRUE(files_.IsFile("/top"));
  EXPECT_FALSE(files_.IsDirectory("/top"));
  EXPECT_TRUE(files_.IsDirectory("/to-dir"));
  EXPECT_FALSE(files_.IsFile("/a"));
  EXPECT_FALSE(files_.IsFile("/none"));
  EXPECT_FALSE(files_.IsDirectory("/none"));
  EXPECT_EQ(files_.ReadSymlink("/top").code(), EINVAL);
}

TEST_P(ResolveTest, EntriesCarryNormalPaths) {
  FileEntry entry = files_.Entry("a\\b/../b").value();
  EXPECT_EQ(entry.name, "b");
  EXPECT_EQ(entry.path, "/a/b");
  EXPECT_EQ(files_.Entry("/")->name, "");
  EXPECT_EQ(files_.Entry("/")->path, "/");
}

TEST_P(ResolveTest, ListsAreSorted) {
  for (const char* name : {"z", "m", "B", "\xff", "10", "9"}) {
    ASSERT_OK(files_.WriteBytes(std::string("/a/b/") + name, name));
  }
  EXPECT_THAT(*files_.ListNames("/a/b"), ElementsAre("10", "9", "B", "c", "m", "z", "\xff"));
  std::vector<FileEntry> entries = files_.ListEntries("/a/b").value();
  ASSERT_EQ(entries.size(), 7u);
  EXPECT_EQ(entries[3].path, "/a/b/c");
  EXPECT_TRUE(S_ISDIR(entries[3].attr.mode));
  EXPECT_EQ(entries[1].attr.size, 1u);
  EXPECT_THAT(*files_.ListNames("/"), ElementsAre("a", "top"));
  EXPECT_EQ(files_.ListEntries("/")->at(0).path, "/a");
  EXPECT_EQ(files_.ListNames("/top").code(), ENOTDIR);
  EXPECT_EQ(files_.ListEntries("/top").code(), ENOTDIR);
  EXPECT_EQ(files_.ListNames("/none").code(), ENOENT);
}

TEST_P(ResolveTest, PermissionsAreTheCallers) {
  ASSERT_OK(files_.SetMode("/a/b", 0700));
  Caller other;
  other.uid = other.gid = 1000;
  Files restricted(backend_.fs, other);
  EXPECT_EQ(restricted.Resolve("/a/b").code(), 0);
  EXPECT_EQ(restricted.Resolve("/a/b/c").code(), EACCES);
  EXPECT_EQ(restricted.ListNames("/a/b").code(), EACCES);
  EXPECT_EQ(restricted.ListEntries("/a/b").code(), EACCES);
}

TEST_P(ResolveTest, GroupsOutliveTheCallersOwn) {
  ASSERT_OK(files_.SetMode("/a/b", 0750));
  AttrChange group;
  group.gid = 77;
  ASSERT_OK(backend_.fs->SetAttr({}, *files_.Resolve("/a/b")->node, group));
  std::optional<Files> member;
  {
    std::vector<uint32_t> groups = {76, 77};
    Caller caller;
    caller.uid = caller.gid = 1000;
    caller.groups = groups;
    member.emplace(backend_.fs, caller);
    groups.assign({1, 2});
  }
  Files copy = *member;
  member.reset();
  EXPECT_EQ(copy.Resolve("/a/b/c").code(), 0);
}

AGENTFS_FILES_SUITE(ResolveTest);

}  // namespace
}  // namespace agentfs::testing
