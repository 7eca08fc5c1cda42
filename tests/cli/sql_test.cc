// SPDX-License-Identifier: Apache-2.0
//
// sql: what it answers, and that it can do nothing else.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <filesystem>
#include <thread>

#include "mounted.h"

namespace agentfs {
namespace {

using testing::HasSubstr;
using testing::Not;

class SqlCliTest : public WorkspaceCliTest {
 protected:
  nlohmann::json Ask(const std::string& query) { return Do({"sql", query, "--json"}).Json(); }
  void ExpectDenied(const std::string& query) {
    SCOPED_TRACE(query);
    const Outcome outcome = Try({"sql", query});
    EXPECT_NE(outcome.status, 0);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("agentfs: sql"));
  }
};

TEST_F(SqlCliTest, FilesAreWhatEachBranchHas) {
  Do({"fs", "write", "/new"}, "12345");
  Do({"fs", "chmod", "600", "/src/a.c"});
  Do({"fs", "rm", "/README"});
  Do({"snapshot", "create", "first"});
  Do({"branch", "create", "side"});
  Do({"fs", "write", "/new", "--branch", "side"}, "123");
  Do({"fs", "mv", "/src", "/lib", "--branch", "side"});
  Do({"fs", "ln", "-s", "new", "/link"});
  const std::string query = "SELECT path, kind, size, permissions FROM files WHERE branch = '";
  EXPECT_EQ(Ask(query + "main' AND kind <> 'directory' ORDER BY path"), nlohmann::json::parse(R"([
    {"path": "/link", "kind": "symlink", "size": 3, "permissions": "0777"},
    {"path": "/new", "kind": "file", "size": 5, "permissions": "0644"},
    {"path": "/src/a.c", "kind": "file", "size": 7, "permissions": "0600"}])"));
  EXPECT_EQ(Ask(query + "side' AND kind <> 'directory' ORDER BY path"), nlohmann::json::parse(R"([
    {"path": "/lib/a.c", "kind": "file", "size": 7, "permissions": "0600"},
    {"path": "/new", "kind": "file", "size": 3, "permissions": "0644"}])"));
  EXPECT_EQ(Ask("SELECT base_path FROM files WHERE path = '/lib/a.c'")[0]["base_path"], "/src/a.c");
}

TEST_F(SqlCliTest, ValuesAndToolCallsAreViews) {
  Do({"kv", "set", "it's; DROP TABLE kv_rows --\n", R"({"a": [1, null]})"});
  Do({"tool", "record", "search", "--parameters", R"({"q": "x"})", "--result", "[1]", "--started",
      "1000.5", "--completed", "1970-01-01T00:16:42Z"});
  const auto kv = Ask("SELECT key, json_extract(value, '$.a[0]') AS one FROM kv");
  EXPECT_EQ(kv, nlohmann::json::parse(R"([{"key": "it's; DROP TABLE kv_rows --\n", "one": 1}])"));
  const auto calls =
      Ask("SELECT id, name, parameters, result, error, started_at, completed_at, duration_ms, "
          "started_ns FROM tool_calls");
  EXPECT_EQ(calls, nlohmann::json::parse(R"([{"id": 1, "name": "search",
    "parameters": "{\"q\": \"x\"}", "result": "[1]", "error": null, "started_at": 1000,
    "completed_at": 1002, "duration_ms": 1500, "started_ns": 1000500000000}])"));
}

TEST_F(SqlCliTest, PrintsATableCsvAndJson) {
  const std::string query = "SELECT 1 AS a, 'x,\"y\"\n' AS b, NULL AS c, X'00ff' AS d, 1.5 AS a";
  EXPECT_EQ(Do({"sql", query}).out,
            "a  b        c     d        a:1\n1  x,\"y\"\\n  NULL  X'00ff'  1.5\n");
  EXPECT_EQ(Do({"sql", query, "--csv"}).out, "a,b,c,d,a:1\r\n1,\"x,\"\"y\"\"\n\",,X'00ff',1.5\r\n");
  EXPECT_EQ(Ask(query), nlohmann::json::parse(R"([{"a": 1, "b": "x,\"y\"\n", "c": null,
    "d": {"base64": "AP8="}, "a:1": 1.5}])"));
  EXPECT_EQ(Do({"sql", "-", "--csv"}, "SELECT 2 AS two;\n-- done\n").out, "two\r\n2\r\n");
  EXPECT_EQ(Do({"sql", "--csv", "SELECT * FROM files WHERE 0"}).Lines().size(), 1u);
}

TEST_F(SqlCliTest, RowsAndTimeAreLimited) {
  const std::string endless =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT ";
  const Outcome cut = Do({"sql", "--csv", "--limit", "3", endless + "i FROM n"});
  EXPECT_EQ(cut.out, "i\r\n1\r\n2\r\n3\r\n");
  EXPECT_THAT(cut.err, HasSubstr("first 3 rows"));
  const Outcome late = Try({"sql", "--timeout", "0.2", endless + "count(*) FROM n"});
  EXPECT_EQ(late.status, 125);
  EXPECT_THAT(late.err, HasSubstr("--timeout"));
  EXPECT_EQ(Do({"sql", "--csv", "SELECT * FROM files", "--limit", "0"}).status, 0);
  for (const char* wrong : {"-1", "x", ""}) {
    EXPECT_EQ(Try({"sql", "SELECT 1", "--limit", wrong}).status, 2) << wrong;
  }
  for (const char* wrong : {"0", "-1", "nan", "inf", "x"}) {
    EXPECT_EQ(Try({"sql", "SELECT 1", "--timeout", wrong}).status, 2) << wrong;
  }
}

// What takes its time where nobody looks at the clock, or its memory.
TEST_F(SqlCliTest, ValuesAndPatternsAreLimited) {
  ExpectDenied("SELECT zeroblob(100000000)");
  ExpectDenied("SELECT replace(hex(zeroblob(8000000)), '0', 'xxxxxxxx')");
  const std::string text(50'000, 'a');
  std::string pattern;
  for (int i = 0; i < 5000; ++i) pattern += "%a";
  for (const std::string how : {"LIKE", "GLOB"}) {
    const Outcome outcome =
        Try({"sql", "-"}, "SELECT '" + text + "' " + how + " '" + pattern + "b'");
    EXPECT_EQ(outcome.status, 2) << outcome.err;
  }
  const Outcome cut = Do({"sql", "--csv",
                          "WITH RECURSIVE n(x) AS (SELECT zeroblob(16000000) UNION ALL SELECT x "
                          "FROM n) SELECT 1 FROM n WHERE length(x) LIMIT 3"});
  EXPECT_EQ(cut.Lines().size(), 4u);
}

TEST_F(SqlCliTest, NothingButReadingIsPossible) {
  const std::string file = At("made.db");
  for (const std::string query : {"DELETE FROM branches",
                                  "INSERT INTO meta VALUES ('x', 1)",
                                  "DROP VIEW files",
                                  "UPDATE layers SET parent = 0",
                                  "CREATE TABLE t (a)",
                                  "CREATE TEMP TABLE t (a)",
                                  "ATTACH '/etc/passwd' AS p",
                                  "DETACH main",
                                  "PRAGMA journal_mode = DELETE",
                                  "PRAGMA user_version = 9",
                                  "PRAGMA query_only = OFF",
                                  "PRAGMA wal_checkpoint(TRUNCATE)",
                                  "PRAGMA writable_schema = ON",
                                  "BEGIN IMMEDIATE",
                                  "SAVEPOINT s",
                                  "REINDEX",
                                  "ANALYZE",
                                  "VACUUM",
                                  "SELECT load_extension('/tmp/x')",
                                  "SELECT readfile('/etc/passwd')",
                                  "SELECT writefile('/tmp/x', 'y')",
                                  "SELECT 1; DELETE FROM branches",
                                  "SELECT 1; SELECT 2",
                                  "SELECT",
                                  "",
                                  "-- nothing",
                                  "SELECT * FROM nothing"}) {
    ExpectDenied(query);
  }
  ExpectDenied("VACUUM INTO '" + file + "'");
  ExpectDenied("ATTACH '" + file + "' AS made");
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_EQ(Do({"sql", "--csv", "SELECT name FROM pragma_table_info('branches')"}).Lines().size(),
            4u);
  EXPECT_EQ(Try({"sql", "SELECT * FROM nothing"}).status, 2);
  EXPECT_EQ(Try({"sql", "DELETE FROM branches"}).status, 125);
  EXPECT_EQ(Do({"fsck"}).status, 0);
}

TEST_F(SqlCliTest, AnotherFileOrADamagedOneIsAnError) {
  Ok({"init", "--bare", At("bare.db")});
  In(At("bare.db"), {"fs", "write", "/f"}, "content");
  EXPECT_THAT(In(At("bare.db"), {"sql", "SELECT path FROM files"}).out, HasSubstr("/f"));
  std::string bytes = ReadHost("bare.db");
  bytes.replace(100, bytes.size() - 100, std::string(bytes.size() - 100, '\xee'));
  WriteHost("bare.db", bytes);
  const Outcome damaged = Run({"--workspace", At("bare.db"), "sql", "SELECT * FROM files"});
  EXPECT_EQ(damaged.status, 125);
  EXPECT_THAT(damaged.err, HasSubstr("bare.db"));
  WriteHost("base/.agentfs/state.db", "this is something else, and long enough");
  EXPECT_THAT(Try({"sql", "SELECT 1"}).err, HasSubstr("no SQLite database"));
  std::filesystem::remove(At("base/.agentfs/state.db"));
  EXPECT_EQ(Try({"sql", "SELECT 1"}).status, 4);
}

TEST_F(SqlCliTest, TheShellSeesTheViewsToo) {
  Do({"fs", "write", "/new"}, "12345");
  sqlite3* db = nullptr;
  ASSERT_EQ(
      sqlite3_open_v2(At("base/.agentfs/state.db").c_str(), &db, SQLITE_OPEN_READONLY, nullptr),
      SQLITE_OK);
  std::string size;
  EXPECT_EQ(sqlite3_exec(
                db, "SELECT size FROM files WHERE path = '/new'",
                [](void* to, int, char** values, char**) {
                  *static_cast<std::string*>(to) = values[0];
                  return 0;
                },
                &size, nullptr),
            SQLITE_OK);
  EXPECT_EQ(size, "5");
  for (const std::string view : {"changes", "ops", "paths", "programs", "execs", "tool_calls"}) {
    EXPECT_EQ(sqlite3_exec(db, ("SELECT * FROM " + view).c_str(), nullptr, nullptr, nullptr),
              SQLITE_OK)
        << view << ": " << sqlite3_errmsg(db);
  }
  sqlite3_close(db);
}

TEST_F(MountCliTest, SqlSeesWhatWasJustWrittenAndHoldsNobodyUp) {
  Mount();
  Write(InMount("new"), "written");
  EXPECT_THAT(Do({"sql", "SELECT path, size FROM files WHERE path = '/new'"}).out,
              HasSubstr("/new  7"));
  // While a long question is asked, writing and syncing go on.
  std::thread asking([this] {
    Try({"sql", "--timeout", "2",
         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n, "
         "nodes"});
  });
  for (int i = 0; i < 50; ++i) Write(InMount("during"), std::to_string(i));
  Do({"snapshot", "create", "during"});
  asking.join();
  EXPECT_EQ(Read(InMount("during")), "49");
}

}  // namespace
}  // namespace agentfs
