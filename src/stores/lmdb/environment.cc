// SPDX-License-Identifier: Apache-2.0
//
// The file is ours if its database "agentfs" has the schema's version under "version".
#include "stores/lmdb/environment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "store/file_version.h"
#include "stores/lmdb/lmdb_error.h"

namespace agentfs {
namespace {

constexpr size_t kFirstMapSize = size_t{1} << 30;
constexpr unsigned kMaxReaders = 1024;
constexpr char kOwnDatabase[] = "agentfs";
constexpr char kVersionKey[] = "version";

// lmdb's meta page: a page header of 16 bytes, then its magic number.
constexpr size_t kMagicAt = 16;
constexpr uint32_t kMagic = 0xBEEFC0DE;

enum class FileState : uint8_t { kMissing, kEmpty, kLmdb };

Error NotOurs(const std::string& file, const char* why) {
  return Error(EINVAL, "cannot open '" + file + "': " + why,
               "name another file; this one was not changed");
}

Result<FileState> InspectFile(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    if (errno == ENOENT) return FileState::kMissing;
    return LmdbError(errno, "read", file);
  }
  struct stat status {};
  char start[kMagicAt + sizeof kMagic];
  const bool regular = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  const ssize_t size = regular ? ::pread(fd, start, sizeof start, 0) : -1;
  const int code = errno;
  ::close(fd);
  if (!regular) return LmdbError(S_ISDIR(status.st_mode) ? EISDIR : EINVAL, "open", file);
  if (size < 0) return LmdbError(code, "read", file);
  if (size == 0) return FileState::kEmpty;
  uint32_t magic = 0;
  if (size == sizeof start) std::memcpy(&magic, start + kMagicAt, sizeof magic);
  if (magic != kMagic) return NotOurs(file, "it is not an LMDB database");
  return FileState::kLmdb;
}

uint64_t SizeOf(MDB_env* env) {
  int fd = -1;
  struct stat status;
  if (mdb_env_get_fd(env, &fd) != 0 || ::fstat(fd, &status) != 0) return 0;
  return static_cast<uint64_t>(status.st_size);
}

uint64_t NeededSize(MDB_env* env) {
  MDB_envinfo info;
  MDB_stat stat;
  mdb_env_info(env, &info);
  mdb_env_stat(env, &stat);
  return (info.me_last_pgno + 1) * stat.ms_psize;
}

// How many pages from `first` on are free.
Result<uint64_t> CountFreeFrom(MDB_txn* txn, uint64_t first, const std::string& file) {
  constexpr MDB_dbi kFreeDatabase = 0;
  MDB_cursor* cursor = nullptr;
  int code = mdb_cursor_open(txn, kFreeDatabase, &cursor);
  if (code != 0) return LmdbError(code, "read", file);
  uint64_t count = 0;
  MDB_val key, data;
  while ((code = mdb_cursor_get(cursor, &key, &data, MDB_NEXT)) == 0) {
    std::vector<size_t> pages(data.mv_size / sizeof(size_t));
    std::memcpy(pages.data(), data.mv_data, pages.size() * sizeof(size_t));
    // The first number says how many follow.
    const size_t given = pages.empty() ? 0 : std::min(pages[0], pages.size() - 1);
    for (size_t i = 1; i <= given; ++i) count += pages[i] >= first ? 1 : 0;
  }
  mdb_cursor_close(cursor);
  if (code != MDB_NOTFOUND) return LmdbError(code, "read", file);
  return count;
}

// A page that was taken and freed within one transaction is never written, so a whole file may end
// before its last page. Reading past the end would kill the process (SIGBUS): fill the file up,
// and if a page in use is among the missing, undo that and report the damage.
Result<void> CheckLength(MDB_env* env, const std::string& file, bool read_only) {
  const uint64_t size = SizeOf(env);
  const uint64_t needed = NeededSize(env);
  if (size >= needed) return Ok();
  const Error damaged(EBADMSG, "cannot open '" + file + "': its end is missing",
                      "restore the file from a copy");
  int fd = -1;
  if (read_only || mdb_env_get_fd(env, &fd) != 0) return damaged;
  if (::ftruncate(fd, static_cast<off_t>(needed)) != 0) return LmdbError(errno, "extend", file);
  MDB_stat stat;
  mdb_env_stat(env, &stat);
  const uint64_t first_missing = size / stat.ms_psize;
  AGENTFS_ASSIGN(const TransactionPtr txn, BeginTransaction(env, MDB_RDONLY, file));
  const auto free_pages = CountFreeFrom(txn.get(), first_missing, file);
  if (free_pages.ok() && *free_pages >= needed / stat.ms_psize - first_missing) return Ok();
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0) return LmdbError(errno, "restore", file);
  return damaged;
}

struct Owner {
  FileState state = FileState::kLmdb;
  uint32_t version = 0;
};

// kEmpty: made by LMDB, but without our tables: a creation that was cut off.
Result<Owner> CheckOwner(MDB_env* env, const std::string& file, const Schema& schema) {
  AGENTFS_ASSIGN(const TransactionPtr txn, BeginTransaction(env, MDB_RDONLY, file));
  MDB_stat stat;
  mdb_env_stat(env, &stat);
  MDB_dbi own = 0;
  const int code = mdb_dbi_open(txn.get(), kOwnDatabase, 0, &own);
  if (code == MDB_NOTFOUND && stat.ms_entries == 0) return Owner{FileState::kEmpty};
  if (code == MDB_NOTFOUND || code == MDB_INCOMPATIBLE) {
    return NotOurs(file, "it is another program's database");
  }
  if (code != 0) return LmdbError(code, "open", file);
  MDB_val key = ToVal(kVersionKey), data;
  uint32_t found = 0;
  if (mdb_get(txn.get(), own, &key, &data) != 0 || data.mv_size != sizeof found) {
    return NotOurs(file, "it is another program's database");
  }
  std::memcpy(&found, data.mv_data, sizeof found);
  AGENTFS_TRY(CheckVersion(file, found, schema));
  return Owner{FileState::kLmdb, found};
}

Result<void> WriteVersion(MDB_txn* txn, const std::string& file, uint32_t version) {
  MDB_dbi own = 0;
  int code = mdb_dbi_open(txn, kOwnDatabase, MDB_CREATE, &own);
  MDB_val key = ToVal(kVersionKey);
  MDB_val data{sizeof version, &version};
  if (code == 0) code = mdb_put(txn, own, &key, &data, 0);
  if (code != 0) return LmdbError(code, "create", file);
  return Ok();
}

Result<std::vector<TableHandles>> OpenTables(MDB_txn* txn, const std::string& file,
                                             const Schema& schema, uint32_t version,
                                             unsigned flags) {
  std::vector<TableHandles> handles;
  for (const Table& table : schema.tables) {
    TableHandles handle;
    const std::string name(table.name);
    if (!HasTable(table, version)) {
      handles.push_back(handle);
      continue;
    }
    int code = mdb_dbi_open(txn, name.c_str(), flags, &handle.rows);
    if (code == 0 && !table.index.empty()) {
      const std::string index = name + "_by_" + std::string(table.index);
      code = mdb_dbi_open(txn, index.c_str(), flags, &handle.index);
    }
    // The version fits, so a missing table is damage.
    if (code == MDB_NOTFOUND) code = MDB_CORRUPTED;
    if (code != 0) return LmdbError(code, "open", file);
    handles.push_back(handle);
  }
  return handles;
}

// A file that is new or of an older version gets the tables that it lacks.
Result<std::vector<TableHandles>> CreateOrOpenTables(MDB_env* env, const std::string& file,
                                                     const Schema& schema, const Owner& owner,
                                                     bool read_only) {
  const bool create = !read_only && owner.version != schema.version;
  // Handles opened in a read transaction are kept by committing it.
  AGENTFS_ASSIGN(TransactionPtr txn, BeginTransaction(env, create ? 0 : MDB_RDONLY, file));
  if (create) AGENTFS_TRY(WriteVersion(txn.get(), file, schema.version));
  AGENTFS_ASSIGN(auto handles,
                 OpenTables(txn.get(), file, schema, create ? schema.version : owner.version,
                            create ? MDB_CREATE : 0));
  if (const int code = mdb_txn_commit(txn.release())) return LmdbError(code, "open", file);
  return handles;
}

Result<EnvironmentPtr> OpenEnv(const std::string& file, const Schema& schema, unsigned flags) {
  MDB_env* raw = nullptr;
  if (const int code = mdb_env_create(&raw)) return LmdbError(code, "open", file);
  EnvironmentPtr env(raw);
  mdb_env_set_maxdbs(raw, static_cast<MDB_dbi>(2 * schema.tables.size() + 1));
  mdb_env_set_maxreaders(raw, kMaxReaders);
  struct stat status;
  const size_t size = ::stat(file.c_str(), &status) == 0 ? static_cast<size_t>(status.st_size) : 0;
  mdb_env_set_mapsize(raw, std::max(kFirstMapSize, size * 2));
  // NOTLS: a read transaction belongs to a call, not to a thread. NORDAHEAD: lookups are random.
  const unsigned all = flags | MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD;
  if (const int code = mdb_env_open(raw, file.c_str(), all, 0644)) {
    return LmdbError(code, "open", file);
  }
  return env;
}

Result<EnvironmentPtr> OpenEnvAs(const std::string& file, const Schema& schema, bool read_only) {
  if (!read_only) return OpenEnv(file, schema, 0);
  auto env = OpenEnv(file, schema, MDB_RDONLY);
  if (env.code() != EACCES && env.code() != EROFS) return env;
  // Where no lock file can be made nobody else writes.
  return OpenEnv(file, schema, MDB_RDONLY | MDB_NOLOCK);
}

}  // namespace

Result<TransactionPtr> BeginTransaction(MDB_env* env, unsigned flags, const std::string& file) {
  MDB_txn* txn = nullptr;
  const int code = mdb_txn_begin(env, nullptr, flags, &txn);
  if (code != 0) return LmdbError(code, "use", file);
  return TransactionPtr(txn);
}

Result<Environment> OpenEnvironment(const std::string& file, const Schema& schema,
                                    const StoreOptions& options) {
  AGENTFS_ASSIGN(FileState state, InspectFile(file));
  if (state == FileState::kMissing && (options.read_only || !options.create)) {
    return Error(ENOENT, "cannot open '" + file + "': there is no such file");
  }
  if (state == FileState::kEmpty && options.read_only) {
    return NotOurs(file, "it is empty, and open read-only");
  }
  AGENTFS_ASSIGN(EnvironmentPtr env, OpenEnvAs(file, schema, options.read_only));
  int dead = 0;
  mdb_reader_check(env.get(), &dead);
  AGENTFS_TRY(CheckLength(env.get(), file, options.read_only));
  AGENTFS_ASSIGN(const Owner owner, CheckOwner(env.get(), file, schema));
  if (owner.state == FileState::kEmpty && options.read_only) {
    return NotOurs(file, "it is empty, and open read-only");
  }
  AGENTFS_ASSIGN(auto tables,
                 CreateOrOpenTables(env.get(), file, schema, owner, options.read_only));
  return Environment{std::move(env), std::move(tables)};
}

}  // namespace agentfs
