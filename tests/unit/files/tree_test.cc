// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include "files_fixture.h"

namespace agentfs::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TreeTest : public FilesFixture {
 protected:
  std::vector<std::string> Walked(std::string_view path) {
    std::vector<std::string> paths;
    EXPECT_OK(files_.Walk(path, [&](const FileEntry& entry) {
      paths.push_back(entry.path);
      return Visit::kContinue;
    }));
    return paths;
  }
  // A chain of directories `depth` deep below `path`, with a file at its end.
  void MakeDeep(std::string_view path, int depth) {
    ASSERT_OK(files_.CreateDirectory(path));
    NodeRef at = files_.Resolve(path)->node;
    for (int i = 0; i < depth; ++i) {
      at = backend_.fs->MakeDirectory({}, *at, "d", 0755).value().node;
    }
    ASSERT_OK(backend_.fs->Create({}, *at, "f", 0644));
  }
};

TEST_P(TreeTest, CreateDirectoryWantsItsParentAndAFreeName) {
  ASSERT_OK(files_.CreateDirectory("/d", 0750));
  EXPECT_EQ(files_.Entry("/d")->attr.mode, uint32_t{S_IFDIR | 0750});
  EXPECT_EQ(files_.CreateDirectory("/d").code(), EEXIST);
  EXPECT_EQ(files_.CreateDirectory("/").code(), EEXIST);
  EXPECT_EQ(files_.CreateDirectory("/no/d").code(), ENOENT);
  ASSERT_OK(files_.CreateSymlink("/dangling", "none"));
  EXPECT_EQ(files_.CreateDirectory("/dangling").code(), EEXIST);
}

TEST_P(TreeTest, CreateDirectoriesMakesParents) {
  ASSERT_OK(files_.CreateDirectories("/a/b/c", 0711));
  EXPECT_EQ(files_.Entry("/a/b/c")->attr.mode, uint32_t{S_IFDIR | 0711});
  ASSERT_OK(files_.CreateDirectories("/a/b/c"));
  ASSERT_OK(files_.CreateDirectories("/"));
  ASSERT_OK(files_.CreateSymlink("/link", "a/b"));
  ASSERT_OK(files_.CreateDirectories("/link/x/y"));
  EXPECT_TRUE(files_.IsDirectory("/a/b/x/y"));
  ASSERT_OK(files_.WriteBytes("/file", ""));
  EXPECT_EQ(files_.CreateDirectories("/file").code(), EEXIST);
  EXPECT_EQ(files_.CreateDirectories("/file/below").code(), ENOTDIR);
  ASSERT_OK(files_.CreateSymlink("/dangling", "none"));
  EXPECT_FALSE(files_.CreateDirectories("/dangling/x").ok());
}

TEST_P(TreeTest, CreateDirectoriesWorksForOrdinaryCallersWithClosedModes) {
  ASSERT_OK(files_.CreateDirectory("/home", 0777));
  ASSERT_OK(files_.SetMode("/home", 0777));
  Caller caller;
  caller.uid = caller.gid = 1000;
  ASSERT_OK(Files(backend_.fs, caller).CreateDirectories("/home/a/b", 0500));
  EXPECT_EQ(files_.Entry("/home/a/b")->attr.mode, uint32_t{S_IFDIR | 0500});
}

TEST_P(TreeTest, HardLinksShareTheNode) {
  ASSERT_OK(files_.WriteBytes("/f", "x"));
  ASSERT_OK(files_.CreateHardLink("/f", "/g"));
  EXPECT_EQ(files_.Resolve("/f")->node->id(), files_.Resolve("/g")->node->id());
  EXPECT_EQ(files_.CreateHardLink("/f", "/g").code(), EEXIST);
  EXPECT_EQ(files_.CreateHardLink("/none", "/h").code(), ENOENT);
  EXPECT_EQ(files_.CreateHardLink("/", "/h").code(), EPERM);
}

TEST_P(TreeTest, DeleteOfFilesLinksAndEmptyDirectories) {
  ASSERT_OK(files_.WriteBytes("/f", "x"));
  ASSERT_OK(files_.CreateDirectories("/d/e"));
  ASSERT_OK(files_.CreateSymlink("/link", "d"));
  EXPECT_EQ(files_.Delete("/d").code(), ENOTEMPTY);
  EXPECT_EQ(files_.Delete("/none").code(), ENOENT);
  EXPECT_EQ(files_.Delete("/none", Recursion::kYes).code(), ENOENT);
  EXPECT_EQ(files_.Delete("/").code(), EBUSY);
  EXPECT_EQ(files_.Delete("/", Recursion::kYes).code(), EBUSY);
  ASSERT_OK(files_.Delete("/link", Recursion::kYes));
  ASSERT_OK(files_.Delete("/d/e"));
  ASSERT_OK(files_.Delete("/d"));
  ASSERT_OK(files_.Delete("/f"));
  EXPECT_THAT(Walked("/"), ElementsAre("/"));
}

TEST_P(TreeTest, DeleteRecursiveDoesNotFollowLinks) {
  ASSERT_OK(files_.CreateDirectory("/keep"));
  ASSERT_OK(files_.WriteBytes("/keep/f", "x"));
  ASSERT_OK(files_.CreateDirectory("/gone"));
  ASSERT_OK(files_.CreateSymlink("/gone/link", "/keep"));
  MakeVariedTree(files_, "/gone");
  ASSERT_OK(files_.Delete("/gone", Recursion::kYes));
  EXPECT_THAT(Walked("/"), ElementsAre("/", "/keep", "/keep/f"));
}

TEST_P(TreeTest, DeleteNamesThePathThatFailed) {
  ASSERT_OK(files_.CreateDirectories("/home/a/closed"));
  ASSERT_OK(files_.WriteBytes("/home/a/closed/f", "x"));
  AttrChange owner;
  owner.uid = 1000;
  ASSERT_OK(backend_.fs->SetAttr({}, *files_.Resolve("/home")->node, owner));
  ASSERT_OK(backend_.fs->SetAttr({}, *files_.Resolve("/home/a")->node, owner));
  Caller caller;
  caller.uid = caller.gid = 1000;
  Result<void> deleted = Files(backend_.fs, caller).Delete("/home/a", Recursion::kYes);
  ASSERT_EQ(deleted.code(), EACCES);
  EXPECT_THAT(deleted.error().message(), HasSubstr("closed/f"));
}

TEST_P(TreeTest, DeepTreesNeedNoStack) {
  constexpr int kDepth = 20'000;
  MakeDeep("/deep", kDepth);
  uint64_t count = 0;
  ASSERT_OK(files_.Walk("/deep", [&](const FileEntry&) {
    ++count;
    return Visit::kContinue;
  }));
  EXPECT_EQ(count, uint64_t{kDepth} + 2);
  ASSERT_OK(files_.Copy("/deep", "/copy", Recursion::kYes));
  ASSERT_OK(files_.Delete("/deep", Recursion::kYes));
  ASSERT_OK(files_.Delete("/copy", Recursion::kYes));
  EXPECT_THAT(Walked("/"), ElementsAre("/"));
}

TEST_P(TreeTest, StopTokenEndsTreeOperations) {
  MakeDeep("/deep", 10);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(files_.Delete("/deep", Recursion::kYes, stop.get_token()).code(), ECANCELED);
  EXPECT_EQ(files_.Copy("/deep", "/c", Recursion::kYes, Overwrite::kNo, stop.get_token()).code(),
            ECANCELED);
  std::stop_source later;
  int visited = 0;
  Result<void> walked = files_.Walk(
      "/deep",
      [&](const FileEntry&) {
        if (++visited == 3) later.request_stop();
        return Visit::kContinue;
      },
      later.get_token());
  EXPECT_EQ(walked.code(), ECANCELED);
  EXPECT_EQ(visited, 3);
  EXPECT_FALSE(files_.Exists("/c"));
}

TEST_P(TreeTest, WalkIsDepthFirstAndSorted) {
  ASSERT_OK(files_.CreateDirectories("/w/b/z"));
  ASSERT_OK(files_.WriteBytes("/w/b/a", ""));
  ASSERT_OK(files_.WriteBytes("/w/a", ""));
  ASSERT_OK(files_.WriteBytes("/w/b.txt", ""));
  ASSERT_OK(files_.CreateSymlink("/w/c", "b"));
  EXPECT_THAT(Walked("/w"),
              ElementsAre("/w", "/w/a", "/w/b", "/w/b/a", "/w/b/z", "/w/b.txt", "/w/c"));
  EXPECT_THAT(Walked("/w/a"), ElementsAre("/w/a"));
  EXPECT_THAT(Walked("/w/c"), ElementsAre("/w/c", "/w/c/a", "/w/c/z"));
  std::vector<std::string> names;
  ASSERT_OK(files_.Walk("/w/b", [&](const FileEntry& entry) {
    names.push_back(entry.name);
    return names.size() == 2 ? Visit::kStop : Visit::kContinue;
  }));
  EXPECT_THAT(names, ElementsAre("b", "a"));
  EXPECT_EQ(files_.Walk("/none", [](const FileEntry&) { return Visit::kContinue; }).code(), ENOENT);
}

TEST_P(TreeTest, WalkToleratesWhatItsVisitorRemoves) {
  ASSERT_OK(files_.CreateDirectories("/w/b"));
  ASSERT_OK(files_.WriteBytes("/w/a", ""));
  ASSERT_OK(files_.WriteBytes("/w/c", ""));
  std::vector<std::string> seen;
  ASSERT_OK(files_.Walk("/w", [&](const FileEntry& entry) {
    seen.push_back(entry.path);
    if (entry.path == "/w/a") EXPECT_OK(files_.Delete("/w/b"));
    return Visit::kContinue;
  }));
  EXPECT_THAT(seen, ElementsAre("/w", "/w/a", "/w/c"));
}

TEST_P(TreeTest, MoveRenames) {
  ASSERT_OK(files_.CreateDirectories("/a/b"));
  ASSERT_OK(files_.WriteBytes("/a/b/f", "x"));
  ASSERT_OK(files_.Move("/a/b", "/c"));
  EXPECT_EQ(*files_.ReadBytes("/c/f"), "x");
  ASSERT_OK(files_.WriteBytes("/g", "y"));
  EXPECT_EQ(files_.Move("/g", "/c/f").code(), EEXIST);
  EXPECT_EQ(*files_.ReadBytes("/c/f"), "x");
  ASSERT_OK(files_.Move("/g", "/c/f", Overwrite::kYes));
  EXPECT_EQ(*files_.ReadBytes("/c/f"), "y");
  EXPECT_EQ(files_.Move("/none", "/d").code(), ENOENT);
  EXPECT_EQ(files_.Move("/c", "/c/inside").code(), EINVAL);
  EXPECT_EQ(files_.Move("/", "/d").code(), EBUSY);
  EXPECT_EQ(files_.Move("/c", "/").code(), EBUSY);
  EXPECT_EQ(files_.Move("/c", "/no/d").code(), ENOENT);
}

TEST_P(TreeTest, MoveMovesLinksThemselves) {
  ASSERT_OK(files_.WriteBytes("/f", "x"));
  ASSERT_OK(files_.CreateSymlink("/l", "f"));
  ASSERT_OK(files_.Move("/l", "/m"));
  EXPECT_EQ(*files_.ReadSymlink("/m"), "f");
}

TEST_P(TreeTest, ModesAndTimesAreSetThroughLinks) {
  ASSERT_OK(files_.WriteBytes("/f", "x"));
  ASSERT_OK(files_.CreateSymlink("/l", "f"));
  ASSERT_OK(files_.SetMode("/l", 0123));
  ASSERT_OK(files_.SetTimes("/l", {1, 2}, {3, 4}));
  Attr attr = files_.Entry("/f")->attr;
  EXPECT_EQ(attr.mode, uint32_t{S_IFREG | 0123});
  EXPECT_EQ(attr.atime, (Timestamp{1, 2}));
  EXPECT_EQ(attr.mtime, (Timestamp{3, 4}));
}

AGENTFS_FILES_SUITE(TreeTest);

}  // namespace
}  // namespace agentfs::testing
