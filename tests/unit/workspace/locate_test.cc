// SPDX-License-Identifier: Apache-2.0
#include "workspace/locate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scratch.h"

namespace agentfs {
namespace {

class LocateTest : public testing::Test {
 protected:
  LocateTest() {
    MakeHostDirectory(host_ / "ws");
    MakeHostDirectory(host_ / "ws/.agentfs");
    MakeHostDirectory(host_ / "ws/deep");
    MakeHostDirectory(host_ / "ws/deep/down");
    MakeHostDirectory(host_ / "other");
    MakeHostDirectory(host_ / "other/.agentfs");
    MakeHostDirectory(host_ / "plain");
  }
  Scratch host_;
};

TEST_F(LocateTest, WalksUpwards) {
  auto place = FindWorkspace({"", "", host_ / "ws/deep/down"});
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->path, AbsolutePath(host_ / "ws"));
  EXPECT_EQ(place->kind, WorkspaceKind::kDirectory);
}

TEST_F(LocateTest, TheOptionWinsOverTheEnvironmentAndThatOverTheWalk) {
  const std::string down = host_ / "ws/deep";
  EXPECT_EQ(FindWorkspace({"", host_ / "other", down})->path, AbsolutePath(host_ / "other"));
  EXPECT_EQ(FindWorkspace({host_ / "ws", host_ / "other", "/"})->path, AbsolutePath(host_ / "ws"));
  // A wrong option is an error, not a reason to look elsewhere.
  EXPECT_EQ(FindWorkspace({host_ / "plain", host_ / "other", down}).code(), ENOENT);
  EXPECT_EQ(FindWorkspace({"", host_ / "absent", down}).code(), ENOENT);
}

TEST_F(LocateTest, TheStateDirectoryStandsForItsWorkspace) {
  WriteHostFile(host_ / "ws/.agentfs/config.toml", "");
  WriteHostFile(host_ / "ws/.agentfs/state.db", "");
  EXPECT_EQ(FindWorkspace({host_ / "ws/.agentfs", "", "/"})->path, AbsolutePath(host_ / "ws"));
}

TEST_F(LocateTest, KnowsStateDirectoriesAndFiles) {
  WriteHostFile(host_ / "plain/config.toml", "");
  WriteHostFile(host_ / "plain/state.db", "");
  EXPECT_EQ(FindWorkspace({host_ / "plain", "", "/"})->kind, WorkspaceKind::kState);
  EXPECT_EQ(FindWorkspace({host_ / "plain/state.db", "", "/"})->kind, WorkspaceKind::kBare);
}

TEST_F(LocateTest, SaysWhatToDoWhenThereIsNone) {
  auto none = FindWorkspace({"", "", host_ / "plain"});
  EXPECT_EQ(none.code(), ENOENT);
  EXPECT_THAT(std::string(none.error().remedy()), testing::HasSubstr("agentfs init"));
  auto named = FindWorkspace({host_ / "plain", "", "/"});
  EXPECT_THAT(named.error().message(), testing::HasSubstr("not a workspace"));
}

}  // namespace
}  // namespace agentfs
