// SPDX-License-Identifier: Apache-2.0
//
// export and import, with tar as the judge.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "mounted.h"

namespace agentfs {
namespace {

using testing::HasSubstr;
using testing::Not;

int Shell(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ArchiveCliTest : public WorkspaceCliTest {
 protected:
  // Makes `name` from what the shell commands leave in an empty directory.
  void MakeTar(const std::string& name, const std::string& commands, const std::string& members) {
    std::filesystem::remove_all(At("made"));
    MakeHostDirectory("made");
    ASSERT_EQ(Shell("cd " + At("made") + " && " + commands + " && tar -P -cf " + At(name) + " " +
                    members),
              0);
  }
  // The branch as it is, with all that diff can say of it.
  std::string State() { return Do({"diff", "--json"}).out + Do({"snapshot", "list"}).out; }
  void ExpectRefused(const std::string& archive, const std::string& why) {
    const std::string before = State();
    const Outcome outcome = Try({"import", At(archive)});
    EXPECT_EQ(outcome.status, 125) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(why));
    EXPECT_EQ(State(), before);
    EXPECT_EQ(Do({"fs", "cat", "/README"}).out, "read me\n");
    EXPECT_EQ(Do({"fsck"}).status, 0);
  }
};

TEST_F(ArchiveCliTest, TarUnpacksWhatIsExported) {
  Do({"fs", "write", "/new file"}, "new");
  Do({"fs", "rm", "/README"});
  Do({"fs", "ln", "-s", "src/a.c", "/link"});
  Do({"fs", "chmod", "755", "/src/a.c"});
  EXPECT_EQ(Do({"export", "-o", At("out.tar.zst")}).out, "");
  MakeHostDirectory("copy");
  ASSERT_EQ(Shell("tar -x --zstd -f " + At("out.tar.zst") + " -C " + At("copy")), 0);
  EXPECT_EQ(ReadHost("copy/new file"), "new");
  EXPECT_EQ(ReadHost("copy/link"), "int a;\n");
  EXPECT_FALSE(std::filesystem::exists(At("copy/README")));
  EXPECT_FALSE(std::filesystem::exists(At("copy/.agentfs")));
  struct stat attributes {};
  ASSERT_EQ(::stat(At("copy/src/a.c").c_str(), &attributes), 0);
  EXPECT_EQ(attributes.st_mode & 07777, 0755u);
}

TEST_F(ArchiveCliTest, ImportMakesTheBranchWhatWasExported) {
  Do({"fs", "write", "/new"}, "new");
  Do({"fs", "rm", "/README"});
  Do({"export", "-o", At("out.tar.zst")});
  const std::string wanted = Do({"diff", "--name-status"}).out;
  Do({"branch", "create", "other", "--from", "base"});
  const auto json = Do({"import", At("out.tar.zst"), "--branch", "other", "--json"}).Json();
  EXPECT_EQ(json["branch"], "other");
  EXPECT_EQ(Do({"diff", "base", "other", "--name-status"}).out, wanted);
  EXPECT_EQ(Do({"diff", "main", "other", "--name-status"}).out, "");
  // What it replaced is there still.
  const std::string before = json["snapshot_before"];
  EXPECT_EQ(Do({"fs", "cat", "/README", "--snapshot", before}).out, "read me\n");
}

TEST_F(ArchiveCliTest, WhatAKilledImportHadDoneIsTakenBack) {
  Do({"fs", "write", "/kept"}, "1");
  Do({"snapshot", "create", "before"});
  Do({"fs", "write", "/half"}, "1");
  WriteHost("base/.agentfs/state.db-importing", "main\nbefore\n");
  EXPECT_EQ(Do({"diff", "--name-status"}).out, "A\t/kept\n");
  EXPECT_FALSE(std::filesystem::exists(At("base/.agentfs/state.db-importing")));
}

TEST_F(ArchiveCliTest, AnArchiveFillsABareWorkspaceOrADirectory) {
  Do({"export", "-o", At("out.tar.zst")});
  Ok({"init", "--bare", At("bare.db")});
  In(At("bare.db"), {"import", At("out.tar.zst")});
  EXPECT_EQ(In(At("bare.db"), {"fs", "cat", "/src/a.c"}).out, "int a;\n");
  In(At("bare.db"), {"import", At("out.tar.zst"), "--to", "/deep"});
  EXPECT_EQ(In(At("bare.db"), {"fs", "cat", "/deep/src/a.c"}).out, "int a;\n");
  EXPECT_EQ(In(At("bare.db"), {"fs", "cat", "/src/a.c"}).out, "int a;\n");
}

TEST_F(ArchiveCliTest, StandardStreamsStandForTheFile) {
  const std::string bytes = Do({"export", "base", "-o", "-"}).out;
  Do({"fs", "write", "/README"}, "changed");
  Do({"import", "-"}, bytes);
  EXPECT_EQ(Do({"diff", "--name-status"}).out, "");
}

TEST_F(ArchiveCliTest, ExportReplacesAFileOnlyWhenItIsWhole) {
  WriteHost("out", "before");
  EXPECT_EQ(Try({"export", "nothing", "-o", At("out")}).status, 4);
  EXPECT_EQ(ReadHost("out"), "before");
  const auto json = Do({"export", "-o", At("out"), "--json"}).Json();
  EXPECT_EQ(json["file"], At("out"));
  EXPECT_EQ(json["bytes"], std::filesystem::file_size(At("out")));
  EXPECT_THAT(Try({"export", "-o", At("base")}).err, HasSubstr("directory"));
  EXPECT_EQ(Try({"export", "-o", At("none/out")}).status, 4);
  EXPECT_EQ(Try({"export"}).status, 2);
  EXPECT_EQ(Try({"export", "-o", At("x"), "--format", "zip"}).status, 2);
}

TEST_F(ArchiveCliTest, HostileArchivesAreRefusedAndChangeNothing) {
  Do({"fs", "write", "/mine"}, "mine");
  MakeTar("absolute.tar", "echo x > f", At("made/f"));
  ExpectRefused("absolute.tar", "absolute");
  MakeTar("above.tar", "mkdir -p d && echo x > f", "d/../../made/f");
  ExpectRefused("above.tar", "..");
  MakeTar("link.tar", "ln -s /etc/passwd link", "link");
  ExpectRefused("link.tar", "--keep-links");
  MakeTar("up.tar", "mkdir -p e && ln -s ../../x e/link2", "e/link2");
  ExpectRefused("up.tar", "../../x");
  WriteHost("text", "this is no archive, but it is long enough to look at\n");
  ExpectRefused("text", "archive");
  EXPECT_EQ(Try({"import", At("none")}).status, 4);
  EXPECT_THAT(Try({"import", At("base")}).err, HasSubstr("directory"));
}

TEST_F(ArchiveCliTest, LinksThatLeadOutsideAreKeptIfAskedFor) {
  MakeTar("link.tar", "ln -s /etc/passwd link && mkdir d && ln -s ../link d/in", ".");
  Do({"import", At("link.tar"), "--keep-links", "--to", "/links"});
  EXPECT_THAT(Do({"fs", "ls", "-l", "/links"}).out, HasSubstr("/etc/passwd"));
}

TEST_F(ArchiveCliTest, LimitsHoldWhileReading) {
  WriteHost("base/.agentfs/config.toml", "[limits]\nmax_total_bytes = 1000000\n");
  MakeTar("bomb.tar", "truncate -s 100M bomb && head -c 2000000 /dev/zero > two", "two bomb");
  ExpectRefused("bomb.tar", "");
  WriteHost("base/.agentfs/config.toml", "[limits]\nmax_nodes = 20\n");
  MakeTar("many.tar", "for i in $(seq 100); do echo $i > n$i; done", ".");
  ExpectRefused("many.tar", "");
}

TEST_F(ArchiveCliTest, PackGivesOneFileThatNeedsNoBase) {
  const std::string large(300'000, 'x');
  WriteHost("base/large", large);
  Do({"fs", "write", "/README"}, "first");
  Do({"snapshot", "create", "first", "-m", "the first"});
  Do({"snapshot", "create"});
  Do({"fs", "write", "/README"}, "second");
  Do({"branch", "create", "side", "--from", "first"});
  Do({"fs", "mv", "/src/a.c", "/src/moved.c", "--branch", "side"});
  Do({"fs", "write", "/appended", "--branch", "side"}, large + large);
  const std::string main = Do({"diff"}).out, side = Do({"diff", "side"}).out;
  Do({"kv", "set", "key", "[1]"});
  Do({"tool", "record", "search"});
  Do({"pack", "-o", At("packed.db")});
  Do({"pack", "-o", At("clean.db"), "--no-history"});
  EXPECT_EQ(Do({"snapshot", "list"}).Lines().size(), 3u) << "nothing is left of packing";
  const size_t operations = Do({"audit", "export"}).Lines().size();
  std::filesystem::remove_all(At("base"));
  const std::string packed = At("packed.db");
  EXPECT_EQ(In(packed, {"diff"}).out, main);
  EXPECT_EQ(In(packed, {"diff", "side"}).out, side);
  EXPECT_EQ(In(packed, {"fs", "cat", "/README", "--snapshot", "first"}).out, "first");
  EXPECT_EQ(In(packed, {"fs", "cat", "/README", "--snapshot", "base"}).out, "read me\n");
  EXPECT_EQ(In(packed, {"fs", "cat", "/large"}).out, large);
  EXPECT_EQ(In(packed, {"fs", "cat", "/src/moved.c", "--branch", "side"}).out, "int a;\n");
  EXPECT_THAT(In(packed, {"snapshot", "list"}).out, HasSubstr("the first"));
  EXPECT_EQ(In(packed, {"kv", "get", "key"}).out, "[1]\n");
  EXPECT_EQ(In(packed, {"audit", "export", "--op", "rename"}).Json()["path2"], "/src/moved.c");
  EXPECT_EQ(In(packed, {"audit", "export"}).Lines().size(), operations);
  EXPECT_EQ(In(packed, {"sql", "--csv", "SELECT count(*) AS n FROM ops WHERE node OR layer"}).out,
            "n\r\n0\r\n")
      << "numbers of nodes and layers mean something else there";
  EXPECT_EQ(In(packed, {"tool", "record", "search"}).out, "2\n");
  In(packed, {"fs", "write", "/later"}, "goes on");
  EXPECT_EQ(In(packed, {"audit", "export", "--path", "/later", "--op", "write"}).Json()["bytes"],
            7);
  In(packed, {"fs", "rm", "/later"});
  EXPECT_EQ(In(At("clean.db"), {"diff"}).out, main);
  EXPECT_EQ(In(At("clean.db"), {"kv", "get", "key"}).out, "[1]\n");
  EXPECT_EQ(In(At("clean.db"), {"audit", "export"}).out, "");
  EXPECT_EQ(In(At("clean.db"), {"tool", "record", "search"}).out, "1\n");
  EXPECT_EQ(In(packed, {"fsck"}).status, 0);
  EXPECT_EQ(In(packed, {"gc"}).status, 0);
  EXPECT_EQ(In(packed, {"diff"}).out, main);
}

TEST_F(ArchiveCliTest, APackOfABareWorkspaceIsAsGoodAsItsFile) {
  Ok({"init", "--bare", At("bare.db")});
  In(At("bare.db"), {"fs", "write", "/f"}, "content");
  In(At("bare.db"), {"pack", "-o", At("again.db")});
  EXPECT_EQ(In(At("again.db"), {"fs", "cat", "/f"}).out, "content");
  EXPECT_EQ(In(At("again.db"), {"diff", "--name-status"}).out, "A\t/f\n");
}

TEST_F(MountCliTest, ExportAndImportWorkOnALiveBranch) {
  Mount();
  Write(InMount("new"), "written through the mount");
  Do({"export", "-o", At("out.tar.zst")});
  EXPECT_EQ(Do({"snapshot", "list"}).Lines().size(), 1u) << "only the header";
  ASSERT_EQ(::unlink(InMount("new").c_str()), 0);
  Do({"import", At("out.tar.zst")});
  EXPECT_EQ(Read(InMount("new")), "written through the mount");
}

}  // namespace
}  // namespace agentfs
