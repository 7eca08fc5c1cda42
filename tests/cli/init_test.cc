// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>

#include "program.h"

namespace agentfs {
namespace {

using testing::HasSubstr;

TEST_F(CliTest, InitMakesTheLayout) {
  MakeHostDirectory("d");
  WriteHost("d/f", "x");
  Outcome made = Ok({"init", At("d")});
  EXPECT_THAT(made.out, HasSubstr(At("d")));
  EXPECT_TRUE(std::filesystem::is_regular_file(At("d/.agentfs/state.db")));
  EXPECT_TRUE(std::filesystem::is_directory(At("d/.agentfs/objects")));
  EXPECT_TRUE(std::filesystem::is_regular_file(At("d/.agentfs/config.toml")));
  EXPECT_EQ(ReadHost("d/.agentfs/.gitignore"), "*\n");
  EXPECT_EQ(In(At("d"), {"fs", "ls"}).out, "f\n");
  EXPECT_EQ(In(At("d"), {"branch", "list", "--json"}).Json()[0]["name"], "main");
}

TEST_F(CliTest, InitHereIsTheDefault) {
  RunOptions here;
  MakeHostDirectory("d");
  here.directory = At("d");
  EXPECT_EQ(Run({"init"}, here).status, 0);
  EXPECT_TRUE(std::filesystem::exists(At("d/.agentfs/state.db")));
}

TEST_F(CliTest, ASecondInitSaysSoAndChangesNothing) {
  MakeHostDirectory("d");
  Ok({"init", At("d")});
  In(At("d"), {"fs", "write", "/f"}, "kept");
  Outcome again = Ok({"init", At("d")});
  EXPECT_THAT(again.out, HasSubstr("Already"));
  EXPECT_EQ(Ok({"init", At("d"), "--json"}).Json()["created"], false);
  EXPECT_EQ(In(At("d"), {"fs", "cat", "/f"}).out, "kept");
}

TEST_F(CliTest, InitPrintsJson) {
  MakeHostDirectory("d");
  auto json = Ok({"init", At("d"), "--json"}).Json();
  EXPECT_EQ(json["created"], true);
  EXPECT_EQ(json["workspace"], std::filesystem::canonical(At("d")).string());
  EXPECT_EQ(json["base"], json["workspace"]);
  EXPECT_EQ(Ok({"init", At("d"), "--quiet"}).out, "");
}

TEST_F(CliTest, StateKeepsTheBaseClean) {
  MakeHostDirectory("d");
  WriteHost("d/f", "base");
  Ok({"init", At("d"), "--state", At("s")});
  EXPECT_FALSE(std::filesystem::exists(At("d/.agentfs")));
  EXPECT_EQ(In(At("s"), {"fs", "cat", "/f"}).out, "base");
  In(At("s"), {"fs", "write", "/f"}, "changed");
  EXPECT_EQ(In(At("s"), {"fs", "cat", "/f"}).out, "changed");
  EXPECT_EQ(ReadHost("d/f"), "base");
  EXPECT_TRUE(std::filesystem::exists(At("s/state.db")));
}

TEST_F(CliTest, StateWorksOverAReadOnlyBase) {
  MakeHostDirectory("d");
  WriteHost("d/f", "base");
  ASSERT_EQ(::chmod(At("d/f").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(At("d").c_str(), 0555), 0);
  Ok({"init", At("d"), "--state", At("s")});
  EXPECT_EQ(In(At("s"), {"fs", "cat", "/f"}).out, "base");
  ASSERT_EQ(::chmod(At("d").c_str(), 0755), 0);
}

TEST_F(CliTest, BareIsOneFileWithoutABase) {
  Ok({"init", "--bare", At("x.db")});
  EXPECT_EQ(In(At("x.db"), {"fs", "ls"}).out, "");
  In(At("x.db"), {"fs", "mkdir", "-p", "/a/b"});
  In(At("x.db"), {"fs", "write", "/a/b/f"}, std::string(3 << 20, 'x'));
  EXPECT_EQ(In(At("x.db"), {"fs", "cat", "/a/b/f"}).out, std::string(3 << 20, 'x'));
  // Nothing else is left beside it.
  size_t files = 0;
  for ([[maybe_unused]] auto& entry : std::filesystem::directory_iterator(At(""))) ++files;
  EXPECT_EQ(files, 1u);
  EXPECT_EQ(Ok({"init", "--bare", At("x.db"), "--json"}).Json()["created"], false);
}

TEST_F(CliTest, ABareFileCanBeMoved) {
  Ok({"init", "--bare", At("x.db")});
  In(At("x.db"), {"fs", "write", "/f"}, "moves");
  std::filesystem::rename(At("x.db"), At("y.db"));
  EXPECT_EQ(In(At("y.db"), {"fs", "cat", "/f"}).out, "moves");
}

TEST_F(CliTest, SingleFileKeepsLargeContentInTheDatabase) {
  MakeHostDirectory("d");
  Ok({"init", At("d"), "--single-file"});
  In(At("d"), {"fs", "write", "/large"}, std::string(5 << 20, 'x'));
  EXPECT_FALSE(std::filesystem::exists(At("d/.agentfs/objects")));
  EXPECT_GT(std::filesystem::file_size(At("d/.agentfs/state.db")), 5u << 20);
  EXPECT_EQ(In(At("d"), {"fs", "cat", "/large"}).out.size(), 5u << 20);
}

TEST_F(CliTest, TheStateIsADatabaseThatPeopleCanQuery) {
  Ok({"init", "--bare", At("x.db")});
  In(At("x.db"), {"fs", "write", "/hello"}, "x");
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open_v2(At("x.db").c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  sqlite3_stmt* query = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(db, "SELECT count(*) FROM entries WHERE name = 'hello'", -1, &query,
                               nullptr),
            SQLITE_OK)
      << sqlite3_errmsg(db);
  ASSERT_EQ(sqlite3_step(query), SQLITE_ROW);
  EXPECT_EQ(sqlite3_column_int(query, 0), 1);
  sqlite3_finalize(query);
  sqlite3_close(db);
}

TEST_F(CliTest, InitRefusesWhatCannotBeAWorkspace) {
  EXPECT_EQ(Run({"init", At("absent")}).status, 4);
  WriteHost("f", "no database");
  EXPECT_NE(Run({"init", At("f")}).status, 0);
  EXPECT_NE(Run({"init", "--bare", At("f")}).status, 0);
  EXPECT_EQ(ReadHost("f"), "no database");
  EXPECT_NE(Run({"--workspace", At("f"), "fs", "ls"}).status, 0);
  EXPECT_EQ(ReadHost("f"), "no database");
  EXPECT_EQ(Run({"init", "--bare", At("absent/x.db")}).status, 4);
}

TEST_F(WorkspaceCliTest, ALostDatabaseIsAnErrorAndNotANewOne) {
  std::filesystem::remove(At("base/.agentfs/state.db"));
  ExpectFailure({"fs", "ls"}, 4, "ENOENT");
  EXPECT_FALSE(std::filesystem::exists(At("base/.agentfs/state.db")));
  WriteHost("base/.agentfs/state.db", "");
  ExpectFailure({"fs", "ls"}, 4, "ENOENT");
  EXPECT_EQ(ReadHost("base/.agentfs/state.db"), "");
  WriteHost("base/.agentfs/state.db", std::string(4096, 'x'));
  ExpectFailure({"fs", "ls"}, 125, "EBADMSG");
  EXPECT_EQ(ReadHost("base/.agentfs/state.db"), std::string(4096, 'x'));
}

TEST_F(WorkspaceCliTest, WhatWasKilledWhileItMadeTheWorkspaceIsCompleted) {
  std::filesystem::remove(At("base/.agentfs/state.db"));
  std::filesystem::remove_all(At("base/.agentfs/objects"));
  WriteHost("base/.agentfs/making", "");
  EXPECT_EQ(Run({"--workspace", At("base"), "fs", "ls"}).status, 0);
  EXPECT_FALSE(std::filesystem::exists(At("base/.agentfs/making")));
  std::filesystem::remove(At("base/.agentfs/state.db"));
  ExpectFailure({"fs", "ls"}, 4, "ENOENT");
}

}  // namespace
}  // namespace agentfs
