// SPDX-License-Identifier: Apache-2.0
//
// Questions in SQL to a workspace's database that can do nothing but read it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agentfs/result.h"
#include "stores/sqlite/connection.h"

namespace agentfs::cli {

struct SqlBlob {
  std::string bytes;
};
// NULL, a number, text (any bytes), a blob.
using SqlValue = std::variant<std::monostate, int64_t, double, std::string, SqlBlob>;

struct SqlAnswer {
  std::vector<std::string> columns;
  std::vector<std::vector<SqlValue>> rows;
  bool cut = false;  // there would have been more
};

struct SqlLimits {
  std::chrono::milliseconds time{10'000};
  uint64_t rows = 10'000;
  uint64_t bytes = uint64_t{256} << 20;
};

// One thread. Beside whoever writes: its reads are of one state, hold no lock that a writer waits
// for, and are over when Ask returns.
class QuerySandbox {
 public:
  // EPROTONOSUPPORT: the database is of another version, or lacks the views: opening the workspace
  // puts that right. EBADMSG: damaged; EINVAL: no SQLite database.
  static Result<std::unique_ptr<QuerySandbox>> Open(const std::string& file);
  ~QuerySandbox();
  QuerySandbox(const QuerySandbox&) = delete;
  QuerySandbox& operator=(const QuerySandbox&) = delete;

  // One statement that only reads. EINVAL: no SQL, or more than one statement. EROFS: it wants more
  // than to read the tables. ETIMEDOUT. EBADMSG: the database is damaged.
  Result<SqlAnswer> Ask(std::string_view sql, const SqlLimits& limits);

 private:
  explicit QuerySandbox(std::unique_ptr<Connection> database) : database_(std::move(database)) {}
  Result<void> Check();
  Result<void> Confine();
  Result<SqlAnswer> Fetch(sqlite3_stmt* statement, const SqlLimits& limits);
  Error Failure(int code) const;
  static int Authorize(void* self, int action, const char* first, const char* second,
                       const char* database, const char* inner);
  static int CheckTime(void* self);

  std::unique_ptr<Connection> database_;
  std::string denied_;  // what a statement wanted and may not
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace agentfs::cli
