// SPDX-License-Identifier: Apache-2.0
//
// The same program for an ordinary user: these tests become one if root runs them.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

namespace agentfs {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

class UserCliTest : public CliTest {
 protected:
  static constexpr uid_t kUser = 54321;

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
    MakeHostDirectory("base");
    WriteHost("base/f", "mine");
    WriteHost("base/roots", "not mine");
    ASSERT_EQ(::chmod(At("base/roots").c_str(), 0600), 0);
    ASSERT_EQ(::chown(At("base").c_str(), kUser, kUser), 0);
    ASSERT_EQ(::chown(At("base/f").c_str(), kUser, kUser), 0);
    ASSERT_EQ(AsUser({"init", At("base")}).status, 0);
  }

  Outcome AsUser(const std::vector<std::string>& arguments, const std::string& input = "") {
    RunOptions options;
    options.user = kUser;
    options.input = input;
    options.directory = At("base");
    return Run(arguments, options);
  }
};

TEST_F(UserCliTest, WorksInTheirOwnDirectory) {
  EXPECT_EQ(AsUser({"fs", "cat", "/f"}).out, "mine");
  EXPECT_EQ(AsUser({"fs", "write", "/new"}, "x").status, 0);
  auto json = AsUser({"fs", "stat", "/new", "--json"}).Json();
  EXPECT_EQ(json["uid"], kUser);
  EXPECT_EQ(json["gid"], kUser);
  EXPECT_EQ(AsUser({"snapshot", "create", "s"}).status, 0);
  EXPECT_EQ(AsUser({"fsck"}).status, 0);
}

TEST_F(UserCliTest, IsDeniedWhatTheModesDeny) {
  Outcome read = AsUser({"fs", "cat", "/roots"});
  EXPECT_EQ(read.status, 125);
  EXPECT_THAT(read.err, HasSubstr("Permission denied"));
  EXPECT_EQ(AsUser({"fs", "chmod", "666", "/roots", "--json"}).Json()["error"]["code"], "EPERM");
  // The directory is theirs, so they may remove it.
  EXPECT_EQ(AsUser({"fs", "rm", "/roots"}).status, 0);
}

TEST_F(UserCliTest, OwnsABareWorkspaceAndItsRoot) {
  ASSERT_EQ(AsUser({"init", "--bare", At("base/x.db")}).status, 0);
  EXPECT_EQ(AsUser({"--workspace", At("base/x.db"), "fs", "mkdir", "/d"}).status, 0);
  EXPECT_EQ(AsUser({"--workspace", At("base/x.db"), "fs", "stat", "/", "--json"}).Json()["uid"],
            kUser);
}

// Also where the base's directories are not theirs to give times back to.
TEST_F(UserCliTest, AnApplyThatMayNotWriteLeavesTheWorkspaceAsItWas) {
  ASSERT_EQ(AsUser({"init", At("base"), "--state", At("base/state")}).status, 0);
  const std::string workspace = At("base/state");
  for (const char* mode : {"writes", "removes"}) {
    SCOPED_TRACE(mode);
    ASSERT_EQ(::chown(At("base").c_str(), kUser, kUser), 0);
    const Outcome changed = mode == std::string("writes")
                                ? AsUser({"--workspace", workspace, "fs", "write", "/new"}, "x")
                                : AsUser({"--workspace", workspace, "fs", "rm", "/new", "/f"});
    ASSERT_EQ(changed.status, 0) << changed.err;
    ASSERT_EQ(::chown(At("base").c_str(), 0, 0), 0);
    const Outcome applied = AsUser({"--workspace", workspace, "apply"});
    EXPECT_EQ(applied.status, 125);
    EXPECT_THAT(applied.err, AnyOf(HasSubstr("/new: Permission"), HasSubstr("/f: Permission")));
    const Outcome diff = AsUser({"--workspace", workspace, "diff", "--name-status"});
    EXPECT_EQ(diff.out, mode == std::string("writes") ? "A\t/new\n" : "D\t/f\n") << diff.err;
  }
  EXPECT_EQ(ReadHost("base/f"), "mine");
}

TEST_F(UserCliTest, IsToldHowToWorkOverWhatTheyMayNotWrite) {
  MakeHostDirectory("roots");
  const Outcome outcome = AsUser({"init", At("roots")});
  EXPECT_EQ(outcome.status, 125);
  EXPECT_THAT(outcome.err, HasSubstr("--state"));
}

TEST_F(UserCliTest, IsToldWhenAWorkspaceIsNotTheirs) {
  MakeHostDirectory("other");
  Ok({"init", At("other")});
  Outcome outcome = AsUser({"--workspace", At("other"), "fs", "ls"});
  EXPECT_EQ(outcome.status, 125);
  EXPECT_THAT(outcome.err, HasSubstr("Permission denied"));
}

}  // namespace
}  // namespace agentfs
