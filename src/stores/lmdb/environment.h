// SPDX-License-Identifier: Apache-2.0
//
// An LMDB file, opened and checked.
#pragma once

#include <lmdb.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/store.h"
#include "agentfs/stores.h"

namespace agentfs {

struct EnvironmentClose {
  void operator()(MDB_env* env) const { mdb_env_close(env); }
};
using EnvironmentPtr = std::unique_ptr<MDB_env, EnvironmentClose>;

struct TransactionAbort {
  void operator()(MDB_txn* txn) const { mdb_txn_abort(txn); }
};
using TransactionPtr = std::unique_ptr<MDB_txn, TransactionAbort>;

// The databases of one table.
struct TableHandles {
  MDB_dbi rows = 0;   // 0 if the file is of a version that lacks the table
  MDB_dbi index = 0;  // 0 if the table has none
};

struct Environment {
  EnvironmentPtr env;
  std::vector<TableHandles> tables;
};

// Opens the file as the options say, makes the tables if it is new, and checks that it is ours and
// whole. A file that does not fit stays as it is.
Result<Environment> OpenEnvironment(const std::string& file, const Schema& schema,
                                    const StoreOptions& options);

// What LMDB only reads: it asks for memory that may be written, and leaves it alone.
inline MDB_val ToVal(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

Result<TransactionPtr> BeginTransaction(MDB_env* env, unsigned flags, const std::string& file);

}  // namespace agentfs
