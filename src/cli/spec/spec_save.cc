// SPDX-License-Identifier: Apache-2.0
#include <absl/container/flat_hash_map.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "agentfs/agent_state.h"
#include "cli/spec/spec_file.h"
#include "core/files/extents.h"
#include "core/files/node_metadata.h"
#include "core/files/tree_walker.h"
#include "stores/sqlite/statement.h"

namespace agentfs::cli {
namespace {

// The specification's default, which every client takes.
constexpr uint64_t kSpecChunk = 4096;

constexpr const char* kSpecTables = R"(
CREATE TABLE fs_config (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE fs_inode (
  ino INTEGER PRIMARY KEY AUTOINCREMENT,
  mode INTEGER NOT NULL,
  nlink INTEGER NOT NULL DEFAULT 0,
  uid INTEGER NOT NULL DEFAULT 0,
  gid INTEGER NOT NULL DEFAULT 0,
  size INTEGER NOT NULL DEFAULT 0,
  atime INTEGER NOT NULL,
  mtime INTEGER NOT NULL,
  ctime INTEGER NOT NULL,
  rdev INTEGER NOT NULL DEFAULT 0,
  atime_nsec INTEGER NOT NULL DEFAULT 0,
  mtime_nsec INTEGER NOT NULL DEFAULT 0,
  ctime_nsec INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE fs_dentry (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  parent_ino INTEGER NOT NULL,
  ino INTEGER NOT NULL,
  UNIQUE(parent_ino, name)
);
CREATE INDEX idx_fs_dentry_parent ON fs_dentry(parent_ino, name);
CREATE TABLE fs_data (
  ino INTEGER NOT NULL,
  chunk_index INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (ino, chunk_index)
);
CREATE TABLE fs_symlink (ino INTEGER PRIMARY KEY, target TEXT NOT NULL);
CREATE TABLE fs_whiteout (
  path TEXT PRIMARY KEY,
  parent_path TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE INDEX idx_fs_whiteout_parent ON fs_whiteout(parent_path);
CREATE TABLE fs_origin (delta_ino INTEGER PRIMARY KEY, base_ino INTEGER NOT NULL);
CREATE TABLE kv_store (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  created_at INTEGER DEFAULT (unixepoch()),
  updated_at INTEGER DEFAULT (unixepoch())
);
CREATE INDEX idx_kv_store_created_at ON kv_store(created_at);
CREATE TABLE tool_calls (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  parameters TEXT,
  result TEXT,
  error TEXT,
  status TEXT NOT NULL DEFAULT 'pending',
  started_at INTEGER NOT NULL,
  completed_at INTEGER,
  duration_ms INTEGER
);
CREATE INDEX idx_tool_calls_name ON tool_calls(name);
CREATE INDEX idx_tool_calls_started_at ON tool_calls(started_at);
INSERT INTO fs_config VALUES ('chunk_size', '4096'), ('schema_version', '0.4');
)";

class SpecSaver {
 public:
  SpecSaver(const Files& files, Volume& volume, Connection& database)
      : fs_(*files.filesystem()), caller_(files.caller()), volume_(volume), database_(database) {}

  Result<SpecSaved> Save(Found root);

 private:
  struct Statements {
    Statement inode, dentry, data, symlink;
  };
  Result<Statements> PrepareAll();
  Result<void> SaveAll(Found root);
  // The inode's number; content, target and attributes are written with its first name.
  Result<int64_t> SaveNode(const Found& found);
  Result<void> SaveInode(int64_t ino, const Attr& attr);
  Result<void> SaveContent(int64_t ino, const Found& found);
  // Chunks `first` up to `end`; bytes of holes within them are zeros.
  Result<void> SaveChunks(int64_t ino, Node& node, uint64_t size, uint64_t first, uint64_t end);
  Result<void> SaveTarget(int64_t ino, Node& node);
  Result<void> SaveValues();
  Result<void> SaveCalls();

  FileSystem& fs_;
  const Caller& caller_;
  Volume& volume_;
  Connection& database_;
  std::unique_ptr<Statements> sql_;
  SpecSaved saved_;
  int64_t last_ino_ = 0;
  absl::flat_hash_map<NodeId, int64_t> hard_links_;  // of those with several names
};

Result<SpecSaver::Statements> SpecSaver::PrepareAll() {
  AGENTFS_ASSIGN(Statement inode,
                 Statement::Prepare(database_,
                                    "INSERT INTO fs_inode (ino, mode, nlink, uid, gid, size, atime,"
                                    " mtime, ctime, rdev, atime_nsec, mtime_nsec, ctime_nsec)"
                                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  AGENTFS_ASSIGN(Statement dentry,
                 Statement::Prepare(
                     database_, "INSERT INTO fs_dentry (name, parent_ino, ino) VALUES (?, ?, ?)"));
  AGENTFS_ASSIGN(Statement data,
                 Statement::Prepare(database_, "INSERT INTO fs_data VALUES (?, ?, ?)"));
  AGENTFS_ASSIGN(Statement symlink,
                 Statement::Prepare(database_, "INSERT INTO fs_symlink VALUES (?, ?)"));
  return Statements{std::move(inode), std::move(dentry), std::move(data), std::move(symlink)};
}

Result<SpecSaved> SpecSaver::Save(Found root) {
  // Nobody sees the file before it is whole: no journal is needed.
  AGENTFS_TRY(database_.QueryText("PRAGMA journal_mode = OFF"));
  AGENTFS_TRY(database_.Execute("PRAGMA synchronous = OFF", "make"));
  AGENTFS_TRY(database_.Execute("BEGIN", "make"));
  AGENTFS_TRY(database_.Execute(kSpecTables, "make"));
  AGENTFS_ASSIGN(Statements statements, PrepareAll());
  sql_ = std::make_unique<Statements>(std::move(statements));
  AGENTFS_TRY(SaveAll(std::move(root)));
  sql_.reset();
  AGENTFS_TRY(SaveValues());
  AGENTFS_TRY(SaveCalls());
  AGENTFS_TRY(database_.Execute("COMMIT", "write"));
  return saved_;
}

Result<void> SpecSaver::SaveAll(Found root) {
  TreeWalker walker(fs_, caller_, std::move(root));
  std::vector<int64_t> parents;
  for (;;) {
    AGENTFS_ASSIGN(const TreeWalker::Event event, walker.Next());
    if (event == TreeWalker::Event::kEnd) return Ok();
    if (event == TreeWalker::Event::kLeave) {
      parents.pop_back();
      continue;
    }
    const auto ino = SaveNode(walker.found());
    if (!ino.ok()) return AtPath(ino.error(), "cannot save", walker.path());
    if (!parents.empty()) {
      AGENTFS_TRY(
          sql_->dentry.BindText(1, walker.name()).Bind(2, parents.back()).Bind(3, *ino).Run());
    }
    if (S_ISDIR(walker.found().attr.mode)) parents.push_back(*ino);
  }
}

Result<int64_t> SpecSaver::SaveNode(const Found& found) {
  const Attr& attr = found.attr;
  if (attr.nlink > 1 && !S_ISDIR(attr.mode)) {
    const auto [first, is_new] = hard_links_.emplace(found.node->id(), last_ino_ + 1);
    if (!is_new) return first->second;
  }
  const int64_t ino = ++last_ino_;
  AGENTFS_TRY(SaveInode(ino, attr));
  if (S_ISREG(attr.mode)) AGENTFS_TRY(SaveContent(ino, found));
  if (S_ISLNK(attr.mode)) AGENTFS_TRY(SaveTarget(ino, *found.node));
  AGENTFS_ASSIGN(const Xattrs xattrs, ReadXattrs(fs_, caller_, *found.node));
  saved_.xattrs_left_out += xattrs.size();
  ++saved_.nodes;
  return ino;
}

Result<void> SpecSaver::SaveInode(int64_t ino, const Attr& attr) {
  // A directory is counted as the specification's clients count: one link for its name.
  const int64_t links = S_ISDIR(attr.mode) ? 1 : int64_t{attr.nlink};
  const bool sized = S_ISREG(attr.mode) || S_ISLNK(attr.mode);
  return sql_->inode.Bind(1, ino)
      .Bind(2, attr.mode)
      .Bind(3, links)
      .Bind(4, attr.uid)
      .Bind(5, attr.gid)
      .Bind(6, sized ? static_cast<int64_t>(attr.size) : 0)
      .Bind(7, attr.atime.sec)
      .Bind(8, attr.mtime.sec)
      .Bind(9, attr.ctime.sec)
      .Bind(10, static_cast<int64_t>(attr.rdev))
      .Bind(11, attr.atime.nsec)
      .Bind(12, attr.mtime.nsec)
      .Bind(13, attr.ctime.nsec)
      .Run();
}

Result<void> SpecSaver::SaveContent(int64_t ino, const Found& found) {
  AGENTFS_TRY(fs_.Open(caller_, *found.node, O_RDONLY));
  uint64_t done = 0;  // chunks below are written
  return ForEachExtent(fs_, *found.node, found.attr.size, [&](Extent extent) -> Result<void> {
    const uint64_t first = std::max(done, extent.offset / kSpecChunk);
    const uint64_t end = (extent.offset + extent.length + kSpecChunk - 1) / kSpecChunk;
    if (end <= first) return Ok();
    done = end;
    return SaveChunks(ino, *found.node, found.attr.size, first, end);
  });
}

Result<void> SpecSaver::SaveChunks(int64_t ino, Node& node, uint64_t size, uint64_t first,
                                   uint64_t end) {
  constexpr uint64_t kChunksAtOnce = 64;
  std::string buffer;
  for (uint64_t chunk = first; chunk < end;) {
    const uint64_t offset = chunk * kSpecChunk;
    const uint64_t wanted =
        std::min({kChunksAtOnce * kSpecChunk, (end - chunk) * kSpecChunk, size - offset});
    buffer.resize(wanted);
    for (uint64_t got = 0; got < wanted;) {
      AGENTFS_ASSIGN(const size_t n, fs_.Read(node, offset + got, {&buffer[got], wanted - got}));
      if (n == 0) return Error(EBUSY, "the file became shorter while it was read");
      got += n;
    }
    for (uint64_t at = 0; at < wanted; at += kSpecChunk, ++chunk) {
      const auto bytes = std::string_view(buffer).substr(at, kSpecChunk);
      AGENTFS_TRY(
          sql_->data.Bind(1, ino).Bind(2, static_cast<int64_t>(chunk)).BindBlob(3, bytes).Run());
    }
  }
  return Ok();
}

Result<void> SpecSaver::SaveTarget(int64_t ino, Node& node) {
  AGENTFS_ASSIGN(const std::string target, fs_.ReadLink(caller_, node));
  return sql_->symlink.Bind(1, ino).BindText(2, target).Run();
}

constexpr int64_t kNanoseconds = 1'000'000'000;

Result<void> SpecSaver::SaveValues() {
  AGENTFS_ASSIGN(Statement insert,
                 Statement::Prepare(database_, "INSERT INTO kv_store VALUES (?, ?, ?, ?)"));
  Result<void> outcome;
  AGENTFS_TRY(ListValues(volume_, "", [&](const KvEntry& entry) {
    outcome = insert.BindText(1, entry.key)
                  .BindText(2, entry.value)
                  .Bind(3, entry.created_ns / kNanoseconds)
                  .Bind(4, entry.updated_ns / kNanoseconds)
                  .Run();
    return outcome.ok() ? Visit::kContinue : Visit::kStop;
  }));
  return outcome;
}

Result<void> SpecSaver::SaveCalls() {
  AGENTFS_ASSIGN(Statement insert,
                 Statement::Prepare(database_,
                                    "INSERT INTO tool_calls (id, name, parameters, result, error,"
                                    " status, started_at, completed_at, duration_ms)"
                                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  const auto bind = [&insert](int at, const std::optional<std::string>& text) {
    text ? insert.BindText(at, *text) : insert.BindNull(at);
  };
  Result<void> outcome;
  AGENTFS_TRY(ListToolCalls(volume_, [&](const ToolCall& call) {
    insert.Bind(1, static_cast<int64_t>(call.id)).BindText(2, call.name);
    bind(3, call.parameters);
    bind(4, call.result);
    call.error.empty() ? insert.BindNull(5) : insert.BindText(5, call.error);
    outcome = insert.BindText(6, call.error.empty() ? "success" : "error")
                  .Bind(7, call.started_ns / kNanoseconds)
                  .Bind(8, call.completed_ns / kNanoseconds)
                  .Bind(9, (call.completed_ns - call.started_ns) / 1'000'000)
                  .Run();
    return outcome.ok() ? Visit::kContinue : Visit::kStop;
  }));
  return outcome;
}

}  // namespace

Result<SpecSaved> SaveSpec(const Files& files, Volume& volume, const std::string& file) {
  AGENTFS_ASSIGN(Found root, files.Resolve("/"));
  AGENTFS_ASSIGN(const auto database, Connection::Open(file, agentfs::Access::kReadWrite, true));
  return SpecSaver(files, volume, *database).Save(std::move(root));
}

}  // namespace agentfs::cli
