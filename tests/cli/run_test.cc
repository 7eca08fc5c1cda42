// SPDX-License-Identifier: Apache-2.0
//
// run: what a command sees and may do, and what is left of it.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "running.h"

namespace agentfs {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST_F(RunCliTest, ChangesTheBranchAndNotTheBase) {
  Outcome run = Shell("pwd; cat README; echo mine > README; echo x > new; rm src/a.c");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, At("base") + "\nread me\n");
  EXPECT_EQ(ReadHost("base/README"), "read me\n");
  EXPECT_TRUE(std::filesystem::exists(At("base/src/a.c")));
  EXPECT_FALSE(std::filesystem::exists(At("base/new")));
  EXPECT_EQ(Shell("cat README new; ls src").out, "mine\nx\n");
  EXPECT_EQ(Do({"fs", "cat", "/new"}).out, "x\n");
}

TEST_F(RunCliTest, EndsWithASummaryThatNamesDeletionsFirst) {
  Outcome run = Shell("echo x > a-new; rm README");
  EXPECT_THAT(run.err, HasSubstr("1 deleted, 1 added"));
  EXPECT_LT(run.err.find("D /README"), run.err.find("A /a-new"));
  EXPECT_THAT(run.err, HasSubstr("agentfs apply"));
  EXPECT_THAT(Shell("true").err, HasSubstr("no changes"));
  EXPECT_THAT(Try({"--quiet", "run", "--", "true"}).err, IsEmpty());
}

TEST_F(RunCliTest, EveryDeletionIsNamed) {
  Shell("for i in $(seq 100); do echo > f$i; done");
  Outcome run = Shell("rm f*; for i in $(seq 100); do echo > g$i; done");
  for (int i = 1; i <= 100; ++i) {
    EXPECT_THAT(run.err, HasSubstr("D /f" + std::to_string(i) + "\n"));
  }
  EXPECT_THAT(run.err, HasSubstr("... and 80 more"));
}

TEST_F(RunCliTest, ADirectoryThatIsGoneIsOneLine) {
  const Outcome made = Shell(
      "mkdir -p gone/sub few gone-not; echo > few/a; echo > gone/sub/x; echo > gone-not/y;"
      "for i in $(seq 60); do echo > gone/f$i; done");
  EXPECT_EQ(made.status, 0);
  const std::string err = Shell("mv gone/f1 kept; rm -r gone few gone-not/y").err;
  EXPECT_THAT(err, HasSubstr("62 deleted, 1 renamed\n"));
  EXPECT_THAT(err, HasSubstr("  D /gone/ (60 files)\n"));
  EXPECT_THAT(err, HasSubstr("  D /few/a\n"));
  EXPECT_THAT(err, HasSubstr("  D /gone-not/y\n"));
  EXPECT_THAT(err, HasSubstr("  R /gone/f1 -> /kept\n"));
  EXPECT_THAT(err, Not(HasSubstr("D /gone/f"))) << "not one by one";
  Do({"undo"});
  EXPECT_THAT(Do({"undo"}).err, HasSubstr("  D /gone/ (61 files)\n"));
}

TEST_F(RunCliTest, PassesOnTheExitStatusAsAShellDoes) {
  EXPECT_EQ(Shell("exit 7").status, 7);
  EXPECT_EQ(Shell("exit 1").status, 1);
  EXPECT_EQ(Shell("kill -TERM $$").status, 128 + SIGTERM);
  EXPECT_EQ(Try({"run", "--", "no-such-command"}).status, 127);
  EXPECT_EQ(Try({"run", "--", "/etc/passwd"}).status, 126);
}

TEST_F(RunCliTest, StreamsAreTheCommandsOwn) {
  Outcome run = Try({"--quiet", "run", "--", "sh", "-c", "cat; echo err >&2"}, "from stdin");
  EXPECT_EQ(run.out, "from stdin");
  EXPECT_EQ(run.err, "err\n");
}

TEST_F(RunCliTest, WhoReadsItsOutputInsideMayComeToTheEnd) {
  const std::string text = "exec > >(sed s/said/passed/ | tee log); echo said";
  EXPECT_EQ(Try({"run", "--", "bash", "-c", text}).out, "passed\n");
  EXPECT_EQ(Shell("cat log").out, "passed\n");
  EXPECT_EQ(Try({"run", "--", "bash", "-c", "exec > >(tee log); echo said; exit 3"}).status, 3);
}

TEST_F(RunCliTest, WhoReadsForEverDoesNotKeepIt) {
  const std::string reader = "while :; do read -r line || sleep 0.1; done";
  EXPECT_EQ(Try({"run", "--", "bash", "-c", "exec > >(" + reader + "); echo said; exit 3"}).status,
            3);
}

TEST_F(RunCliTest, TheCommandKnowsWhereItIs) {
  Outcome run = Shell("echo $AGENTFS $AGENTFS_WORKSPACE $AGENTFS_BRANCH", {"--branch", "b"});
  EXPECT_EQ(run.out, "1 " + At("base") + " b\n");
}

TEST_F(RunCliTest, ProcessOneHasAName) {
  EXPECT_EQ(Shell("cat /proc/1/comm /proc/self/comm").out, "agentfs\ncat\n");
}

TEST_F(RunCliTest, StartsInTheDirectoryWhereItWasCalled) {
  directory_ = At("base/src");
  EXPECT_EQ(Shell("pwd; ls").out, At("base/src") + "\na.c\n");
  directory_ = At("home");  // in /tmp, which is private
  EXPECT_EQ(Shell("pwd").out, At("base") + "\n");
  directory_ = "/usr";
  EXPECT_EQ(Shell("pwd").out, "/usr\n");
}

TEST_F(RunCliTest, MakesAWorkspaceWhereThereIsNone) {
  MakeHostDirectory("fresh");
  WriteHost("fresh/f", "1");
  RunOptions options;
  options.directory = At("fresh");
  options.environment = environment_;
  Outcome run = Run({"run", "--", "sh", "-c", "echo 2 > f; ls -A"}, options);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "f\n");
  EXPECT_EQ(ReadHost("fresh/f"), "1");
  EXPECT_TRUE(std::filesystem::exists(At("fresh/.agentfs/state.db")));
}

TEST_F(RunCliTest, BranchesAreApartAndStartAtMain) {
  Shell("echo main > f");
  EXPECT_EQ(Shell("cat f; echo one > f", {"--branch", "one"}).out, "main\n");
  EXPECT_EQ(Shell("cat f; echo two > f", {"--branch", "two"}).out, "main\n");
  EXPECT_EQ(Shell("cat f", {"--branch", "one"}).out, "one\n");
  EXPECT_EQ(Shell("cat f").out, "main\n");
}

TEST_F(RunCliTest, ACheckpointIsTakenBeforeEachRunThatFollowsAChange) {
  Shell("echo 1 > f");
  Shell("echo 2 > f");
  Shell("true");
  Shell("true");
  const auto snapshots = Do({"snapshot", "list", "--json"}).Json();
  ASSERT_EQ(snapshots.size(), 3u);
  EXPECT_THAT(snapshots[1]["message"].get<std::string>(), StartsWith("before run: /bin/sh -c"));
  EXPECT_EQ(Do({"fs", "cat", "/f", "--snapshot", snapshots[1]["name"]}).out, "1\n");
}

TEST_F(RunCliTest, ApplyWritesWhatTheCommandHasChanged) {
  Outcome run = Shell("echo applied > new", {"--apply"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(ReadHost("base/new"), "applied\n");
  EXPECT_EQ(Do({"diff", "--name-status"}).out, "");
  // What would act later needs a person's word.
  run = Shell("echo exit > tool; chmod +x tool", {"--apply"});
  EXPECT_EQ(run.status, 1) << run.err;
  EXPECT_THAT(run.err, HasSubstr("/tool"));
  EXPECT_FALSE(std::filesystem::exists(At("base/tool")));
  EXPECT_EQ(Do({"diff", "--name-status"}).out, "A\t/tool\n");
}

TEST_F(RunCliTest, DiscardDropsWhatThisRunChanged) {
  Shell("echo 1 > f");
  Outcome run = Shell("echo 2 > f; echo > g", {"--discard"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(Shell("cat f; ls g 2>&1 >/dev/null | wc -l").out, "1\n1\n");
}

TEST_F(RunCliTest, TheHostIsReadOnlyAndTmpPrivate) {
  Outcome run = Shell(
      "touch /etc/agentfs-x; touch /usr/agentfs-x; echo x > /tmp/agentfs-x; echo y > /var/tmp/y;"
      "ls /tmp");
  EXPECT_THAT(run.err, HasSubstr("Read-only file system"));
  EXPECT_FALSE(std::filesystem::exists("/etc/agentfs-x"));
  EXPECT_FALSE(std::filesystem::exists("/usr/agentfs-x"));
  EXPECT_FALSE(std::filesystem::exists("/tmp/agentfs-x"));
  EXPECT_THAT(run.out, HasSubstr("agentfs-x"));
}

TEST_F(RunCliTest, OurOwnStateAndOtherBranchesCannotBeReached) {
  Shell("echo secret > s", {"--branch", "other"});
  Outcome run = Shell("ls " + state() + " " + At("runtime") + " .agentfs/snapshots; cat " +
                      state() + "/config.toml");
  EXPECT_NE(run.status, 0);
  EXPECT_THAT(run.out, Not(HasSubstr("state.db")));
  EXPECT_THAT(run.out, Not(HasSubstr("branches")));
  EXPECT_THAT(Shell("mount; cat /proc/self/mountinfo").out, Not(HasSubstr("branches/other")));
}

TEST_F(RunCliTest, AllowedDirectoriesAreReallyWritten) {
  MakeHostDirectory("out");
  Outcome run = Shell("echo real > " + At("out/f"), {"--allow", At("out")});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(ReadHost("out/f"), "real\n");
  Outcome missing = Shell("true", {"--allow", At("nowhere")});
  EXPECT_EQ(missing.status, 4);
  EXPECT_THAT(missing.err, HasSubstr(At("nowhere")));
}

TEST_F(RunCliTest, CowDirectoriesBelongToTheBranch) {
  MakeHostDirectory("more");
  WriteHost("more/f", "old");
  Outcome run = Shell("echo changed > f; echo new > g; mkdir d", {"--cow", At("more")});
  EXPECT_EQ(run.status, 0) << run.err;
  const std::string cd = "cd " + At("more") + " && ";
  run = Shell(cd + "cat f && echo changed > f && echo new > g", {"--cow", At("more")});
  EXPECT_EQ(run.out, "old") << run.err;
  EXPECT_THAT(run.err, HasSubstr("outside of the workspace"));
  EXPECT_EQ(ReadHost("more/f"), "old");
  EXPECT_EQ(Shell(cd + "cat f g", {"--cow", At("more")}).out, "changed\nnew\n");
  EXPECT_EQ(Shell(cd + "cat f", {"--cow", At("more"), "--branch", "b"}).out, "changed\n");
  EXPECT_EQ(Do({"fs", "cat", "/.agentfs/host" + At("more/g")}).out, "new\n");
}

TEST_F(RunCliTest, AWorktreeIsCommittedInAndItsRepositoryApplied) {
  if (::access("/usr/bin/git", X_OK) != 0) GTEST_SKIP() << "there is no git here";
  const std::string git = "git -c user.name=n -c user.email=e ";
  const std::string subjects = "git log --format=%s";
  const auto on_host = [&](const std::string& text) {
    const std::string all = "(" + text + ") > " + At("told") + " 2>&1";
    EXPECT_EQ(::system(all.c_str()), 0) << ReadHost("told");
    return ReadHost("told");
  };
  MakeHostDirectory("main");
  on_host("cd " + At("main") + " && git init -q && " + git +
          "commit -q --allow-empty -m first && " +
          "git worktree add -q ../tree && mv ../tree/.git " + At("base"));
  const Outcome run = Shell("git add README && " + git + "commit -q -m second && " + subjects);
  EXPECT_EQ(run.out, "second\nfirst\n") << run.err;
  const std::string outside = "cd " + At("base") + " && " + subjects;
  EXPECT_EQ(on_host(outside), "first\n");
  Do({"apply", At("main/.git")});
  EXPECT_EQ(on_host(outside), "second\nfirst\n");
  EXPECT_EQ(on_host("cd " + At("base") + " && git ls-files && git fsck"), "README\n");
}

TEST_F(RunCliTest, TheWholeHostCanBeCow) {
  Outcome run = Shell(
      "echo changed > /etc/hostname && mkdir /opt/agentfs-x && echo x > /agentfs-new &&"
      "cat /etc/hostname && pwd && echo w > w && ls /sys /proc/self > /dev/null",
      {"--cow", "/"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.out, "changed\n" + At("base") + "\n");
  EXPECT_FALSE(std::filesystem::exists("/opt/agentfs-x"));
  EXPECT_FALSE(std::filesystem::exists("/agentfs-new"));
  EXPECT_EQ(Shell("cat /agentfs-new; ls " + At("base"), {"--cow", "/"}).out, "x\nREADME\nsrc\nw\n");
}

// Also with a server that is warm, whose session the kernel remembers the files of.
TEST_F(RunCliTest, WhatWasAppliedOrDiscardedFollowsTheBase) {
  for (const char* keep : {"apply", "discard"}) {
    SCOPED_TRACE(keep);
    EXPECT_EQ(Shell("echo agent > README; cat README").out, "agent\n");
    Do({keep, "README"});
    WriteHost("base/README", "by the person\n");
    EXPECT_EQ(Shell("cat README").out, "by the person\n");
    EXPECT_EQ(Do({"diff", "--name-status"}).out, "");
  }
}

TEST_F(RunCliTest, WhatWasChangedOutsideIsAppliedIfItIsNamed) {
  MakeHome("tool/config", "old\n");
  MakeHome("tool/gone", "x");
  const std::string cow = At("home"), tool = At("home/tool");
  Outcome run = Shell(
      "cd ~; echo new > tool/config; rm tool/gone; echo a > tool/added; echo b > other;"
      "echo alias >> .bashrc; echo w > " +
          At("base/w"),
      {"--cow", cow});
  EXPECT_THAT(run.err, AllOf(HasSubstr("A " + tool + "/added"), HasSubstr("diff --outside")));
  EXPECT_EQ(Do({"diff", "--name-status"}).out, "A\t/w\n");
  EXPECT_EQ(Do({"diff", "--name-status", tool}).out,
            "A\t" + tool + "/added\nM\t" + tool + "/config\nD\t" + tool + "/gone\n");
  EXPECT_THAT(Do({"diff", tool + "/config"}).out, HasSubstr("\n+++ b" + tool + "/config\n"));
  EXPECT_THAT(Do({"diff", "--outside", "--name-status"}).out, HasSubstr("A\t" + cow + "/other\n"));
  EXPECT_EQ(Try({"diff", "/w", tool}).status, 2);
  auto json = Do({"--json", "status"}).Json();
  EXPECT_EQ(json["branches"][0]["changes"]["added"], 1);
  EXPECT_EQ(json["branches"][0]["changes"]["outside"], 5);

  Do({"apply"});
  EXPECT_EQ(ReadHost("home/tool/config"), "old\n");
  EXPECT_EQ(Try({"apply", cow}).status, 1) << "a shell's startup file";
  json = Do({"--json", "apply", tool}).Json();
  EXPECT_EQ(json["changes"][0]["path"], tool + "/added");
  EXPECT_EQ(json["changes"][0]["outside"], true);
  EXPECT_EQ(ReadHost("home/tool/config"), "new\n");
  EXPECT_FALSE(std::filesystem::exists(At("home/tool/gone")));
  EXPECT_FALSE(std::filesystem::exists(At("home/other")));
  EXPECT_EQ(Do({"diff", "--name-status", tool}).out, "");
  Do({"apply", "--undo"});
  EXPECT_EQ(ReadHost("home/tool/config"), "old\n");
  EXPECT_EQ(ReadHost("home/tool/gone"), "x");
  EXPECT_EQ(Shell("cat " + tool + "/added", {"--cow", cow}).out, "a\n");

  WriteHost("home/tool/config", "by the person\n");
  EXPECT_EQ(Try({"apply", tool}).status, 3);
  EXPECT_EQ(ReadHost("home/tool/config"), "by the person\n");
  Do({"discard", tool + "/config"});
  EXPECT_EQ(Shell("cat " + tool + "/config", {"--cow", cow}).out, "by the person\n");

  // The server is warm: the kernel remembers what was applied, and has to forget it.
  Shell("cd ~/tool; echo again > config; cat config added", {"--cow", cow});
  Do({"apply", tool});
  WriteHost("home/tool/config", "later\n");
  WriteHost("home/tool/added", "later, too\n");
  EXPECT_EQ(Shell("cd ~/tool; cat config added", {"--cow", cow}).out, "later\nlater, too\n");
  EXPECT_EQ(Do({"diff", "--name-status", tool}).out, "");
}

TEST_F(RunCliTest, ConfigSaysWhatFlagsDoNot) {
  MakeHostDirectory("real");
  MakeHome("k", "private");
  std::string config = ReadHost("state/config.toml");
  config.replace(config.find("allow = []"), 10, "allow = [\"" + At("real") + "\", \"~\"]");
  config.replace(config.find("hide = ["), 8, "hide = [\"~/k\",");
  WriteHost("state/config.toml", config);
  Outcome run = Shell("echo x > " + At("real/f") + "; cat ~/k");
  EXPECT_EQ(ReadHost("real/f"), "x\n") << run.err;
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_EQ(Shell("cat ~/k", {"--allow", At("home/k")}).out, "private");
}

// The test's own home is in /tmp, where all can be written: /srv is the host's, and has few
// entries.
TEST_F(RunCliTest, ACacheThatIsMissingIsMadeInTheBranch) {
  WantCow("/srv/agentfs-cache/");
  Outcome run = Shell("echo x > /srv/agentfs-cache/f; touch /srv/other");
  EXPECT_THAT(run.err, HasSubstr("'/srv/other': Read-only")) << run.err;
  EXPECT_EQ(Shell("cat /srv/agentfs-cache/f").out, "x\n");
  EXPECT_FALSE(std::filesystem::exists("/srv/agentfs-cache"));
  EXPECT_EQ(Do({"diff", "--outside", "--name-status"}).out, "A\t/srv/agentfs-cache/f\n");
  EXPECT_EQ(Try({"exec", "--read-only", "--", "cat", "/srv/agentfs-cache/f"}).out, "x\n");
  Do({"discard", "/srv/agentfs-cache"});
  EXPECT_EQ(Try({"exec", "--read-only", "--", "true"}).status, 0) << "where it cannot be made";
}

TEST_F(UserRunCliTest, ACacheThatCannotBeMadeIsLeftOut) {
  WantCow("/srv/agentfs-cache/");
  EXPECT_EQ(Shell("test ! -e /srv/agentfs-cache && echo ran").out, "ran\n");
}

TEST_F(RunCliTest, WithoutNetworkThereIsOnlyLoopback) {
  EXPECT_EQ(Shell("cat /proc/net/dev | grep -c :", {"--no-net"}).out, "1\n");
}

TEST_F(RunCliTest, TheServerIsWarmForTheNextRunAndThenLeaves) {
  Shell("true");
  const pid_t server = ServerPid();
  ASSERT_GT(server, 0);
  Shell("true");
  EXPECT_EQ(ServerPid(), server);
  EXPECT_EQ(Do({"umount", "--all"}).status, 0);
  WaitForEnd(server);
  EXPECT_THAT(std::filesystem::directory_iterator(At("runtime/agentfs")),
              std::filesystem::directory_iterator());
}

TEST_F(RunCliTest, RefusesWhatCannotBeRun) {
  EXPECT_EQ(Try({"run"}).status, 2);
  EXPECT_EQ(Try({"run", "--apply", "--discard", "--", "true"}).status, 2);
  EXPECT_EQ(Shell("true", {"--branch", "-x"}).status, 2);
  // In the workspace: where it was built need not be seen inside.
  std::filesystem::copy_file(AGENTFS_BINARY, At("base/agentfs"));
  Outcome nested = Shell("./agentfs run -- true", {"--allow", "/"});
  EXPECT_EQ(nested.status, 125);
  environment_["PATH"] = "/nonexistent";
  Outcome without = Shell("true");
  EXPECT_EQ(without.status, 125);
  EXPECT_THAT(without.err, HasSubstr("apt-get install bubblewrap"));
}

TEST_F(UserRunCliTest, WorksForAnOrdinaryUser) {
  Outcome run = Shell("id -u; echo mine > README; echo x > new; touch /etc/x");
  EXPECT_EQ(run.out, "65534\n") << run.err;
  EXPECT_THAT(run.err, HasSubstr("1 modified, 1 added"));
  EXPECT_EQ(ReadHost("base/README"), "read me\n");
  EXPECT_EQ(Shell("cat README new; stat -c %u new").out, "mine\nx\n65534\n");
  MakeHome(".claude/s", "old");
  EXPECT_EQ(Shell("cat ~/.claude/s; echo new > ~/.claude/s").out, "old");
  EXPECT_EQ(Shell("cat ~/.claude/s").out, "new\n");
  EXPECT_EQ(ReadHost("home/.claude/s"), "old");
}

TEST_F(UserRunCliTest, WorksWithoutFusermount) {
  // A directory of programs that has no fusermount3.
  MakeHostDirectory("bin");
  for (const char* program : {"bwrap", "sh", "cat", "ls", "id"}) {
    ASSERT_EQ(::symlink(("/usr/bin/" + std::string(program)).c_str(),
                        At("bin/" + std::string(program)).c_str()),
              0);
  }
  environment_["PATH"] = At("bin");
  Outcome run = Shell("/usr/bin/id -u; echo x > new; /usr/bin/cat README; echo y > /etc/x");
  EXPECT_EQ(run.out, "65534\nread me\n") << run.err;
  EXPECT_EQ(Shell("/usr/bin/cat new").out, "x\n");
  EXPECT_FALSE(std::filesystem::exists(At("base/new")));
  EXPECT_EQ(Do({"fs", "cat", "/new"}).out, "x\n");
  EXPECT_THAT(Try({"mount", At("mnt")}).err, HasSubstr("fuse3"));
}

TEST_F(UserRunCliTest, TheWholeHostCanBeCowAsFarAsTheUserMay) {
  Outcome run = Shell("echo x > /etc/hostname; echo y > " + At("home/y") + "; cat " + At("home/y"),
                      {"--cow", "/", "--cow", At("home")});
  EXPECT_THAT(run.err, HasSubstr("Permission denied"));
  EXPECT_EQ(run.out, "y\n") << run.err;
  EXPECT_FALSE(std::filesystem::exists(At("home/y")));
}

TEST_F(RunCliTest, TheViewsAndTheLogTellWhichRunDidWhat) {
  ASSERT_EQ(Shell("echo two > README; echo b > b.c; mv b.c c.c; "
                  "printf x > \"$(printf 'a\\047; DROP TABLE op_rows; --\\n\"\\001z')\"")
                .status,
            0);
  ASSERT_EQ(Shell("rm README").status, 0);
  const auto ask = [this](const std::string& query) { return Do({"sql", query, "--json"}).Json(); };
  EXPECT_EQ(ask("SELECT path, change FROM changes WHERE exec = 1 ORDER BY path"),
            nlohmann::json::parse(R"([
    {"path": "/README", "change": "modified"},
    {"path": "/a'; DROP TABLE op_rows; --\n\"\u0001z", "change": "created"},
    {"path": "/b.c", "change": "temporary"}, {"path": "/c.c", "change": "created"}])"));
  EXPECT_EQ(ask("SELECT op, path, comm FROM ops WHERE exec = 2"),
            nlohmann::json::parse(R"([{"op": "unlink", "path": "/README", "comm": "rm"}])"));
  EXPECT_EQ(ask("SELECT o.comm, o.exec, o.bytes FROM ops o WHERE o.id = (SELECT max(last_write) "
                "FROM paths WHERE path = '/README')"),
            nlohmann::json::parse(R"([{"comm": "sh", "exec": 1, "bytes": 4}])"));
  const auto log = Do({"log", "--json"}).Json();
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0]["exec"], 2);
  EXPECT_EQ(log[0]["status"], 0);
  const auto versions = Do({"log", "/README", "--json"}).Json();
  ASSERT_EQ(versions.size(), 3u);
  EXPECT_EQ(versions[0]["present"], false);
  EXPECT_EQ(versions[0]["exec"], 2);
  EXPECT_EQ(versions[1]["exec"], 1);
  EXPECT_TRUE(versions[2]["exec"].is_null());
  Do({"restore", versions[1]["ref"], "/README"});
  EXPECT_EQ(Do({"fs", "cat", "/README"}).out, "two\n");
}

TEST_F(RunCliTest, CheckpointsArePrunedAsTheConfigurationSays) {
  std::string config = ReadHost("state/config.toml");
  for (const char* key : {"keep_last = 50", "keep_hourly = 24", "keep_daily = 14"}) {
    const std::string all(key), name = all.substr(0, all.find('='));
    ASSERT_NE(config.find(all), std::string::npos) << all;
    config.replace(config.find(all), all.size(), name + "= " + (name == "keep_last " ? "2" : "0"));
  }
  WriteHost("state/config.toml", config);
  Do({"snapshot", "create", "mine"});
  for (const char* text : {"echo 1 > f", "echo 2 > f", "echo 3 > f", "echo 4 > f"}) {
    ASSERT_EQ(Shell(text).status, 0);
  }
  const auto list = Do({"snapshot", "list", "--json"}).Json();
  ASSERT_EQ(list.size(), 3u) << list;
  EXPECT_EQ(list[0]["name"], "mine");
  EXPECT_EQ(Do({"sql", "SELECT count(*) AS n FROM execs", "--json"}).Json()[0]["n"], 4);
  Do({"undo"});
  EXPECT_EQ(Do({"fs", "cat", "/f"}).out, "3\n");
}

}  // namespace
}  // namespace agentfs
