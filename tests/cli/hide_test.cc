// SPDX-License-Identifier: Apache-2.0
//
// run --hide, and what is always hidden.
#include "running.h"

namespace agentfs {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class HideCliTest : public RunCliTest {
 protected:
  static size_t OpenDevices(pid_t pid) {
    size_t devices = 0;
    const std::filesystem::path all = "/proc/" + std::to_string(pid) + "/fd";
    for (const auto& each : std::filesystem::directory_iterator(all)) {
      std::error_code gone;
      devices += std::filesystem::read_symlink(each.path(), gone) == "/dev/fuse" ? 1 : 0;
    }
    return devices;
  }
};

TEST_F(HideCliTest, HiddenPathsOfViewsAreAbsent) {
  MakeHome("secret/key", "private");
  WriteHost("base/src/.env", "private");
  Do({"snapshot", "create", "snap"});
  const Outcome run = Shell(
      "ls -A ~ src; stat ~/secret; cat src/.env; cat .agentfs/snapshots/snap/src/.env;"
      "echo x > src/.env; mkdir ~/secret; mv README src/.env; mv src/.env seen; ln src/.env seen;"
      "mv src seen; rm -rf src; ln -s src/.env way; cat way; cat src/../src/.env; find . ~ -name "
      ".env",
      {"--cow", At("home"), "--hide", At("home/secret"), "--hide", "src/.env"});
  EXPECT_THAT(run.out, Not(AnyOf(HasSubstr("secret"), HasSubstr("private"), HasSubstr(".env"))));
  EXPECT_THAT(
      run.err,
      AllOf(HasSubstr("src/.env: No such file"), HasSubstr("secret': No such file"),
            HasSubstr("src/.env: Permission denied"), HasSubstr("'src': Directory not empty")));
  EXPECT_EQ(Shell("cat src/.env").out, "private") << "it is hidden for that run alone";
}

// Where the same files are shown by several sessions, each learns what the others do. What they see
// they write into the branch.
TEST_F(HideCliTest, WhoHidesSomethingWorksInTheSameBranch) {
  const std::string await = "timeout 20 sh -c 'until test -e ";
  std::thread first([&] {
    Shell("echo 1 > t; mv t f; " + await +
              "go; do :; done'; cat f > got; ls > listed; echo 3 > f; echo > went",
          {"--hide", "README"});
  });
  Shell(await + "f; do :; done'; echo 2 > f; echo > go; " + await +
        "went; do :; done'; cat f > other-got; ls > other-listed");
  first.join();
  EXPECT_EQ(Do({"fs", "cat", "/got"}).out, "2\n");
  EXPECT_EQ(Do({"fs", "cat", "/listed"}).out, "f\ngo\ngot\nlisted\nsrc\n");
  EXPECT_EQ(Do({"fs", "cat", "/other-got"}).out, "3\n");
  EXPECT_THAT(Do({"fs", "cat", "/other-listed"}).out, HasSubstr("README\n"));
}

TEST_F(HideCliTest, WhatHidSomethingGoesWithItsLastRun) {
  Mount();  // so that the server stays
  const size_t before = OpenDevices(ServerPid());
  EXPECT_EQ(Shell("ls", {"--hide", "README"}).out, "src\n");
  for (int i = 0; i < 1000 && OpenDevices(ServerPid()) > before; ++i) ::usleep(10'000);
  EXPECT_LE(OpenDevices(ServerPid()), before);
}

// What of the machine that is read-only, and nobody needs, stands for a directory of the host here:
// the tests' own are in /tmp, which is private.
TEST_F(HideCliTest, HiddenPathsAreAbsent) {
  const std::string look = "ls /usr; stat /usr/share; ls /usr/lib | head -1 | wc -l";
  Outcome run = Shell(look, {"--hide", "/usr/share"});
  EXPECT_THAT(run.out, AllOf(HasSubstr("lib\n"), Not(HasSubstr("share"))));
  EXPECT_THAT(run.out, EndsWith("\n1\n"));
  EXPECT_THAT(run.err, HasSubstr("No such file or directory"));
  run = Shell("ls -d /srv /bin/sh; touch /x /usr/x", {"--hide", "/srv"});
  EXPECT_THAT(run.out, AllOf(HasSubstr("/bin/sh"), Not(HasSubstr("/srv\n"))));
  EXPECT_THAT(run.err, AllOf(HasSubstr("'/srv': No such file"), HasSubstr("'/x': Read-only"),
                             HasSubstr("'/usr/x': Read-only")));
}

TEST_F(HideCliTest, PrivateKeysAreHiddenAndAgentsDirectoriesCow) {
  for (const char* name : {".ssh/id", ".gnupg/k", ".aws/credentials", ".kube/config", ".netrc",
                           ".docker/config.json"}) {
    MakeHome(name, "private");
  }
  MakeHome(".claude/settings.json", "old");
  MakeHome(".bashrc", "plain");
  const std::string read = "cd ~; cat .ssh/* .gnupg/* .aws/* .kube/* .netrc .docker/config.json;";
  // The home directory is in /tmp here: it has to be shown first.
  Outcome run = Shell(read + "cat .claude/settings.json; echo new > .claude/settings.json",
                      {"--allow", At("home")});
  EXPECT_EQ(run.out, "old") << run.err;
  EXPECT_EQ(ReadHost("home/.claude/settings.json"), "old");
  EXPECT_EQ(Shell("cat ~/.claude/settings.json").out, "new\n");
  EXPECT_EQ(Shell("cat ~/.ssh/id", {"--allow", At("home/.ssh")}).out, "private");
}

}  // namespace
}  // namespace agentfs
