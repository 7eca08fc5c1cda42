// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "program.h"

namespace agentfs {
namespace {

using testing::HasSubstr;

TEST_F(WorkspaceCliTest, GcReclaimsWhatADeletedBranchHad) {
  Do({"branch", "create", "b"});
  Do({"fs", "write", "/large", "--branch", "b"}, std::string(5 << 20, 'x'));
  Do({"branch", "delete", "b"});
  auto json = Do({"gc", "--json"}).Json();
  EXPECT_GE(json["bytes_reclaimed"].get<uint64_t>(), 5u << 20);
  EXPECT_GE(json["layers_removed"].get<uint64_t>(), 1u);
  EXPECT_THAT(Do({"gc"}).out, HasSubstr("reclaimed 0 B"));
  EXPECT_EQ(Do({"fs", "cat", "/README"}).out, "read me\n");
  Do({"fsck"});
}

TEST_F(WorkspaceCliTest, FsckOfASoundWorkspaceIsClean) {
  Do({"fs", "write", "/f"}, "x");
  Do({"snapshot", "create", "s"});
  EXPECT_THAT(Do({"fsck"}).out, HasSubstr("clean: "));
  auto json = Do({"fsck", "--json"}).Json();
  EXPECT_EQ(json["clean"], true);
  EXPECT_TRUE(json["problems"].empty());
  EXPECT_GT(json["rows_checked"].get<int>(), 0);
}

class DamageCliTest : public WorkspaceCliTest {
 protected:
  // Changes the database behind the program's back; the statement must change one row.
  void Damage(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(At("base/.agentfs/state.db").c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    EXPECT_EQ(sqlite3_changes(db), 1) << sql;
    sqlite3_close(db);
  }
  // Repairs everything, and says so.
  std::string Repair() {
    Outcome repaired = Try({"fsck", "--repair"});
    EXPECT_EQ(repaired.status, 0) << repaired.out << repaired.err;
    EXPECT_THAT(repaired.out, HasSubstr("(repaired)"));
    EXPECT_THAT(Do({"fsck"}).out, HasSubstr("clean: "));
    return repaired.out;
  }
};

TEST_F(DamageCliTest, WalksOfADirectoryBelowItselfEnd) {
  Do({"fs", "mkdir", "-p", "/a/b"});
  Damage(
      "INSERT INTO entries SELECT b.node, 'up', a.layer, a.node, a.type, a.since_ms "
      "FROM entries a, entries b "
      "WHERE a.name = 'a' AND b.name = 'b'");
  for (const char* command : {"tree", "find", "du"}) {
    Outcome walked = Try({"fs", command, "/"});
    EXPECT_NE(walked.status, 0) << command;
    EXPECT_THAT(walked.err, HasSubstr("/a/b/up")) << command;
    EXPECT_THAT(walked.err, HasSubstr("agentfs fsck --repair")) << command;
  }
  EXPECT_NE(Try({"fs", "tree", "/", "--json"}).status, 0);
  EXPECT_NE(Try({"fs", "rm", "-r", "/a"}).status, 0);
  EXPECT_NE(Try({"fs", "cp", "-r", "/a", "/c"}).status, 0);
  EXPECT_THAT(Try({"fsck"}).out, HasSubstr("a directory below itself"));
  Repair();
  Do({"fs", "tree", "/"});
  Do({"fs", "rm", "-r", "/a"});
}

TEST_F(DamageCliTest, FsckFindsAndRepairsDamage) {
  Do({"fs", "write", "/f"}, "x");
  Do({"fs", "write", "/kept"}, "kept");
  // An entry whose node is gone.
  Damage("DELETE FROM nodes WHERE node IN (SELECT node FROM entries WHERE name = 'f')");

  Outcome found = Try({"fsck"});
  EXPECT_EQ(found.status, 1) << found.out << found.err;
  EXPECT_NE(found.out, "");
  EXPECT_THAT(found.err, HasSubstr("--repair"));
  auto json = Try({"fsck", "--json"}).Json();
  EXPECT_EQ(json["clean"], false);
  EXPECT_FALSE(json["problems"].empty());
  Repair();
  EXPECT_EQ(Do({"fs", "cat", "/kept"}).out, "kept");
}

TEST_F(DamageCliTest, WhatCannotBeOpenedCanBeRepaired) {
  Do({"fs", "write", "/kept"}, "kept");
  Do({"snapshot", "create", "s"});
  Do({"branch", "create", "work", "--from", "s"});
  Do({"fs", "write", "/in-work", "--branch", "work"}, "work");
  for (const char* damage :
       {"UPDATE branches SET layer = 999 WHERE name = 'work'",
        "UPDATE snapshots SET layer = 888 WHERE name = 's'", "DELETE FROM layers WHERE layer = 1",
        "UPDATE meta SET value = -1 WHERE name = 'next_node'"}) {
    SCOPED_TRACE(damage);
    Damage(damage);
    Outcome refused = Try({"fs", "cat", "/kept"});
    EXPECT_EQ(refused.status, 125);
    EXPECT_THAT(refused.err, HasSubstr("agentfs fsck --repair"));
    Outcome found = Try({"fsck"});
    EXPECT_EQ(found.status, 1) << found.out << found.err;
    EXPECT_EQ(Try({"fsck", "--json"}).Json()["clean"], false);
    Repair();
    EXPECT_EQ(Do({"fs", "cat", "/kept"}).out, "kept");
  }
  auto branches = Do({"branch", "list", "--json"}).Json();
  ASSERT_EQ(branches.size(), 2u);
  const std::string recovered = branches[1]["name"];
  EXPECT_THAT(recovered, HasSubstr("recovered-"));
  EXPECT_EQ(Do({"fs", "cat", "/in-work", "--branch", recovered}).out, "work");
}

TEST_F(DamageCliTest, ALostMainIsMadeAnew) {
  Do({"fs", "write", "/changed"}, "changed");
  Damage("DELETE FROM branches WHERE name = 'main'");
  EXPECT_EQ(Try({"fs", "ls", "/"}).status, 125);
  EXPECT_THAT(Repair(), HasSubstr("recovered-"));
  EXPECT_EQ(Do({"fs", "cat", "/README"}).out, "read me\n");
  EXPECT_NE(Try({"fs", "cat", "/changed"}).status, 0);
}

}  // namespace
}  // namespace agentfs
