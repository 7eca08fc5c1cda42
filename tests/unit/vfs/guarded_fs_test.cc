// SPDX-License-Identifier: Apache-2.0
#include "vfs/guarded_fs.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "agentfs/files.h"
#include "core_rig.h"
#include "policy/policy.h"

namespace agentfs {
namespace {

// A branch with files that a person has put there, seen through rules.
class GuardedFsTest : public CoreTest {
 protected:
  void SetUp() override {
    for (const char* path : {"secrets", "secrets/deep", "vendor", "src", "src/conf"})
      BaseDirectory(path);
    BaseFile("secrets/deep/key", "the key");
    BaseFile(".env", "the password");
    BaseFile("vendor/lib.c", "library");
    BaseFile("src/a.c", "int a;");
    BaseFile("src/conf/.env", "another");
    OpenOverBase();
    view_ = Get(volume().OpenBranch("main"));
    guarded_ = std::make_shared<GuardedFs>(view_, rules_);
    files_.emplace(guarded_, Caller{});
    policy::PathRuleTexts texts;
    texts.deny_read = {"**/.env", "/secrets/**"};
    texts.deny_write = {"/vendor/**"};
    Enforce(texts);
  }
  void TearDown() override {
    files_.reset();
    guarded_.reset();
    view_.reset();
    Close();
  }

  void Enforce(const policy::PathRuleTexts& texts) {
    policy::Policy policy;
    policy.paths = policy::PathRules::Compile(texts).value();
    rules_->Set(policy::PolicySet({std::move(policy)}).Permissions());
  }

  int Read(const std::string& path) { return files_->ReadText(path).code(); }
  NodeRef Node(const std::string& path) { return Get(Files(view_, Caller{}).Resolve(path)).node; }

  std::shared_ptr<RulesInForce> rules_ = std::make_shared<RulesInForce>();
  std::shared_ptr<FileSystem> view_, guarded_;
  std::optional<Files> files_;
};

TEST_F(GuardedFsTest, WhatMayNotBeReadIsSeenAndNotRead) {
  EXPECT_EQ(Read("/.env"), EACCES);
  EXPECT_EQ(Read("/src/conf/.env"), EACCES);
  EXPECT_TRUE(files_->Exists("/.env"));
  EXPECT_EQ(Read("/src/a.c"), 0);
  // Also where nobody asked when it was opened.
  char byte;
  EXPECT_EQ(guarded_->Read(*Node("/.env"), 0, {&byte, 1}).code(), EACCES);
}

TEST_F(GuardedFsTest, ADeniedDirectoryShowsNothing) {
  EXPECT_EQ(files_->ListNames("/secrets").code(), EACCES);
  EXPECT_EQ(Read("/secrets/deep/key"), EACCES);
  EXPECT_EQ(files_->Entry("/secrets/deep").code(), EACCES);
}

TEST_F(GuardedFsTest, WhatIsDeniedIsNotWritten) {
  for (const char* path : {"/.env", "/vendor/lib.c", "/vendor/new.c", "/src/.env"}) {
    EXPECT_EQ(files_->WriteText(path, "x").code(), EACCES) << path;
  }
  EXPECT_EQ(files_->Delete("/vendor/lib.c").code(), EACCES);
  EXPECT_EQ(guarded_->Write(Caller{}, *Node("/vendor/lib.c"), 0, {"x", 1}).code(), EACCES);
  AttrChange change;
  change.size = 0;
  EXPECT_EQ(guarded_->SetAttr(Caller{}, *Node("/.env"), change).code(), EACCES);
  EXPECT_EQ(Read("/vendor/lib.c"), 0);
}

TEST_F(GuardedFsTest, ASecondNameIsNotGiven) {
  NodeRef root = guarded_->Root();
  for (const char* path : {"/.env", "/secrets/deep/key", "/vendor/lib.c"}) {
    EXPECT_EQ(guarded_->Link(Caller{}, *Node(path), *root, "copy").code(), EACCES) << path;
  }
  EXPECT_EQ(guarded_->CopyRange(Caller{}, *Node("/.env"), 0, *Node("/src/a.c"), 0, 4).code(),
            EACCES);
}

TEST_F(GuardedFsTest, MovingEvadesNothing) {
  EXPECT_EQ(files_->Move("/.env", "/plain").code(), EACCES);
  EXPECT_EQ(files_->Move("/secrets", "/open").code(), EACCES);
  EXPECT_EQ(files_->Move("/vendor", "/mine").code(), EACCES);
  EXPECT_EQ(files_->Move("/src/a.c", "/vendor/a.c").code(), EACCES);
  EXPECT_EQ(files_->Move("/src/a.c", "/src/.env").code(), EACCES);
  // What is denied beneath this directory is so wherever it is.
  EXPECT_TRUE(files_->Move("/src/conf", "/configuration").ok());
  EXPECT_EQ(Read("/configuration/.env"), EACCES);
}

TEST_F(GuardedFsTest, ADirectoryAboveWhatIsDeniedIsNotMoved) {
  policy::PathRuleTexts texts;
  texts.deny_read = {"/src/*/.env"};
  Enforce(texts);
  EXPECT_EQ(files_->Move("/src", "/other").code(), EACCES);
  EXPECT_EQ(files_->Move("/src/conf", "/conf").code(), EACCES);
  EXPECT_TRUE(files_->Move("/src/conf", "/src/configuration").ok());
  EXPECT_TRUE(files_->Move("/vendor", "/lib").ok());
}

TEST_F(GuardedFsTest, ExchangingDirectoriesIsMovingBoth) {
  NodeRef root = guarded_->Root();
  EXPECT_EQ(
      guarded_->Rename(Caller{}, *root, "src", *root, "secrets", RenameMode::kExchange).code(),
      EACCES);
  policy::PathRuleTexts texts;
  texts.deny_read = {"/src/conf/*"};
  Enforce(texts);
  EXPECT_EQ(guarded_->Rename(Caller{}, *root, "vendor", *root, "src", RenameMode::kExchange).code(),
            EACCES);
}

TEST_F(GuardedFsTest, AnOpenFileThatLosesItsNameStaysDenied) {
  NodeRef root = guarded_->Root();
  NodeRef env = Get(guarded_->Lookup(Caller{}, *root, ".env")).node;
  Get(view_->Unlink(Caller{}, *root, ".env"));
  char byte;
  EXPECT_EQ(guarded_->Read(*env, 0, {&byte, 1}).code(), EACCES);
}

TEST_F(GuardedFsTest, RulesComeAndGo) {
  rules_->Set(nullptr);
  EXPECT_EQ(Read("/.env"), 0);
  EXPECT_TRUE(files_->WriteText("/vendor/new.c", "x").ok());
  policy::PathRuleTexts texts;
  texts.allow_write = {"/src/**"};
  Enforce(texts);
  EXPECT_TRUE(files_->WriteText("/src/b.c", "x").ok());
  EXPECT_EQ(files_->WriteText("/b.c", "x").code(), EACCES);
  EXPECT_EQ(Read("/.env"), 0);
}

TEST_F(GuardedFsTest, PathsOutsideOfTheWorkspaceAreTheHosts) {
  Get(Files(view_, Caller{}).CreateDirectories("/.agentfs/host/secrets"));
  NodeRef root = guarded_->Root();
  NodeRef reserved = Get(guarded_->Lookup(Caller{}, *root, ".agentfs")).node;
  NodeRef host = Get(guarded_->Lookup(Caller{}, *reserved, "host")).node;
  EXPECT_EQ(guarded_->Create(Caller{}, *host, ".env", 0644).code(), EACCES);
  EXPECT_TRUE(guarded_->Create(Caller{}, *host, "env", 0644).ok());
  NodeRef secrets = Get(guarded_->Lookup(Caller{}, *host, "secrets")).node;
  EXPECT_EQ(guarded_->Create(Caller{}, *secrets, "x", 0644).code(), EACCES);
}

}  // namespace
}  // namespace agentfs
