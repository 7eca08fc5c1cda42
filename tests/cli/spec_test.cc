// SPDX-License-Identifier: Apache-2.0
//
// export --format agentfs-spec and import of such files, made and looked at with plain SQLite. The
// public client is the judge in tests/programs/spec.
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "mounted.h"

namespace agentfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Runs SQL on a database file; rows as text, columns joined by '|'.
std::vector<std::string> Sql(const std::string& file, const std::string& sql) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(file.c_str(), &db), SQLITE_OK);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> closer(db, sqlite3_close);
  std::vector<std::string> rows;
  char* error = nullptr;
  sqlite3_exec(
      db, sql.c_str(),
      [](void* to, int count, char** values, char**) {
        std::string row;
        for (int i = 0; i < count; ++i) {
          row += (i > 0 ? "|" : "") + std::string(values[i] ? values[i] : "NULL");
        }
        static_cast<std::vector<std::string>*>(to)->push_back(row);
        return 0;
      },
      &rows, &error);
  EXPECT_EQ(error, nullptr) << error << ": " << sql;
  sqlite3_free(error);
  return rows;
}

constexpr const char* kOldTables = R"(
CREATE TABLE fs_inode (ino INTEGER PRIMARY KEY, mode INTEGER, size INTEGER, mtime INTEGER);
CREATE TABLE fs_dentry (id INTEGER PRIMARY KEY, name TEXT, parent_ino INTEGER, ino INTEGER);
CREATE TABLE fs_data (ino INTEGER, chunk_index INTEGER, data BLOB);
CREATE TABLE fs_symlink (ino INTEGER PRIMARY KEY, target TEXT);
CREATE TABLE fs_config (key TEXT PRIMARY KEY, value TEXT);
INSERT INTO fs_config VALUES ('chunk_size', '4');
INSERT INTO fs_inode VALUES (1, 16877, 0, 5), (2, 33188, 10, 7), (3, 16877, 0, 5);
INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('f', 1, 2), ('d', 1, 3);
INSERT INTO fs_data VALUES (2, 0, 'abcd'), (2, 2, 'ij');
)";

class SpecCliTest : public WorkspaceCliTest {
 protected:
  std::string Make(const std::string& sql) {
    const std::string file = At("made.db");
    std::filesystem::remove(file);
    Sql(file, kOldTables + sql);
    return file;
  }
  std::string State() { return Do({"diff", "--json"}).out + Do({"snapshot", "list"}).out; }
  void ExpectRefused(const std::string& sql, const std::string& why) {
    SCOPED_TRACE(sql);
    const Outcome outcome = Try({"import", Make(sql)});
    EXPECT_EQ(outcome.status, 125) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(why));
  }
};

TEST_F(SpecCliTest, ExportHasTheTablesOfTheSpecification) {
  Do({"fs", "write", "/src/new"}, std::string(5000, 'x'));
  Do({"fs", "rm", "/README"});
  Do({"fs", "ln", "-s", "a.c", "/src/link"});
  Do({"fs", "ln", "/src/a.c", "/src/hard"});
  const std::string file = At("spec.db");
  Do({"export", "-o", file, "--format", "agentfs-spec"});
  EXPECT_THAT(Sql(file, "SELECT key, value FROM fs_config ORDER BY key"),
              ElementsAre("chunk_size|4096", "schema_version|0.4"));
  EXPECT_THAT(Sql(file, "SELECT name FROM fs_dentry WHERE parent_ino = 1 ORDER BY name"),
              ElementsAre("src"));
  EXPECT_THAT(Sql(file,
                  "SELECT d.name, i.size, i.nlink, (SELECT group_concat(length(data)) FROM "
                  "fs_data WHERE ino = d.ino), s.target FROM fs_dentry d JOIN fs_inode i USING "
                  "(ino) LEFT JOIN fs_symlink s USING (ino) JOIN fs_dentry p ON p.ino = "
                  "d.parent_ino WHERE p.name = 'src' ORDER BY d.name"),
              ElementsAre("a.c|7|2|7|NULL", "b.c|7|1|7|NULL", "hard|7|2|7|NULL",
                          "link|3|1|NULL|a.c", "new|5000|1|4096,904|NULL"));
  EXPECT_THAT(Sql(file, "SELECT count(DISTINCT ino) FROM fs_dentry WHERE name IN ('a.c','hard')"),
              ElementsAre("1"));
  EXPECT_THAT(Sql(file,
                  "SELECT (SELECT count(*) FROM fs_whiteout) + (SELECT count(*) FROM "
                  "fs_origin)"),
              ElementsAre("0"));
  EXPECT_THAT(Sql(file, "PRAGMA integrity_check"), ElementsAre("ok"));
}

TEST_F(SpecCliTest, WhatIsExportedComesBack) {
  Do({"fs", "write", "/quote\"'; DROP TABLE fs_inode; --\n.txt"}, "hostile name");
  Do({"fs", "write", "/bytes \x01\xff"}, std::string("\0\1\2", 3));
  Do({"fs", "mkdir", "/empty"});
  Do({"fs", "chmod", "4711", "/src/a.c"});
  Do({"export", "-o", At("spec.db"), "--format", "agentfs-spec"});
  Do({"branch", "create", "other", "--from", "base"});
  Do({"fs", "write", "/gone", "--branch", "other"}, "replaced");
  Do({"import", At("spec.db"), "--branch", "other"});
  EXPECT_EQ(Do({"diff", "main", "other", "--name-status"}).out, "");
  EXPECT_EQ(Do({"export", "other", "-o", At("again.db"), "--format", "agentfs-spec", "--json"})
                .Json()["bytes"],
            std::filesystem::file_size(At("spec.db")));
}

TEST_F(SpecCliTest, OlderVariantsAreTakenAndMissingChunksAreZeros) {
  const std::string file =
      Make("CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, name TEXT, status TEXT)");
  Do({"import", file});
  EXPECT_EQ(Do({"fs", "cat", "/f"}).out, std::string("abcd\0\0\0\0ij", 10));
  EXPECT_EQ(Do({"fs", "ls", "/"}).out, "d\nf\n");
  Do({"import", "-"}, ReadHost("made.db"));
  EXPECT_EQ(Do({"fs", "ls", "/"}).out, "d\nf\n");
}

TEST_F(SpecCliTest, ADeltaIsLaidOverTheBranch) {
  Do({"fs", "write", "/src/sub"}, "a file where the delta has a directory");
  const std::string file = Make(
      "CREATE TABLE fs_whiteout (path TEXT PRIMARY KEY);"
      "INSERT INTO fs_whiteout VALUES ('/README'), ('/not/there');"
      "INSERT INTO fs_inode VALUES (9, 16877, 0, 5), (10, 16877, 0, 5);"
      "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('src', 1, 9), ('sub', 9, 10)");
  Do({"import", file});
  EXPECT_EQ(Do({"fs", "ls", "/"}).out, "d\nf\nsrc\n");
  EXPECT_EQ(Do({"fs", "cat", "/src/a.c"}).out, "int a;\n");
  EXPECT_THAT(Do({"fs", "stat", "/src/sub", "--json"}).out, HasSubstr("directory"));
  const std::string before = State();
  ExpectRefused(
      "CREATE TABLE fs_whiteout (path TEXT PRIMARY KEY);"
      "INSERT INTO fs_whiteout VALUES ('/src'); UPDATE fs_inode SET size = -1 WHERE ino = 2;",
      "size");
  EXPECT_EQ(State(), before);
  EXPECT_EQ(Do({"fs", "cat", "/src/a.c"}).out, "int a;\n");
}

TEST_F(SpecCliTest, HostileFilesAreRefusedAndChangeNothing) {
  Do({"fs", "write", "/mine"}, "mine");
  const std::string before = State();
  ExpectRefused("UPDATE fs_dentry SET name = 'a/b' WHERE ino = 2", "name that cannot be");
  ExpectRefused("UPDATE fs_dentry SET name = '..' WHERE ino = 2", "name that cannot be");
  ExpectRefused("UPDATE fs_dentry SET name = '' WHERE ino = 2", "name that cannot be");
  ExpectRefused("UPDATE fs_dentry SET name = CAST(x'610062' AS TEXT) WHERE ino = 2",
                "name that cannot be");
  ExpectRefused("INSERT INTO fs_dentry VALUES (9, 'loop', 3, 1)", "below itself");
  ExpectRefused("INSERT INTO fs_dentry VALUES (9, 'loop', 3, 3)", "below itself");
  ExpectRefused(
      "INSERT INTO fs_inode VALUES (7, 16877, 0, 0), (8, 16877, 0, 0);"
      "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES ('a', 7, 8), ('b', 8, 7)",
      "cannot be reached");
  ExpectRefused("UPDATE fs_dentry SET ino = 77 WHERE ino = 2", "does not exist");
  ExpectRefused("UPDATE fs_inode SET size = 9000000000000000000 WHERE ino = 2", "size");
  ExpectRefused("UPDATE fs_inode SET mode = 420 WHERE ino = 2", "mode");
  ExpectRefused("UPDATE fs_data SET data = 'abcdefg'", "chunk");
  ExpectRefused("UPDATE fs_data SET chunk_index = -1 WHERE chunk_index = 0", "chunk");
  ExpectRefused("UPDATE fs_config SET value = '999999999999'", "chunk_size");
  ExpectRefused(
      "INSERT INTO fs_inode VALUES (5, 41471, 3, 0);"
      "INSERT INTO fs_dentry VALUES (9, 'link', 1, 5)",
      "without a target");
  ExpectRefused(
      "INSERT INTO fs_inode VALUES (5, 41471, 3, 0);"
      "INSERT INTO fs_symlink VALUES (5, '/etc/passwd');"
      "INSERT INTO fs_dentry VALUES (9, 'link', 1, 5)",
      "--keep-links");
  ExpectRefused(
      "ALTER TABLE fs_inode RENAME TO other;"
      "CREATE VIEW fs_inode AS SELECT * FROM other",
      "no table fs_inode");
  EXPECT_EQ(State(), before);
  EXPECT_EQ(Do({"fs", "cat", "/mine"}).out, "mine");
  EXPECT_EQ(Do({"fsck"}).status, 0);
}

TEST_F(SpecCliTest, ADamagedDatabaseIsRefused) {
  Do({"fs", "write", "/mine"}, std::string(100'000, 'm'));
  Do({"export", "-o", At("spec.db"), "--format", "agentfs-spec"});
  const std::string bytes = ReadHost("spec.db");
  const std::string before = State();
  for (size_t at = 4096; at < bytes.size(); at += 5 * 4096) {
    std::string damaged = bytes;
    damaged.replace(at, 64, std::string(64, '\xee'));
    WriteHost("damaged.db", damaged);
    const Outcome outcome = Try({"import", At("damaged.db")});
    EXPECT_EQ(outcome.status, 125) << at << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("damaged.db"));
  }
  WriteHost("short.db", bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(Try({"import", At("short.db")}).status, 125);
  WriteHost("head.db", bytes.substr(0, 100));
  EXPECT_EQ(Try({"import", At("head.db")}).status, 125);
  EXPECT_EQ(State(), before);
}

TEST_F(MountCliTest, ASpecFileGoesThroughALiveBranch) {
  Mount();
  Write(InMount("new"), "written through the mount");
  Do({"export", "-o", At("spec.db"), "--format", "agentfs-spec"});
  ASSERT_EQ(::unlink(InMount("new").c_str()), 0);
  Do({"import", At("spec.db")});
  EXPECT_EQ(Read(InMount("new")), "written through the mount");
}

}  // namespace
}  // namespace agentfs
