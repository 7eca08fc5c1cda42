// SPDX-License-Identifier: Apache-2.0
//
// What agents keep in a workspace beside files: values under keys, and the log of their tool calls.
//
// Thread-safe, as the Volume is. What was written is seen by whoever asks next, and is committed in
// its order with the changes around it, not synced. Values of JSON are texts, kept as they were
// given, without the white space around them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/volume.h"

namespace agentfs {

// ---- values

inline constexpr size_t kMaxKvKey = 480;  // bytes
inline constexpr size_t kMaxJsonBytes = size_t{16} << 20;

struct KvEntry {
  std::string key;
  std::string value;  // JSON
  int64_t created_ns = 0, updated_ns = 0;
};

// EINVAL: the value is no JSON, or the key is empty or has a zero byte; ENAMETOOLONG; EFBIG.
Result<void> CheckValue(std::string_view key, std::string_view json);
Result<void> SetValue(Volume& volume, std::string_view key, std::string_view json);
Result<std::optional<KvEntry>> GetValue(Volume& volume, std::string_view key);
// Says whether there was one.
Result<bool> DeleteValue(Volume& volume, std::string_view key);
// Those whose keys begin with `prefix`, by key, until `visit` says kStop.
Result<void> ListValues(Volume& volume, std::string_view prefix,
                        const std::function<Visit(const KvEntry&)>& visit);

// ---- tool calls: rows are added and never changed

struct ToolCall {
  uint64_t id = 0;  // given by RecordToolCall
  std::string name = {};
  std::optional<std::string> parameters = std::nullopt;  // JSON
  std::optional<std::string> result = std::nullopt;      // JSON
  std::string error = {};                                // empty: it succeeded
  int64_t started_ns = 0, completed_ns = 0;              // since 1970
  uint64_t exec = 0;                                     // of exec_log.h; 0: none
};

// EINVAL: no name, no JSON, or completed before it started; EFBIG.
Result<void> CheckToolCall(const ToolCall& call);
// The id; the errors are those of the check.
Result<uint64_t> RecordToolCall(Volume& volume, const ToolCall& call);
// Newest first, until `visit` says kStop.
Result<void> ListToolCalls(Volume& volume, const std::function<Visit(const ToolCall&)>& visit);

struct ToolStatistics {
  std::string name;
  uint64_t calls = 0, failed = 0;
  int64_t total_ns = 0, longest_ns = 0;
};
// By name.
Result<std::vector<ToolStatistics>> ToolCallStatistics(Volume& volume);

}  // namespace agentfs
