// SPDX-License-Identifier: Apache-2.0
#include "stores/lmdb/lmdb_error.h"

#include <lmdb.h>

#include <cerrno>
#include <string>

#include "store/file_remedy.h"

namespace agentfs {
namespace {

int ErrnoOfLmdb(int code) {
  if (code > 0) return code;
  switch (code) {
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_PANIC:
      return EBADMSG;
    case MDB_INVALID:
    case MDB_BAD_VALSIZE:
    case MDB_INCOMPATIBLE:
      return EINVAL;
    case MDB_VERSION_MISMATCH:
      return EPROTONOSUPPORT;
    case MDB_MAP_FULL:
      return ENOSPC;
    case MDB_TXN_FULL:
      return EFBIG;
    case MDB_READERS_FULL:
      return EAGAIN;
    default:
      return EIO;
  }
}

std::string_view Remedy(int code) {
  switch (code) {
    case EBADMSG:
      return "restore the file from a copy";
    case EINVAL:
      return "name another file; this one was not changed";
    default:
      return FileRemedy(code);
  }
}

}  // namespace

Error LmdbError(int code, std::string_view what, std::string_view file) {
  const int error = ErrnoOfLmdb(code);
  return Error(
      error, "cannot " + std::string(what) + " '" + std::string(file) + "': " + mdb_strerror(code),
      std::string(Remedy(error)));
}

}  // namespace agentfs
