// SPDX-License-Identifier: Apache-2.0
//
// Reading a file of the Agent Filesystem Specification that nobody vouches for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agentfs/agent_state.h"
#include "agentfs/result.h"
#include "core/files/node_metadata.h"
#include "stores/sqlite/statement.h"

namespace agentfs::cli {

struct SpecInode {
  NodeMetadata metadata;
  int64_t size = 0;
  int64_t rdev = 0;
};

// One thread.
class SpecSource {
 public:
  using Names = std::vector<std::pair<std::string, int64_t>>;

  // EBADMSG: damaged, or without the tables of the specification.
  static Result<std::unique_ptr<SpecSource>> Open(const std::string& file);

  uint64_t chunk_size() const { return chunk_size_; }
  // Whether it says what differs from a base.
  Result<bool> IsDelta();
  Result<int64_t> CountNames();
  // Inodes with more than one name.
  Result<std::vector<int64_t>> Shared();

  // Names in a directory, sorted, with their inodes. EINVAL: one that cannot be a name.
  Result<Names> ReadDirectory(int64_t ino);
  // EINVAL: there is no such inode, or it cannot be.
  Result<SpecInode> ReadInode(int64_t ino);
  Result<std::string> ReadTarget(int64_t ino);
  // The chunks that there are, in order; `visit` gets an offset and at most what the size allows.
  Result<void> ReadContent(int64_t ino, int64_t size,
                           const std::function<Result<void>(int64_t, std::string_view)>& visit);
  // Absolute paths.
  Result<std::vector<std::string>> Whiteouts();
  // EINVAL: what cannot be kept.
  Result<std::vector<KvEntry>> Values();
  // Those that have ended.
  Result<std::vector<ToolCall>> Calls();

 private:
  explicit SpecSource(std::unique_ptr<Connection> database) : database_(std::move(database)) {}
  Result<void> Check();
  Result<void> ReadChunkSize();
  Result<void> PrepareAll();
  // Whether it has a real table, no view and nothing virtual, of this name.
  Result<bool> HasTable(std::string_view name);
  Result<bool> HasRows(std::string_view table);
  // The column, or `otherwise` where older versions have none.
  Result<std::string> ColumnOr(std::string_view table, std::string_view column,
                               std::string_view otherwise);
  // Of all that are given.
  using Wanted = std::initializer_list<std::pair<const char*, const char*>>;
  Result<std::string> ColumnsOr(std::string_view table, const Wanted& wanted);

  std::unique_ptr<Connection> database_;
  uint64_t chunk_size_ = 4096;
  std::optional<Statement> names_, inode_, target_, content_;
};

}  // namespace agentfs::cli
