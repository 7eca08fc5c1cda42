// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "scratch.h"
#include "workspace/workspace.h"

namespace agentfs {
namespace {

using testing::ElementsAre;

class PrepareTest : public testing::Test {
 protected:
  PrepareTest() { MakeHostDirectory(host_ / "base"); }
  Scratch host_;
  const std::string base_ = AbsolutePath(host_ / "base");
};

TEST_F(PrepareTest, LaysOutAWorkspaceInItsDirectory) {
  InitOptions options;
  options.directory = base_;
  auto workspace = PrepareWorkspace(options);
  ASSERT_TRUE(workspace.ok()) << workspace.error().message();
  const Layout& layout = workspace->layout;
  EXPECT_EQ(layout.root, base_);
  EXPECT_EQ(layout.base, base_);
  EXPECT_EQ(layout.database, base_ + "/.agentfs/state.db");
  EXPECT_EQ(layout.objects, base_ + "/.agentfs/objects");
  EXPECT_THAT(layout.hidden, ElementsAre(".agentfs"));
  EXPECT_EQ(ReadHostFile(base_ + "/.agentfs/.gitignore"), "*\n");
  EXPECT_TRUE(std::filesystem::is_directory(layout.objects));
  // What it holds may be copies of files that others must not read.
  struct stat st;
  ASSERT_EQ(::stat((base_ + "/.agentfs").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0077, 0u);
  // The base is not written down: the directory may be moved.
  std::filesystem::rename(base_, host_ / "moved");
  auto moved = LoadWorkspace({WorkspaceKind::kDirectory, host_ / "moved"});
  ASSERT_TRUE(moved.ok());
  EXPECT_EQ(moved->layout.base, host_ / "moved");
}

TEST_F(PrepareTest, AStateDirectoryKeepsTheBaseClean) {
  InitOptions options;
  options.directory = base_;
  options.state = host_ / "state";
  auto workspace = PrepareWorkspace(options);
  ASSERT_TRUE(workspace.ok()) << workspace.error().message();
  EXPECT_TRUE(std::filesystem::is_empty(base_));
  EXPECT_EQ(workspace->layout.root, AbsolutePath(host_ / "state"));
  EXPECT_EQ(workspace->layout.base, base_);
  EXPECT_EQ(workspace->config.base, base_);
}

TEST_F(PrepareTest, AStateDirectoryInTheBasesRootIsHidden) {
  InitOptions options;
  options.directory = base_;
  options.state = base_ + "/state";
  auto workspace = PrepareWorkspace(options);
  ASSERT_TRUE(workspace.ok());
  EXPECT_THAT(workspace->layout.hidden, ElementsAre(".agentfs", "state"));
}

TEST_F(PrepareTest, AStateDirectoryDeeperInTheBaseIsRefusedAndNotMade) {
  MakeHostDirectory(base_ + "/d");
  InitOptions options;
  options.directory = base_;
  for (const std::string& state : {base_ + "/d/state", base_}) {
    options.state = state;
    EXPECT_EQ(PrepareWorkspace(options).code(), EINVAL) << state;
  }
  EXPECT_TRUE(std::filesystem::is_empty(base_ + "/d"));
}

TEST_F(PrepareTest, SingleFileNeedsNoObjects) {
  InitOptions options;
  options.directory = base_;
  options.single_file = true;
  auto workspace = PrepareWorkspace(options);
  ASSERT_TRUE(workspace.ok());
  EXPECT_TRUE(workspace->config.volume.single_file);
  EXPECT_EQ(workspace->layout.objects, "");
  EXPECT_FALSE(std::filesystem::exists(base_ + "/.agentfs/objects"));
}

TEST_F(PrepareTest, BareIsOneFileWithoutABase) {
  InitOptions options;
  options.bare = host_ / "x.db";
  auto workspace = PrepareWorkspace(options);
  ASSERT_TRUE(workspace.ok());
  EXPECT_EQ(workspace->layout.base, "");
  EXPECT_EQ(workspace->layout.objects, "");
  EXPECT_TRUE(workspace->config.volume.single_file);
  EXPECT_FALSE(std::filesystem::exists(host_ / "x.db"));
  options.directory = base_;
  EXPECT_EQ(PrepareWorkspace(options).code(), EINVAL);
}

TEST_F(PrepareTest, ChangesNothingWhereThereIsOne) {
  InitOptions options;
  options.directory = base_;
  ASSERT_TRUE(PrepareWorkspace(options).ok());
  WriteHostFile(base_ + "/.agentfs/state.db", "a database");
  WriteHostFile(base_ + "/.agentfs/config.toml", "[limits]\nmax_nodes = 3\n");
  std::filesystem::remove(base_ + "/.agentfs/.gitignore");
  options.single_file = true;
  auto again = PrepareWorkspace(options);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->config.volume.limits.max_nodes, 3u);
  EXPECT_FALSE(again->config.volume.single_file);
  EXPECT_FALSE(std::filesystem::exists(base_ + "/.agentfs/.gitignore"));
}

TEST_F(PrepareTest, NeedsADirectory) {
  InitOptions options;
  options.directory = host_ / "absent";
  EXPECT_EQ(PrepareWorkspace(options).code(), ENOENT);
  WriteHostFile(host_ / "f", "");
  options.directory = host_ / "f";
  EXPECT_EQ(PrepareWorkspace(options).code(), ENOTDIR);
}

TEST_F(PrepareTest, AnIncompleteWorkspaceSaysHowToCompleteIt) {
  MakeHostDirectory(base_ + "/.agentfs");
  auto workspace = LoadWorkspace({WorkspaceKind::kDirectory, base_});
  EXPECT_EQ(workspace.code(), ENOENT);
  EXPECT_THAT(std::string(workspace.error().remedy()), testing::HasSubstr("agentfs init"));
}

}  // namespace
}  // namespace agentfs
