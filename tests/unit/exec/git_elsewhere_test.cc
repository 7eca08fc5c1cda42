// SPDX-License-Identifier: Apache-2.0
#include "exec/git_elsewhere.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace agentfs {
namespace {

namespace fs = std::filesystem;

class GitElsewhereTest : public testing::Test {
 protected:
  GitElsewhereTest() {
    std::string name = fs::temp_directory_path() / "agentfs-git.XXXXXX";
    top_ = ::mkdtemp(name.data());
    top_ = fs::canonical(top_);
    fs::create_directories(top_ / "work");
  }
  ~GitElsewhereTest() override { fs::remove_all(top_); }

  void MakeRepository(const std::string& name) {
    fs::create_directories(top_ / name / "objects");
    Write(name + "/HEAD", "ref: refs/heads/main\n");
  }
  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((top_ / name).parent_path());
    std::ofstream(top_ / name) << text;
  }
  std::string Found() const { return GitElsewhere(top_ / "work"); }

  fs::path top_;
};

TEST_F(GitElsewhereTest, AWorktreeSharesTheWholeRepository) {
  MakeRepository("main/.git");
  Write("main/.git/worktrees/side/commondir", "../..\n");
  Write("work/.git", "gitdir: " + (top_ / "main/.git/worktrees/side").string() + "\n");
  EXPECT_EQ(Found(), top_ / "main/.git");
}

TEST_F(GitElsewhereTest, ASubmoduleHasOneOfItsOwn) {
  MakeRepository(".git");
  MakeRepository(".git/modules/work");
  Write("work/.git", "gitdir: ../.git/modules/work\n");
  EXPECT_EQ(Found(), top_ / ".git/modules/work");
}

TEST_F(GitElsewhereTest, OtherDirectoriesHaveNone) {
  EXPECT_EQ(Found(), "");
  Write("work/.git", "gitdir: ../nowhere\n");
  EXPECT_EQ(Found(), "");
  Write("work/.git", "gitdir: /\n");
  EXPECT_EQ(Found(), "") << "that is no repository";
  Write("work/.git", "something else\n");
  EXPECT_EQ(Found(), "");
  fs::remove(top_ / "work/.git");
  MakeRepository("work/.git");
  EXPECT_EQ(Found(), "");
}

}  // namespace
}  // namespace agentfs
