// SPDX-License-Identifier: Apache-2.0
#include "cli/spec/spec_source.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>

#include "agentfs/path.h"

namespace agentfs::cli {
namespace {

constexpr int64_t kMaxSpecChunk = int64_t{16} << 20;
// Far beyond what is stored anywhere, and far from where arithmetic on offsets overflows.
constexpr int64_t kMaxSpecFile = int64_t{1} << 43;
// As of tar archives: far beyond any calendar.
constexpr int64_t kMaxSpecSeconds = int64_t{1} << 60;

Error InodeError(int64_t ino, const std::string& why) {
  return Error(EINVAL, "inode " + std::to_string(ino) + " " + why);
}

// What a hostile schema could do: be long, call functions, be something else than tables.
Result<void> Harden(Connection& database) {
  sqlite3* db = database.db();
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 2 * static_cast<int>(kMaxSpecChunk));
  return database.Execute("PRAGMA cell_size_check = ON", "read");
}

Timestamp SpecTime(int64_t seconds, int64_t nanoseconds) {
  return {std::clamp(seconds, -kMaxSpecSeconds, kMaxSpecSeconds),
          static_cast<uint32_t>(std::clamp<int64_t>(nanoseconds, 0, 999'999'999))};
}

int64_t SpecNanoseconds(int64_t seconds) {
  constexpr int64_t kSecond = 1'000'000'000;
  return std::clamp<int64_t>(seconds, 0, INT64_MAX / kSecond - 1) * kSecond;
}

bool IsOwnerId(int64_t id) { return id >= 0 && id < UINT32_MAX; }

bool IsKnownType(int64_t mode) {
  if (mode < 0 || mode > 0177777) return false;
  switch (mode & S_IFMT) {
    case S_IFREG:
    case S_IFDIR:
    case S_IFLNK:
    case S_IFIFO:
    case S_IFSOCK:
    case S_IFCHR:
    case S_IFBLK:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<std::unique_ptr<SpecSource>> SpecSource::Open(const std::string& file) {
  AGENTFS_ASSIGN(auto database, Connection::Open(file, agentfs::Access::kImmutable));
  AGENTFS_TRY(Harden(*database));
  std::unique_ptr<SpecSource> source(new SpecSource(std::move(database)));
  AGENTFS_TRY(source->Check());
  AGENTFS_TRY(source->ReadChunkSize());
  AGENTFS_TRY(source->PrepareAll());
  return source;
}

Result<void> SpecSource::Check() {
  AGENTFS_ASSIGN(const std::string state, database_->QueryText("PRAGMA quick_check(1)"));
  if (state != "ok") return Error(EBADMSG, "the database is damaged: " + state);
  for (const char* table : {"fs_inode", "fs_dentry"}) {
    AGENTFS_ASSIGN(const bool has, HasTable(table));
    if (!has) return Error(EBADMSG, std::string("it has no table ") + table);
  }
  return Ok();
}

Result<bool> SpecSource::HasTable(std::string_view name) {
  AGENTFS_ASSIGN(Statement found,
                 Statement::Prepare(*database_,
                                    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
                                    " AND rootpage > 0"));
  found.BindText(1, name);
  return found.Step();
}

Result<bool> SpecSource::HasRows(std::string_view table) {
  AGENTFS_ASSIGN(const bool has, HasTable(table));
  if (!has) return false;
  AGENTFS_ASSIGN(
      Statement found,
      Statement::Prepare(*database_, "SELECT 1 FROM " + std::string(table) + " LIMIT 1"));
  return found.Step();
}

Result<std::string> SpecSource::ColumnOr(std::string_view table, std::string_view column,
                                         std::string_view otherwise) {
  AGENTFS_ASSIGN(
      Statement found,
      Statement::Prepare(*database_, "SELECT 1 FROM pragma_table_info(?) WHERE name = ?"));
  found.BindText(1, table).BindText(2, column);
  AGENTFS_ASSIGN(const bool has, found.Step());
  return std::string(has ? column : otherwise);
}

Result<std::string> SpecSource::ColumnsOr(std::string_view table, const Wanted& wanted) {
  std::string columns;
  for (const auto& [column, otherwise] : wanted) {
    AGENTFS_ASSIGN(const std::string name, ColumnOr(table, column, otherwise));
    columns += (columns.empty() ? "" : ", ") + name;
  }
  return columns;
}

Result<void> SpecSource::ReadChunkSize() {
  AGENTFS_ASSIGN(const bool has, HasTable("fs_config"));
  if (!has) return Ok();
  AGENTFS_ASSIGN(
      Statement config,
      Statement::Prepare(*database_, "SELECT value FROM fs_config WHERE key = 'chunk_size'"));
  AGENTFS_ASSIGN(const bool said, config.Step());
  if (!said) return Ok();
  const std::string_view text = config.Bytes(0);
  int64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size() || size < 1 ||
      size > kMaxSpecChunk) {
    return Error(EINVAL, "its chunk_size is no number from 1 to " + std::to_string(kMaxSpecChunk));
  }
  chunk_size_ = static_cast<uint64_t>(size);
  return Ok();
}

Result<void> SpecSource::PrepareAll() {
  AGENTFS_ASSIGN(names_, Statement::Prepare(*database_,
                                            "SELECT name, ino FROM fs_dentry WHERE parent_ino = ?"
                                            " ORDER BY name"));
  const Wanted wanted = {{"mode", "mode"},    {"size", "0"},  {"uid", "0"},
                         {"gid", "0"},        {"rdev", "0"},  {"atime", "mtime"},
                         {"atime_nsec", "0"}, {"mtime", "0"}, {"mtime_nsec", "0"}};
  AGENTFS_ASSIGN(const std::string columns, ColumnsOr("fs_inode", wanted));
  AGENTFS_ASSIGN(
      inode_, Statement::Prepare(*database_, "SELECT " + columns + " FROM fs_inode WHERE ino = ?"));
  AGENTFS_ASSIGN(const bool links, HasTable("fs_symlink"));
  if (links) {
    AGENTFS_ASSIGN(target_,
                   Statement::Prepare(*database_, "SELECT target FROM fs_symlink WHERE ino = ?"));
  }
  AGENTFS_ASSIGN(const bool data, HasTable("fs_data"));
  if (data) {
    AGENTFS_ASSIGN(content_, Statement::Prepare(*database_,
                                                "SELECT chunk_index, data FROM fs_data"
                                                " WHERE ino = ? ORDER BY chunk_index"));
  }
  return Ok();
}

Result<bool> SpecSource::IsDelta() {
  for (const char* table : {"fs_whiteout", "fs_origin", "fs_overlay_config"}) {
    AGENTFS_ASSIGN(const bool says, HasRows(table));
    if (says) return true;
  }
  return false;
}

Result<int64_t> SpecSource::CountNames() {
  return database_->QueryInt("SELECT count(*) FROM fs_dentry");
}

Result<std::vector<int64_t>> SpecSource::Shared() {
  AGENTFS_ASSIGN(
      Statement shared,
      Statement::Prepare(*database_, "SELECT ino FROM fs_dentry GROUP BY ino HAVING count(*) > 1"));
  std::vector<int64_t> inodes;
  for (;;) {
    AGENTFS_ASSIGN(const bool more, shared.Step());
    if (!more) return inodes;
    inodes.push_back(shared.Int(0));
  }
}

Result<SpecSource::Names> SpecSource::ReadDirectory(int64_t ino) {
  Names names;
  names_->Reset();
  names_->Bind(1, ino);
  for (;;) {
    AGENTFS_ASSIGN(const bool more, names_->Step());
    if (!more) return names;
    const std::string name(names_->Bytes(0));
    if (CheckName(name) != 0 || name == "." || name == "..") {
      return InodeError(ino, "has a name that cannot be: '" + name.substr(0, kMaxName) + "'");
    }
    if (!names.empty() && names.back().first == name) {
      return InodeError(ino, "has the name '" + name + "' twice");
    }
    names.emplace_back(name, names_->Int(1));
  }
}

Result<SpecInode> SpecSource::ReadInode(int64_t ino) {
  inode_->Reset();
  inode_->Bind(1, ino);
  AGENTFS_ASSIGN(const bool has, inode_->Step());
  if (!has) return InodeError(ino, "has a name, but does not exist");
  const auto column = [this](int at) { return inode_->Int(at); };
  if (!IsKnownType(column(0))) return InodeError(ino, "has a mode that cannot be");
  if (column(1) < 0 || column(1) > kMaxSpecFile) {
    return InodeError(ino, "has a size that cannot be: " + std::to_string(column(1)));
  }
  if (!IsOwnerId(column(2)) || !IsOwnerId(column(3))) {
    return InodeError(ino, "has an owner out of range");
  }
  SpecInode inode;
  inode.metadata.mode = static_cast<uint32_t>(column(0));
  inode.size = column(1);
  inode.metadata.uid = static_cast<uint32_t>(column(2));
  inode.metadata.gid = static_cast<uint32_t>(column(3));
  inode.rdev = column(4);
  inode.metadata.atime = SpecTime(column(5), column(6));
  inode.metadata.mtime = SpecTime(column(7), column(8));
  return inode;
}

Result<std::string> SpecSource::ReadTarget(int64_t ino) {
  if (target_) {
    target_->Reset();
    target_->Bind(1, ino);
    AGENTFS_ASSIGN(const bool has, target_->Step());
    if (has && !target_->Bytes(0).empty() &&
        target_->Bytes(0).find('\0') == std::string_view::npos) {
      return std::string(target_->Bytes(0));
    }
  }
  return InodeError(ino, "is a symbolic link without a target");
}

Result<void> SpecSource::ReadContent(
    int64_t ino, int64_t size,
    const std::function<Result<void>(int64_t, std::string_view)>& visit) {
  if (!content_) return Ok();
  content_->Reset();
  content_->Bind(1, ino);
  int64_t after = -1;
  for (;;) {
    AGENTFS_ASSIGN(const bool more, content_->Step());
    if (!more) return Ok();
    const int64_t chunk = content_->Int(0);
    const std::string_view bytes = content_->Bytes(1);
    if (chunk <= after) return InodeError(ino, "has chunks that cannot be");
    if (bytes.size() > chunk_size_) return InodeError(ino, "has a chunk above the chunk_size");
    after = chunk;
    // What a client has left past the end is no content.
    if (chunk > size / static_cast<int64_t>(chunk_size_)) continue;
    const int64_t offset = chunk * static_cast<int64_t>(chunk_size_);
    AGENTFS_TRY(visit(offset, bytes.substr(0, static_cast<size_t>(size - offset))));
  }
}

Result<std::vector<std::string>> SpecSource::Whiteouts() {
  std::vector<std::string> paths;
  AGENTFS_ASSIGN(const bool has, HasTable("fs_whiteout"));
  if (!has) return paths;
  AGENTFS_ASSIGN(Statement all,
                 Statement::Prepare(*database_, "SELECT path FROM fs_whiteout ORDER BY path"));
  for (;;) {
    AGENTFS_ASSIGN(const bool more, all.Step());
    if (!more) return paths;
    paths.emplace_back(all.Bytes(0));
  }
}

Result<std::vector<KvEntry>> SpecSource::Values() {
  std::vector<KvEntry> values;
  AGENTFS_ASSIGN(const bool has, HasTable("kv_store"));
  if (!has) return values;
  AGENTFS_ASSIGN(Statement all, Statement::Prepare(*database_, "SELECT key, value FROM kv_store"));
  for (;;) {
    AGENTFS_ASSIGN(const bool more, all.Step());
    if (!more) return values;
    KvEntry entry;
    entry.key = all.Bytes(0);
    entry.value = all.Bytes(1);
    auto checked = CheckValue(entry.key, entry.value);
    if (!checked.ok()) return Error(EINVAL, "kv_store: " + checked.error().message());
    values.push_back(std::move(entry));
  }
}

Result<std::vector<ToolCall>> SpecSource::Calls() {
  std::vector<ToolCall> calls;
  AGENTFS_ASSIGN(const bool has, HasTable("tool_calls"));
  if (!has) return calls;
  const Wanted wanted = {{"name", "''"},    {"parameters", "NULL"}, {"result", "NULL"},
                         {"error", "NULL"}, {"started_at", "0"},    {"completed_at", "NULL"}};
  AGENTFS_ASSIGN(const std::string columns, ColumnsOr("tool_calls", wanted));
  AGENTFS_ASSIGN(
      Statement all,
      Statement::Prepare(*database_, "SELECT " + columns + " FROM tool_calls ORDER BY rowid"));
  for (;;) {
    AGENTFS_ASSIGN(const bool more, all.Step());
    if (!more) return calls;
    if (all.IsNull(5)) continue;
    ToolCall call;
    call.name = all.Bytes(0);
    if (!all.IsNull(1)) call.parameters = std::string(all.Bytes(1));
    if (!all.IsNull(2)) call.result = std::string(all.Bytes(2));
    call.error = all.Bytes(3);
    call.started_ns = SpecNanoseconds(all.Int(4));
    call.completed_ns = SpecNanoseconds(all.Int(5));
    auto checked = CheckToolCall(call);
    if (!checked.ok()) return Error(EINVAL, "tool_calls: " + checked.error().message());
    calls.push_back(std::move(call));
  }
}

}  // namespace agentfs::cli
