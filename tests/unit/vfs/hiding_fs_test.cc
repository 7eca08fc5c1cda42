// SPDX-License-Identifier: Apache-2.0
#include "vfs/hiding_fs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agentfs/files.h"
#include "core_rig.h"

namespace agentfs {
namespace {

using testing::UnorderedElementsAre;

class HidingFsTest : public CoreTest {
 protected:
  void SetUp() override {
    for (const char* path : {"keys", "src", "src/deep"}) BaseDirectory(path);
    BaseFile("keys/id", "the key");
    BaseFile("src/deep/.env", "the password");
    BaseFile("src/a.c", "int a;");
    BaseFile(".env", "no secret");
    OpenOverBase();
    view_ = Get(volume().OpenBranch("main"));
    hiding_ = std::make_shared<HidingFs>(view_, std::make_shared<HiddenPaths>(hidden_));
    files_.emplace(hiding_, Caller{});
  }
  void TearDown() override {
    files_.reset();
    hiding_.reset();
    view_.reset();
    Close();
  }

  std::vector<std::string> Names(const std::string& path) {
    std::vector<std::string> names, plus;
    const NodeRef node = Node(path);
    EXPECT_TRUE(hiding_
                    ->ReadDirectory(Caller{}, *node, 0,
                                    [&](const DirEntry& entry) {
                                      names.emplace_back(entry.name);
                                      return Visit::kContinue;
                                    })
                    .ok());
    EXPECT_TRUE(hiding_
                    ->ReadDirectoryPlus(Caller{}, *node, 0,
                                        [&](const DirEntry& entry, const Found&) {
                                          plus.emplace_back(entry.name);
                                          return Visit::kContinue;
                                        })
                    .ok());
    EXPECT_EQ(names, plus);
    return names;
  }
  NodeRef Node(const std::string& path) { return Get(Files(view_, Caller{}).Resolve(path)).node; }
  int Move(const std::string& from, const std::string& from_name, const std::string& to,
           const std::string& to_name, RenameMode mode = RenameMode::kReplace) {
    return hiding_->Rename(Caller{}, *Node(from), from_name, *Node(to), to_name, mode).code();
  }

  const std::vector<std::string> hidden_ = {"/keys", "/src/deep/.env", "/src/none"};
  std::shared_ptr<FileSystem> view_, hiding_;
  std::optional<Files> files_;
};

TEST_F(HidingFsTest, WhatIsHiddenIsNeitherFoundNorListed) {
  EXPECT_EQ(files_->ReadText("/keys/id").code(), ENOENT);
  EXPECT_FALSE(files_->Exists("/keys"));
  EXPECT_FALSE(files_->Exists("/src/deep/.env"));
  EXPECT_EQ(files_->ReadText("/src/deep/../deep/.env").code(), ENOENT);
  EXPECT_THAT(Names("/"), UnorderedElementsAre("src", ".env"));
  EXPECT_TRUE(Names("/src/deep").empty());
  EXPECT_EQ(files_->ReadText("/.env").value(), "no secret") << "only the path that is named";
  EXPECT_TRUE(Files(view_, Caller{}).Exists("/keys/id")) << "others see it";
}

TEST_F(HidingFsTest, NothingGetsTheNameOfWhatIsHidden) {
  const NodeRef root = Node("/"), src = Node("/src"), a = Node("/src/a.c");
  EXPECT_EQ(hiding_->Create(Caller{}, *root, "keys", 0644).code(), EACCES);
  EXPECT_EQ(hiding_->Create(Caller{}, *src, "none", 0644).code(), EACCES)
      << "nor what is not there";
  EXPECT_EQ(hiding_->MakeDirectory(Caller{}, *root, "keys", 0755).code(), EACCES);
  EXPECT_EQ(hiding_->MakeNode(Caller{}, *root, "keys", 010644, 0).code(), EACCES);
  EXPECT_EQ(hiding_->MakeSymlink(Caller{}, *root, "keys", "src").code(), EACCES);
  EXPECT_EQ(hiding_->Link(Caller{}, *a, *root, "keys").code(), EACCES);
  EXPECT_EQ(Move("/src", "a.c", "/", "keys"), EACCES);
  EXPECT_EQ(Move("/src", "a.c", "/", "keys", RenameMode::kNoReplace), EACCES);
}

TEST_F(HidingFsTest, WhatIsHiddenIsNotTakenAwayOrBroughtToLight) {
  EXPECT_EQ(hiding_->RemoveDirectory(Caller{}, *Node("/"), "keys").code(), ENOENT);
  EXPECT_EQ(hiding_->Unlink(Caller{}, *Node("/src/deep"), ".env").code(), ENOENT);
  EXPECT_EQ(Move("/", "keys", "/", "seen"), ENOENT);
  EXPECT_EQ(Move("/", "src", "/", "keys", RenameMode::kExchange), ENOENT);
  EXPECT_EQ(Move("/", "src", "/", "seen"), EACCES) << "above something hidden";
  EXPECT_EQ(Move("/src", "deep", "/", "seen"), EACCES);
  EXPECT_EQ(Move("/src", "a.c", "/src", "deep", RenameMode::kExchange), EACCES);
  EXPECT_EQ(hiding_->RemoveDirectory(Caller{}, *Node("/src"), "deep").code(), ENOTEMPTY);
  EXPECT_EQ(Move("/src", "a.c", "/", "b.c"), 0);
  EXPECT_EQ(Files(view_, Caller{}).ReadText("/src/deep/.env").value(), "the password");
}

}  // namespace
}  // namespace agentfs
