// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "mounted.h"
#include "program.h"

namespace agentfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ApplyCliTest : public WorkspaceCliTest {
 protected:
  // Later than anything before, by the clock that filesystems stamp with.
  static void NextTick() { ::usleep(12'000); }
  bool Exists(const std::string& name) const { return std::filesystem::exists(At(name)); }
};

TEST_F(ApplyCliTest, WritesTheChangesAndLeavesNoDifference) {
  Do({"fs", "write", "/new"}, "n\n");
  Do({"fs", "rm", "/README"});
  const Outcome outcome = Do({"apply"});
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("  D /README\n  A /new\napplied: 1 deleted, 1 added"));
  EXPECT_EQ(ReadHost("base/new"), "n\n");
  EXPECT_FALSE(Exists("base/README"));
  EXPECT_EQ(Try({"diff", "--exit-code"}).status, 0);
  EXPECT_EQ(Do({"fsck"}).status, 0);
}

TEST_F(ApplyCliTest, ADryRunWritesNothing) {
  Do({"fs", "write", "/new"}, "n\n");
  EXPECT_THAT(Do({"apply", "--dry-run"}).err, HasSubstr("would apply: 1 added"));
  EXPECT_FALSE(Exists("base/new"));
  const auto json = Do({"apply", "--dry-run", "--json"}).Json();
  EXPECT_EQ(json["applied"], false);
  EXPECT_EQ(json["changes"][0]["path"], "/new");
  EXPECT_EQ(Do({"snapshot", "list", "--json"}).out, "[]\n");
}

TEST_F(ApplyCliTest, ConflictsAreAllListedAndNothingIsWritten) {
  Do({"fs", "write", "/README"}, "branch\n");
  Do({"fs", "write", "/new"}, "branch\n");
  Do({"fs", "write", "/fine"}, "branch\n");
  NextTick();
  WriteHost("base/README", "person\n");
  WriteHost("base/new", "person\n");
  const Outcome outcome = Try({"apply"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("agentfs: apply: 2 conflicts; nothing was written\n"));
  EXPECT_THAT(outcome.err, HasSubstr("/README: "));
  EXPECT_THAT(outcome.err, HasSubstr("/new: "));
  EXPECT_FALSE(Exists("base/fine"));
  const auto json = Try({"apply", "--json"}).Json();
  EXPECT_EQ(json["error"]["code"], "CONFLICT");
  EXPECT_EQ(json["conflicts"].size(), 2u);
  EXPECT_EQ(Try({"apply", "--dry-run"}).status, 3);
  Do({"apply", "/fine"});
  EXPECT_EQ(ReadHost("base/fine"), "branch\n");
  Do({"apply", "--force"});
  EXPECT_EQ(ReadHost("base/README"), "branch\n");
  EXPECT_EQ(ReadHost("base/new"), "branch\n");
}

TEST_F(ApplyCliTest, MergesText) {
  WriteHost("base/text", "1\n2\n3\n4\n5\n");
  Do({"fs", "write", "/text"}, "one\n2\n3\n4\n5\n");
  NextTick();
  WriteHost("base/text", "1\n2\n3\n4\nfive\n");
  EXPECT_EQ(Try({"apply"}).status, 3);
  EXPECT_THAT(Do({"apply", "--merge", "--json"}).Json()["merged"], ElementsAre("/text"));
  EXPECT_EQ(ReadHost("base/text"), "one\n2\n3\n4\nfive\n");
  EXPECT_EQ(Do({"fs", "cat", "/text"}).out, "one\n2\n3\n4\nfive\n");
  EXPECT_EQ(Try({"diff", "--exit-code"}).status, 0);
}

TEST_F(ApplyCliTest, UndoGivesBackTheFormerState) {
  const std::string readme = ReadHost("base/README");
  Do({"fs", "write", "/README"}, "branch\n");
  Do({"fs", "write", "/new"}, "branch\n");
  Do({"apply"});
  const auto json = Do({"apply", "--undo", "--json"}).Json();
  EXPECT_EQ(json["undone"], true);
  EXPECT_EQ(ReadHost("base/README"), readme);
  EXPECT_FALSE(Exists("base/new"));
  EXPECT_EQ(Do({"diff", "--name-status"}).out, "M\t/README\nA\t/new\n");
  ExpectFailure({"apply", "--undo"}, 4, "ENOENT");
  Do({"apply"});
  NextTick();
  WriteHost("base/new", "edited later");
  EXPECT_EQ(Try({"apply", "--undo"}).status, 3);
  EXPECT_EQ(ReadHost("base/new"), "edited later");
  Do({"apply", "--undo", "--force"});
  EXPECT_FALSE(Exists("base/new"));
}

TEST_F(ApplyCliTest, WhatWouldActLaterNeedsConsent) {
  Do({"fs", "write", "/.envrc"}, "echo hi\n");
  const Outcome refused = Try({"apply"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("/.envrc: run by direnv"));
  EXPECT_FALSE(Exists("base/.envrc"));
  EXPECT_EQ(Try({"apply", "--json"}).Json()["risks"][0]["path"], "/.envrc");
  Do({"apply", "--yes"});
  EXPECT_TRUE(Exists("base/.envrc"));
}

TEST_F(ApplyCliTest, OtherBranchesAndPaths) {
  Do({"branch", "create", "side"});
  Do({"fs", "mkdir", "-p", "/a/b", "--branch", "side"});
  Do({"fs", "write", "/a/b/c", "--branch", "side"}, "c");
  Do({"fs", "write", "/d", "--branch", "side"}, "d");
  Do({"apply", "--branch", "side", "/a/b"});
  EXPECT_EQ(ReadHost("base/a/b/c"), "c");
  EXPECT_FALSE(Exists("base/d"));
  EXPECT_EQ(Do({"diff", "side", "--name-status"}).out, "A\t/d\n");
}

TEST_F(ApplyCliTest, Errors) {
  ExpectFailure({"apply", "--branch", "absent"}, 4, "ENOENT");
  for (const char* command : {"apply", "discard"}) {
    ExpectFailure({command, "/nowhere"}, 4, "ENOENT");
  }
  EXPECT_THAT(Do({"apply"}).err, testing::StartsWith("nothing to apply"));
  EXPECT_EQ(Try({"apply", "--merge", "--force"}).status, 2);
  EXPECT_EQ(Run({"init", "--bare", At("bare.db")}).status, 0);
  EXPECT_EQ(Run({"--workspace", At("bare.db"), "apply"}).status, 2);
}

TEST_F(ApplyCliTest, AnInterruptedApplyIsFinishedByTheNextCommand) {
  for (const char* name : {"/f0", "/f1", "/f2"}) Do({"fs", "write", name}, "content\n");
  Do({"fs", "cp", "-r", "/src", "/copies"});
  // The program starts, and is killed at some time between nothing and all of it.
  WriteHost("script", ProgramInShell() + " --workspace '" + At("base") +
                          "' apply --yes & sleep 0.0$((RANDOM % 5)); kill -9 $!; wait; true\n");
  for (int round = 0; round < 8; ++round) {
    ASSERT_EQ(std::system(("bash '" + At("script") + "' 2>/dev/null").c_str()), 0);
    const bool applied = Try({"diff", "--exit-code"}).status == 0;
    EXPECT_EQ(Exists("base/f0"), applied);
    EXPECT_EQ(Exists("base/f2"), applied);
    EXPECT_EQ(Exists("base/copies"), applied);
    if (applied) Do({"apply", "--undo"});
  }
}

// ---- back

TEST_F(ApplyCliTest, DiscardDropsEverythingOrPaths) {
  const std::string readme = ReadHost("base/README");
  Do({"fs", "write", "/README"}, "x");
  Do({"fs", "write", "/new"}, "x");
  Do({"fs", "rm", "-r", "/src"});
  const Outcome outcome = Do({"discard", "/new", "/src"});
  EXPECT_THAT(outcome.err, testing::StartsWith("  D /new\n"));
  EXPECT_EQ(Do({"diff", "--name-status"}).out, "M\t/README\n");
  const auto json = Do({"discard", "--json"}).Json();
  EXPECT_EQ(json["summary"]["modified"], 1);
  EXPECT_EQ(Do({"fs", "cat", "/README"}).out, readme);
  Do({"restore", json["snapshot"].get<std::string>()});
  EXPECT_EQ(Do({"fs", "cat", "/README"}).out, "x");
  EXPECT_EQ(Do({"fsck"}).status, 0);
}

TEST_F(ApplyCliTest, RestoreTakesPathsAndKeepsWhatItReplaces) {
  Do({"fs", "write", "/a"}, "1");
  Do({"fs", "write", "/b"}, "1");
  Do({"snapshot", "create", "one"});
  Do({"fs", "write", "/a"}, "2");
  Do({"fs", "rm", "/b"});
  Do({"fs", "mkdir", "/c"});
  const auto json = Do({"restore", "one", "/a", "--json"}).Json();
  EXPECT_EQ(Do({"fs", "cat", "/a"}).out, "1");
  EXPECT_EQ(Try({"fs", "cat", "/b"}).status, 4);
  EXPECT_EQ(Do({"fs", "cat", "/a", "--snapshot", json["snapshot"]}).out, "2");
  Do({"restore", "one"});
  EXPECT_EQ(Do({"fs", "cat", "/b"}).out, "1");
  EXPECT_EQ(Try({"fs", "ls", "/c"}).status, 4);
  EXPECT_EQ(Do({"restore", "one", "--json"}).Json()["snapshot"], nullptr);
  Do({"fs", "mkdir", "-p", "/deep/er"});
  Do({"fs", "write", "/deep/er/file"}, "found");
  Do({"fs", "write", "/deep/other"}, "left out");
  Do({"snapshot", "create", "deep"});
  Do({"fs", "rm", "-r", "/deep"});
  Do({"restore", "deep", "/deep/er/file"});
  EXPECT_EQ(Do({"fs", "cat", "/deep/er/file"}).out, "found") << "with the directories above it";
  EXPECT_EQ(Do({"fs", "ls", "/deep"}).out, "er\n");
  ExpectFailure({"restore", "absent"}, 4, "ENOENT");
  ExpectFailure({"restore", "one", "--branch", "absent"}, 4, "ENOENT");
  ExpectFailure({"undo"}, 4, "ENOENT");
}

TEST_F(ApplyCliTest, TheLogHasSnapshotsAndAppliesNewestFirst) {
  EXPECT_EQ(Do({"log", "--json"}).out, "[]\n");
  Do({"fs", "write", "/a"}, "1");
  Do({"snapshot", "create", "one", "-m", "first"});
  Do({"fs", "write", "/a"}, "22");
  Do({"apply"});
  Do({"apply", "--undo"});
  const auto json = Do({"log", "--json"}).Json();
  std::vector<std::string> kinds;
  for (const auto& event : json) kinds.push_back(event["kind"]);
  EXPECT_THAT(kinds, testing::Contains("apply"));
  EXPECT_EQ(kinds.back(), "snapshot");
  EXPECT_EQ(json.back()["text"], "first");
  EXPECT_THAT(Do({"log"}).out, HasSubstr("apply-undo"));
  const auto versions = Do({"log", "/a", "--json"}).Json();
  EXPECT_EQ(versions.front()["size"], 2);
  EXPECT_EQ(versions.back()["ref"], "one");
  EXPECT_EQ(versions.back()["size"], 1);
  ExpectFailure({"log", "/absent"}, 4, "ENOENT");
  ExpectFailure({"log", "--branch", "absent"}, 4, "ENOENT");
}

// ---- while programs work in the branch

class LiveApplyTest : public MountCliTest {};

TEST_F(LiveApplyTest, AMountAndOpenFilesStayCoherent) {
  Mount();
  Write(InMount("log"), "1\n");
  Write(InMount("other"), "x\n");
  const int log = ::open(InMount("log").c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(log, 0);
  Do({"apply"});
  EXPECT_EQ(Read(At("base/log")), "1\n");
  ASSERT_EQ(::write(log, "2\n", 2), 2);
  EXPECT_EQ(Read(InMount("log")), "1\n2\n");
  EXPECT_EQ(Read(InMount("other")), "x\n");
  EXPECT_EQ(Do({"diff", "--name-status"}).out, "M\t/log\n");
  ::close(log);
  Do({"apply"});
  EXPECT_EQ(Read(At("base/log")), "1\n2\n");
  Do({"apply", "--undo"});
  EXPECT_EQ(Read(At("base/log")), "1\n");
  EXPECT_EQ(Read(InMount("log")), "1\n2\n");
  Unmount();
}

TEST_F(LiveApplyTest, ProgramsSeeWhatIsRestoredAndDiscarded) {
  Mount();
  Write(InMount("f"), "1");
  Do({"snapshot", "create", "one"});
  const int open_file = ::open(InMount("f").c_str(), O_RDWR);
  Write(InMount("f"), "22");
  Write(InMount("g"), "g");
  Do({"restore", "one", "/f"});
  EXPECT_EQ(Read(InMount("f")), "1");
  char bytes[8];
  EXPECT_EQ(::pread(open_file, bytes, sizeof(bytes), 0), 1);
  ::close(open_file);
  Do({"discard", "/g"});
  EXPECT_FALSE(std::filesystem::exists(InMount("g")));
  Do({"discard"});
  EXPECT_FALSE(std::filesystem::exists(InMount("f")));
  Unmount();
}

}  // namespace
}  // namespace agentfs
