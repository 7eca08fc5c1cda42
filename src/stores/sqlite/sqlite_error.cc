// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/sqlite_error.h"

#include <sqlite3.h>

#include <cerrno>
#include <system_error>

#include "store/file_remedy.h"

namespace agentfs {
namespace {

int ErrnoOfIoError(int code, int system_errno) {
  if (system_errno != 0) return system_errno;
  if (code == SQLITE_IOERR_NOMEM) return ENOMEM;
  // A page or a frame that ends early: the file is cut off.
  return code == SQLITE_IOERR_SHORT_READ ? EBADMSG : EIO;
}

}  // namespace

int ErrnoOfSqlite(int code, int system_errno) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return ENOSPC;
    case SQLITE_READONLY:
      return EROFS;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
    case SQLITE_ERROR:  // a statement of ours does not fit the tables found in the file
      return EBADMSG;
    case SQLITE_IOERR:
      return ErrnoOfIoError(code, system_errno);
    case SQLITE_CANTOPEN:
      return system_errno != 0 ? system_errno : EIO;
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return EACCES;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return EBUSY;
    case SQLITE_NOMEM:
      return ENOMEM;
    case SQLITE_TOOBIG:
      return EFBIG;
    default:
      return EIO;
  }
}

std::string RemedyFor(int code, std::string_view file) {
  if (code != EBADMSG) return std::string(FileRemedy(code));
  const std::string quoted = "'" + std::string(file) + "'";
  return "restore " + quoted + " from a copy, or save what can be read with: sqlite3 " + quoted +
         " .recover";
}

Error SqliteError(sqlite3* db, int code, std::string_view what, std::string_view file) {
  const int system_errno = db != nullptr ? sqlite3_system_errno(db) : 0;
  const int error = ErrnoOfSqlite(code, system_errno);
  std::string why = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  const int primary = code & 0xff;
  if (system_errno != 0 && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN)) {
    why += " (" + std::generic_category().message(system_errno) + ")";
  }
  return Error(error,
               "cannot " + std::string(what) + " '" + std::string(file) + "': " + std::move(why),
               RemedyFor(error, file));
}

}  // namespace agentfs
