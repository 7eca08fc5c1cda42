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

TEST_F(WorkspaceCliTest, FsckFindsAndRepairsDamage) {
  Do({"fs", "write", "/f"}, "x");
  Do({"fs", "write", "/kept"}, "kept");
  // An entry whose node is gone.
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(At("base/.agentfs/state.db").c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db,
                         "DELETE FROM nodes WHERE node IN (SELECT node FROM entries WHERE "
                         "name = 'f')",
                         nullptr, nullptr, nullptr),
            SQLITE_OK)
      << sqlite3_errmsg(db);
  ASSERT_EQ(sqlite3_changes(db), 1);
  sqlite3_close(db);

  Outcome found = Try({"fsck"});
  EXPECT_EQ(found.status, 1) << found.out << found.err;
  EXPECT_NE(found.out, "");
  EXPECT_THAT(found.err, HasSubstr("--repair"));
  auto json = Try({"fsck", "--json"}).Json();
  EXPECT_EQ(json["clean"], false);
  EXPECT_FALSE(json["problems"].empty());
  Outcome repaired = Try({"fsck", "--repair"});
  EXPECT_EQ(repaired.status, 0) << repaired.out;
  EXPECT_THAT(repaired.out, HasSubstr("(repaired)"));
  EXPECT_THAT(Do({"fsck"}).out, HasSubstr("clean: "));
  EXPECT_EQ(Do({"fs", "cat", "/kept"}).out, "kept");
}

}  // namespace
}  // namespace agentfs
