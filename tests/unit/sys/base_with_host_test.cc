// SPDX-License-Identifier: Apache-2.0
#include "sys/base_with_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "scratch.h"

namespace agentfs {
namespace {

class BaseWithHostTest : public testing::Test {
 protected:
  BaseWithHostTest() {
    for (const char* name : {"/ws", "/ws/.agentfs", "/more", "/more/sub"}) {
      EXPECT_EQ(::mkdir((root_ + name).c_str(), 0755), 0);
    }
    WriteHostFile(root_ + "/ws/f", "inner");
    WriteHostFile(root_ + "/more/f", "outer");
    WriteHostFile(root_ + "/more/sub/g", "covered");
    auto inner = OpenHostBase(root_ + "/ws", {".agentfs"});
    auto base = OpenBaseWithHost(std::move(*inner), {root_ + "/ws", root_ + "/more/sub"});
    EXPECT_TRUE(base.ok());
    base_ = std::move(*base);
  }

  std::string Host(const std::string& name) const { return ".agentfs/host" + root_ + name; }
  std::string Read(const std::string& path) {
    auto file = base_->Open(path);
    if (!file.ok()) return "error " + std::to_string(file.code());
    std::string text(100, '\0');
    text.resize(*(*file)->Read(0, text));
    return text;
  }
  std::vector<std::string> Names(const std::string& path) {
    std::vector<std::string> names;
    const auto entries = base_->List(path);
    for (const BaseEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }

  Scratch scratch_;
  const std::string root_ = scratch_.path();
  std::unique_ptr<BaseFs> base_;
};

TEST_F(BaseWithHostTest, ShowsBothAndListsOnlyTheWorkspace) {
  EXPECT_EQ(Read("f"), "inner");
  EXPECT_EQ(Read(Host("/more/f")), "outer");
  EXPECT_THAT(Names(""), testing::ElementsAre("f"));
  EXPECT_THAT(Names(".agentfs"), testing::ElementsAre("host"));
  EXPECT_TRUE(S_ISDIR(base_->Stat(".agentfs/host")->attr.mode));
  EXPECT_EQ(base_->Stat(".agentfs/other").code(), ENOENT);
}

TEST_F(BaseWithHostTest, WhatIsCoveredIsAnEmptyDirectory) {
  EXPECT_TRUE(S_ISDIR(base_->Stat(Host("/ws"))->attr.mode));
  EXPECT_TRUE(Names(Host("/ws")).empty());
  EXPECT_EQ(base_->Stat(Host("/ws/f")).code(), ENOENT);
  EXPECT_EQ(Read(Host("/more/sub/g")), "error " + std::to_string(ENOENT));
  const std::vector<std::string_view> names = {"g"};
  EXPECT_EQ((*base_->StatNames(Host("/more/sub"), names))[0].code(), ENOENT);
}

TEST_F(BaseWithHostTest, OneFileHasOneIdentityPerWay) {
  const std::vector<std::string_view> names = {"f", "sub", "none"};
  const auto stats = *base_->StatNames(Host("/more"), names);
  EXPECT_EQ(stats[0]->identity, base_->Stat(Host("/more/f"))->identity);
  EXPECT_EQ(stats[0]->identity, (*base_->Open(Host("/more/f")))->Stat()->identity);
  EXPECT_EQ(stats[2].code(), ENOENT);
  // The same file through the workspace and through the host is two nodes.
  auto whole = OpenBaseWithHost(std::move(*OpenHostBase(root_)), {});
  EXPECT_NE((*whole)->Stat("more/f")->identity, (*whole)->Stat(Host("/more/f"))->identity);
}

}  // namespace
}  // namespace agentfs
