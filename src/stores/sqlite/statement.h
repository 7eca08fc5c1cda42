// SPDX-License-Identifier: Apache-2.0
//
// One SQL statement, for who reads or writes a database that is not a Store.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "agentfs/result.h"
#include "stores/sqlite/connection.h"

namespace agentfs {

// Used by one thread at a time. The connection must outlive it.
class Statement {
 public:
  static Result<Statement> Prepare(Connection& connection, std::string_view sql);

  // Parameters count from 1. Bytes are not copied: they must stay until the statement is stepped
  // to its end or reset.
  Statement& Bind(int parameter, int64_t value);
  Statement& BindText(int parameter, std::string_view text);
  Statement& BindBlob(int parameter, std::string_view bytes);
  Statement& BindNull(int parameter);

  // True: there is a row; false: there is none left.
  Result<bool> Step();
  // Steps to the end and resets.
  Result<void> Run();
  void Reset();

  // Columns count from 0. Bytes are valid until the next call of a member that is not const.
  int columns() const;
  int type(int column) const;  // SQLITE_INTEGER, ...
  bool IsNull(int column) const;
  int64_t Int(int column) const;
  // A text's or a blob's bytes as they are stored.
  std::string_view Bytes(int column) const;

  sqlite3_stmt* get() const { return statement_.get(); }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(Connection& connection, sqlite3_stmt* statement)
      : connection_(&connection), statement_(statement) {}

  Connection* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace agentfs
