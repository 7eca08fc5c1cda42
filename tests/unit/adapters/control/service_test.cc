// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "control_rig.h"

namespace agentfs::control {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

std::string CodeOf(const json& answer) {
  EXPECT_EQ(answer["ok"], false) << answer;
  EXPECT_NE(answer["error"]["message"], "") << answer;
  return answer["error"]["code"];
}

TEST_F(ControlTest, SnapshotsAreMadeListedAndDeleted) {
  auto made = Do("snapshot.create", {{"name", "one"}, {"message", "first"}});
  EXPECT_EQ(made["name"], "one");
  EXPECT_EQ(made["branch"], "main");
  EXPECT_EQ(made["id"], "s1");
  auto list = Do("snapshot.list");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0], made);
  Do("snapshot.delete", {{"name", "one"}});
  EXPECT_TRUE(Do("snapshot.list").empty());
  EXPECT_EQ(CodeOf(Ask("snapshot.delete", {{"name", "one"}})), "ENOENT");
}

TEST_F(ControlTest, BranchesAreMadeListedAndDeleted) {
  Do("branch.create", {{"name", "b"}});
  auto list = Do("branch.list");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["name"], "b");
  EXPECT_EQ(CodeOf(Ask("branch.create", {{"name", "b"}})), "EEXIST");
  Do("branch.delete", {{"name", "b"}});
  EXPECT_EQ(Do("branch.list").size(), 1u);
}

TEST_F(ControlTest, ASnapshotComesAfterTheKernelsPages) {
  Do("snapshot.create", {{"branch", "main"}});
  EXPECT_THAT(mounts_.Calls(), ElementsAre("flush main"));
}

TEST_F(ControlTest, ARestoreKeepsWhatItReplacesAndTellsTheMounts) {
  Do("snapshot.create", {{"name", "one"}});
  auto restored = Do("restore", {{"ref", "one"}});
  EXPECT_EQ(restored["replaced"]["branch"], "main");
  EXPECT_THAT(mounts_.Calls(), ElementsAre("flush main", "flush main", "replaced main"));
  EXPECT_EQ(Do("snapshot.list").size(), 2u);
}

TEST_F(ControlTest, AFailedRestoreLeavesNoSnapshotBehind) {
  EXPECT_EQ(CodeOf(Ask("restore", {{"ref", "nothing"}})), "ENOENT");
  EXPECT_TRUE(Do("snapshot.list").empty());
}

TEST_F(ControlTest, StatusShowsBranchesMountsAndTheirUsers) {
  Ask("mount", json::object(), {}, "/mnt");
  auto status = Do("status");
  EXPECT_EQ(status["branches"][0]["changes"]["files"], 0);
  EXPECT_EQ(status["mounts"][0]["mount_point"], "/mnt");
  EXPECT_EQ(status["mounts"][0]["users"][0]["name"], "vim");
  EXPECT_EQ(status["described"], true);
}

TEST_F(ControlTest, AFlushWritesTheKernelsPagesAndAllThatIsPending) {
  const auto view = volume_->OpenBranch("main").value();  // it is in use
  ASSERT_TRUE(view->Create({}, *view->Root(), "file", 0644).ok());
  Do("flush");
  EXPECT_THAT(mounts_.Calls(), ElementsAre("flush main"));
  EXPECT_EQ(Do("statistics")["pending_bytes"], 0);
}

TEST_F(ControlTest, StatisticsCountTheVolumeAndEachMountsRequests) {
  Do("branch.create", {{"name", "b"}});
  Do("snapshot.create", {{"name", "one"}});
  Ask("mount", json::object(), {}, "/mnt");
  const json statistics = Do("statistics");
  EXPECT_EQ(statistics["branches"], 2);
  EXPECT_EQ(statistics["snapshots"], Do("snapshot.list").size());
  ASSERT_EQ(statistics["mounts"].size(), 1u);
  EXPECT_EQ(statistics["mounts"][0]["mount_point"], "/mnt");
  EXPECT_TRUE(statistics["mounts"][0]["operations"].is_object());
}

TEST_F(ControlTest, MountPointsAreBytes) {
  EXPECT_EQ(Ask("mount", json::object(), {}, "/m\xff")["ok"], true);
  EXPECT_EQ(mounts_.List()[0].point, "/m\xff");
  auto answer = Ask("umount", json::object(), {}, "/m\xff");
  EXPECT_EQ(answer["result"]["mounts_left"], 0);
}

TEST_F(ControlTest, UnmountAllTellsOfTheOneThatIsBusy) {
  Ask("mount", json::object(), {}, "/a");
  mounts_.busy = true;
  EXPECT_EQ(CodeOf(Ask("umount-all")), "EBUSY");
  EXPECT_EQ(Do("umount-all", {{"force", true}})["mounts_left"], 0);
}

TEST_F(ControlTest, WhatIsNoRequestGetsAnAnswer) {
  auto ask = [&](const std::string& text) {
    return CodeOf(json::parse(service_->Execute({text, "", {}}, {})));
  };
  EXPECT_EQ(ask(""), "EBADMSG");
  EXPECT_EQ(ask("nonsense"), "EBADMSG");
  EXPECT_EQ(ask("[]"), "EBADMSG");
  EXPECT_EQ(ask("{}"), "EBADMSG");
  EXPECT_EQ(ask(R"({"version":1})"), "EBADMSG");
  EXPECT_EQ(ask(R"({"version":1,"request":7})"), "EBADMSG");
  EXPECT_EQ(ask(R"({"version":1,"request":"status","arguments":3})"), "EBADMSG");
  EXPECT_EQ(ask(R"({"version":99,"request":"status"})"), "EPROTONOSUPPORT");
  EXPECT_EQ(ask(R"({"version":1,"request":"make-coffee"})"), "ENOSYS");
}

TEST_F(ControlTest, ArgumentsOfTheWrongKindAreNamed) {
  auto answer = Ask("snapshot.create", {{"name", 7}});
  EXPECT_EQ(CodeOf(answer), "EINVAL");
  EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("'name'"));
  EXPECT_EQ(CodeOf(Ask("branch.create")), "EINVAL");
}

TEST_F(ControlTest, CommandsOfAnotherProgramVersionAreTurnedAway) {
  auto answer = Ask("command", {{"program", "9.9.9"}});
  EXPECT_EQ(CodeOf(answer), "EPROTONOSUPPORT");
  EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("1.2.3"));
}

TEST_F(ControlTest, EventsNeedAConnection) { EXPECT_EQ(CodeOf(Ask("subscribe")), "EOPNOTSUPP"); }

class InsideTest : public ControlTest {
 protected:
  void SetUp() override {
    Do("branch.create", {{"name", "agent"}});
    inside_.inside = "agent";
  }
  Peer inside_;
};

TEST_F(InsideTest, SnapshotsItsOwnBranchAndOnlyThat) {
  EXPECT_EQ(Ask("snapshot.create", json::object(), inside_)["result"]["branch"], "agent");
  EXPECT_EQ(Ask("snapshot.create", {{"branch", "agent"}}, inside_)["ok"], true);
  EXPECT_EQ(CodeOf(Ask("snapshot.create", {{"branch", "main"}}, inside_)), "EPERM");
  Do("snapshot.create", {{"branch", "main"}});
  EXPECT_EQ(Ask("snapshot.list", json::object(), inside_)["result"].size(), 2u);
}

TEST_F(InsideTest, MayDoNothingThatItsCapabilitiesDoNotName) {
  auto inside = Ask("capabilities", json::object(), inside_)["result"]["requests"];
  const json all = Do("capabilities")["requests"];
  for (const json& name : all) {
    if (std::find(inside.begin(), inside.end(), name) != inside.end()) continue;
    EXPECT_EQ(CodeOf(Ask(name, {{"name", "x"}, {"ref", "x"}}, inside_)), "EPERM") << name;
  }
}

}  // namespace
}  // namespace agentfs::control
