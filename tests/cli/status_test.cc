// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "mounted.h"

namespace agentfs {
namespace {

using testing::HasSubstr;

TEST_F(WorkspaceCliTest, StatusTellsWhatTheWorkspaceIsAndHas) {
  Do({"fs", "write", "/new"}, "12345");
  Do({"branch", "create", "b"});
  Do({"snapshot", "create", "s"});
  auto json = Do({"status", "--json"}).Json();
  EXPECT_EQ(json["workspace"], At("base"));
  EXPECT_EQ(json["base"], At("base"));
  ASSERT_EQ(json["branches"].size(), 2u);
  EXPECT_EQ(json["branches"][1]["name"], "main");
  EXPECT_EQ(json["branches"][1]["changes"]["added"], 1);
  EXPECT_EQ(json["branches"][1]["changes"]["modified"], 0);
  EXPECT_EQ(json["branches"][1]["changes"]["removed"], 0);
  EXPECT_EQ(json["branches"][1]["changes"]["bytes"], 5);
  EXPECT_EQ(json["snapshots"], 1);
  EXPECT_EQ(json["mounts"].size(), 0u);
  EXPECT_EQ(json["limits"]["max_nodes"], nullptr);
  EXPECT_GT(json["sizes"]["database_bytes"], 0);
  EXPECT_FALSE(json.contains("server"));
  const std::string text = Do({"status"}).out;
  EXPECT_THAT(text, HasSubstr("workspace  " + At("base")));
  EXPECT_THAT(text, HasSubstr("main"));
  EXPECT_THAT(text, HasSubstr("limits     none"));
}

TEST_F(WorkspaceCliTest, StatusCountsHowBranchesDifferFromTheBase) {
  Do({"fs", "rm", "-r", "/src"});
  Do({"fs", "append", "/README"}, "more");
  Do({"fs", "mkdir", "-p", "/d/e"});
  Do({"branch", "create", "other", "--from", "base"});
  const auto branches = Do({"status", "--json"}).Json()["branches"];
  const auto changes = branches[0]["changes"];
  EXPECT_EQ(changes["added"], 1) << "a directory counts if nothing is in it";
  EXPECT_EQ(changes["modified"], 1);
  EXPECT_EQ(changes["removed"], 2);
  EXPECT_EQ(changes["renamed"], 0);
  EXPECT_EQ(branches[1]["changes"]["modified"], 0);
  EXPECT_THAT(Do({"status"}).out, HasSubstr("DELETED"));
}

TEST_F(WorkspaceCliTest, StatusShowsTheLimitsThatHold) {
  WriteHost("base/.agentfs/config.toml", "[limits]\nmax_nodes = 77\n");
  EXPECT_EQ(Do({"status", "--json"}).Json()["limits"]["max_nodes"], 77);
  EXPECT_THAT(Do({"status"}).out, HasSubstr("max_nodes 77"));
}

TEST_F(MountCliTest, StatusShowsMountsAndWhoUsesThem) {
  Mount();
  const int file = ::open(InMount("README").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  auto json = Do({"status", "--json"}).Json();
  EXPECT_EQ(json["server"]["pid"], ServerPid());
  ASSERT_EQ(json["mounts"].size(), 1u);
  const auto& mount = json["mounts"][0];
  EXPECT_EQ(mount["mount_point"], At("mnt"));
  EXPECT_EQ(mount["profile"], "default");
  EXPECT_FALSE(mount["capabilities"].empty());
  ASSERT_EQ(mount["users"].size(), 1u) << mount;
  EXPECT_EQ(mount["users"][0]["pid"], ::getpid());
  EXPECT_EQ(json["branches"][0]["in_use"], true);
  const std::string text = Do({"status"}).out;
  EXPECT_THAT(text, HasSubstr(At("mnt") + "  branch main"));
  EXPECT_THAT(text, HasSubstr("(" + std::to_string(::getpid()) + ")"));
  ::close(file);
}

}  // namespace
}  // namespace agentfs
