// SPDX-License-Identifier: Apache-2.0
//
// The questions of docs/audit.md, each with the answer that a workspace with known operations
// gives.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>

#include "program.h"

namespace agentfs {
namespace {

using nlohmann::json;

// Exec 7, make: makes and removes /src/tmp.o, writes /src/a.c, deletes /README, renames /src/b.c.
// Exec 8, vim: writes /src/a.c, and is refused /secret.
constexpr const char* kKnownOperations = R"(
INSERT INTO op_directories VALUES (1, 'main', ''), (2, 'main', 'src/');
INSERT INTO op_paths VALUES (1, 1, 'README', 0, 0, 5), (2, 2, 'a.c', 2, 7, 7), (3, 2, 'b.c', 0, 0, 6),
  (4, 2, 'tmp.o', 1, 2, 3), (5, 2, 'c.c', 0, 0, 6), (6, 1, 'secret', 0, 0, 8);
INSERT INTO op_processes VALUES (1, 7, 100, 99, 1000, 'make', 6, 110, 6), (2, 8, 200, 99, 0, 'vim', 2, 50, 8);
INSERT INTO op_rows (op, exec, kind, errno, path, process, path2, bytes, bytes_read, layer, node, time_ns)
VALUES (1, 7, 1, 0, 4, 1, 0, 0, 0, 2, 50, 1000000000), (2, 7, 2, 0, 4, 1, 0, 10, 0, 2, 50, 2000000000),
  (3, 7, 4, 0, 4, 1, 0, 0, 0, 2, 50, 3000000000), (4, 7, 2, 0, 2, 1, 0, 100, 0, 2, 51, 4000000000),
  (5, 7, 4, 0, 1, 1, 0, 0, 0, 2, 52, 5000000000), (6, 7, 7, 0, 3, 1, 5, 0, 0, 2, 53, 6000000000),
  (7, 8, 2, 0, 2, 2, 0, 50, 0, 3, 51, 7000000000), (8, 8, 2, 13, 6, 2, 0, 0, 0, 3, 54, 8000000000);
INSERT INTO exec_rows VALUES
  (7, 'run', '["make"]', 0, '/w', 'main', 1, 'allow', '', '', 1000000000, 6500000000, 0, 0, 1000, '', ''),
  (8, 'exec', 'vim src/a.c', 1, '/w', 'main', 2, 'allow', '', '', 7000000000, 9000000000, 2, 0, 0, '', '');
INSERT INTO call_rows VALUES (1, 'edit', '{}', '', '', 7000000000, 9000000000, 8),
  (2, 'search', '', '', 'no network', 9000000000, 9500000000, 0);
)";

const std::map<std::string, std::string> kAnswers = {
    {"What did exec 7 delete?", R"([
      {"path": "/src/tmp.o", "comm": "make", "at": "1970-01-01 00:00:03"},
      {"path": "/README", "comm": "make", "at": "1970-01-01 00:00:05"}])"},
    {"Who last wrote this file?", R"([
      {"comm": "vim", "pid": 200, "exec": 8, "bytes": 50, "at": "1970-01-01 00:00:07"}])"},
    {"Which files were rewritten most?", R"([
      {"path": "/src/a.c", "writes": 2}, {"path": "/src/tmp.o", "writes": 1}])"},
    {"Which were the busiest programs?", R"([
      {"comm": "make", "ops": 6, "bytes": 110}, {"comm": "vim", "ops": 2, "bytes": 50}])"},
    {"Which attempts were denied?", R"([
      {"exec": 8, "comm": "vim", "op": "write", "path": "/secret", "errno": 13}])"},
    {"What did exec 7 change?", R"([
      {"change": "deleted", "path": "/README", "bytes": 0},
      {"change": "modified", "path": "/src/a.c", "bytes": 100},
      {"change": "deleted", "path": "/src/b.c", "bytes": 0},
      {"change": "created", "path": "/src/c.c", "bytes": 0},
      {"change": "temporary", "path": "/src/tmp.o", "bytes": 10}])"},
    {"Which commands failed?", R"([
      {"id": 8, "kind": "exec", "command": "vim src/a.c", "status": 2, "duration_ms": 2000}])"},
    {"What was renamed?", R"([{"exec": 7, "path": "/src/b.c", "path2": "/src/c.c"}])"},
    {"How much did each exec write?", R"([
      {"id": 7, "command": "[\"make\"]", "bytes": 110, "ops": 6},
      {"id": 8, "command": "vim src/a.c", "bytes": 50, "ops": 2}])"},
    {"What happened last below a directory?", R"([
      {"path": "/src/a.c", "op": "write", "comm": "vim", "exec": 8},
      {"path": "/src/b.c", "op": "rename", "comm": "make", "exec": 7},
      {"path": "/src/c.c", "op": "rename", "comm": "make", "exec": 7},
      {"path": "/src/tmp.o", "op": "unlink", "comm": "make", "exec": 7}])"},
    {"Which are the largest files of a branch?", R"([
      {"path": "/large", "size": 3000}, {"path": "/small", "size": 3}])"},
    {"What did the calls of a tool do?", R"([
      {"id": 1, "name": "edit", "op": "write", "path": "/src/a.c"},
      {"id": 1, "name": "edit", "op": "write", "path": "/secret"}])"},
    {"What happened last?", R"([
      {"id": 8, "op": "write", "path": "/secret", "comm": "vim", "exec": 8},
      {"id": 7, "op": "write", "path": "/src/a.c", "comm": "vim", "exec": 8},
      {"id": 6, "op": "rename", "path": "/src/b.c", "comm": "make", "exec": 7},
      {"id": 5, "op": "unlink", "path": "/README", "comm": "make", "exec": 7},
      {"id": 4, "op": "write", "path": "/src/a.c", "comm": "make", "exec": 7},
      {"id": 3, "op": "unlink", "path": "/src/tmp.o", "comm": "make", "exec": 7},
      {"id": 2, "op": "write", "path": "/src/tmp.o", "comm": "make", "exec": 7},
      {"id": 1, "op": "create", "path": "/src/tmp.o", "comm": "make", "exec": 7}])"},
    {"Which tools fail, and how long do they take?", R"([
      {"name": "edit", "calls": 1, "failed": 0, "average_ms": 2000.0},
      {"name": "search", "calls": 1, "failed": 1, "average_ms": 500.0}])"},
};

// Title and SQL of each.
std::map<std::string, std::string> QuestionsOfTheDocument() {
  std::ifstream file(AGENTFS_AUDIT_DOCUMENT);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string document = text.str();
  std::map<std::string, std::string> questions;
  const std::regex block("### ([^\n]*)\n+```sql\n([^`]*)```");
  for (std::sregex_iterator it(document.begin(), document.end(), block), end; it != end; ++it) {
    questions[(*it)[1]] = (*it)[2];
  }
  return questions;
}

class QuestionsCliTest : public WorkspaceCliTest {
 protected:
  void SetUp() override {
    Ok({"init", "--bare", database()});
    In(database(), {"fs", "write", "/large"}, std::string(3000, 'x'));
    In(database(), {"fs", "write", "/small"}, "abc");
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(database().c_str(), &db), SQLITE_OK);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> closer(db, sqlite3_close);
    ASSERT_EQ(sqlite3_exec(db,
                           "DELETE FROM op_rows; DELETE FROM op_paths; DELETE FROM op_directories;"
                           "DELETE FROM op_processes; DELETE FROM exec_rows",
                           nullptr, nullptr, nullptr),
              SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, kKnownOperations, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
  }
  std::string database() const { return At("known.db"); }
};

TEST_F(QuestionsCliTest, EachQuestionOfTheDocumentHasItsAnswer) {
  const auto questions = QuestionsOfTheDocument();
  EXPECT_GE(questions.size(), 12u);
  EXPECT_EQ(questions.size(), kAnswers.size());
  for (const auto& [title, sql] : questions) {
    SCOPED_TRACE(title);
    const auto answer = kAnswers.find(title);
    ASSERT_NE(answer, kAnswers.end()) << "a question without a known answer";
    EXPECT_EQ(In(database(), {"sql", sql, "--json"}).Json(), json::parse(answer->second));
  }
}

}  // namespace
}  // namespace agentfs
