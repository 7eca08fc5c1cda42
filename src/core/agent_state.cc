// SPDX-License-Identifier: Apache-2.0
#include "agentfs/agent_state.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/json_depth.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

std::string_view TrimSpace(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// The text without the space around it.
Result<std::string_view> CheckJson(std::string_view text, std::string_view what) {
  if (text.size() > kMaxJsonBytes) return Error(EFBIG, std::string(what) + " is above 16 MiB");
  if (IsJsonTooDeep(text)) {
    return Error(EINVAL, std::string(what) + " is nested more than " +
                             std::to_string(kMaxJsonDepth) + " levels deep");
  }
  const std::string_view trimmed = TrimSpace(text);
  if (!nlohmann::json::accept(trimmed)) {
    return Error(EINVAL, std::string(what) + " is not JSON: " + std::string(trimmed.substr(0, 60)),
                 "a string is JSON with quotes around it: '\"text\"'");
  }
  return trimmed;
}

Result<void> CheckKey(std::string_view key) {
  if (key.empty()) return Error(EINVAL, "a key cannot be empty");
  if (key.find('\0') != key.npos) return Error(EINVAL, "a key cannot have a zero byte");
  if (key.size() > kMaxKvKey) {
    return Error(ENAMETOOLONG, "a key has at most " + std::to_string(kMaxKvKey) + " bytes");
  }
  return Ok();
}

bool DecodeValue(std::string_view key, std::string_view value, std::string_view blob,
                 KvEntry* out) {
  KeyReader key_reader(key);
  out->key = key_reader.Bytes();
  ValueReader reader(value);
  out->created_ns = reader.Int();
  out->updated_ns = reader.Int();
  out->value = blob;
  return key_reader.ok() && reader.ok() && reader.AtEnd();
}

Error DamagedRow(const std::string& what) {
  return Error(EBADMSG, "the row of " + what + " is damaged");
}

bool DecodeCall(const RowView& row, ToolCall* out) {
  out->id = KeyReader(row.key).Int();
  ValueReader reader(row.value);
  const auto json = [&reader]() -> std::optional<std::string> {
    const std::string_view text = reader.Bytes();
    if (text.empty()) return std::nullopt;
    return std::string(text);
  };
  out->name = reader.Bytes();
  out->parameters = json();
  out->result = json();
  out->error = reader.Bytes();
  out->started_ns = reader.Int();
  out->completed_ns = reader.Int();
  out->exec = static_cast<uint64_t>(reader.Int());
  return reader.ok() && reader.AtEnd();
}

Result<std::string_view> CheckOptionalJson(const std::optional<std::string>& text,
                                           std::string_view what) {
  if (!text) return std::string_view();
  return CheckJson(*text, what);
}

}  // namespace

Result<void> CheckValue(std::string_view key, std::string_view json) {
  AGENTFS_TRY(CheckKey(key));
  AGENTFS_TRY(CheckJson(json, "the value"));
  return Ok();
}

Result<void> SetValue(Volume& volume, std::string_view key, std::string_view json) {
  AGENTFS_TRY(CheckKey(key));
  AGENTFS_ASSIGN(const std::string_view value, CheckJson(json, "the value"));
  AGENTFS_ASSIGN(const auto before, GetValue(volume, key));
  const int64_t now = ToNanoseconds(Now());
  ValueWriter columns;
  columns.Int(before ? before->created_ns : now).Int(now);
  Batch batch;
  batch.Put(tables::kValues, KeyBytes(key), columns.Take(), Buffer::Copy(value));
  return volume.WriteRecords(batch);
}

Result<std::optional<KvEntry>> GetValue(Volume& volume, std::string_view key) {
  AGENTFS_TRY(CheckKey(key));
  AGENTFS_ASSIGN(auto row, volume.GetRecord(tables::kValues, KeyBytes(key)));
  if (!row) return std::optional<KvEntry>();
  KvEntry entry;
  if (!DecodeValue(row->key, row->value, row->blob.view(), &entry)) {
    return DamagedRow("key " + std::string(key));
  }
  return std::optional<KvEntry>(std::move(entry));
}

Result<bool> DeleteValue(Volume& volume, std::string_view key) {
  AGENTFS_ASSIGN(const auto before, GetValue(volume, key));
  if (!before) return false;
  Batch batch;
  batch.Delete(tables::kValues, KeyBytes(key));
  AGENTFS_TRY(volume.WriteRecords(batch));
  return true;
}

Result<void> ListValues(Volume& volume, std::string_view prefix,
                        const std::function<Visit(const KvEntry&)>& visit) {
  // Keys are in the order of their bytes: those with the prefix follow it.
  const std::string lower = KeyBytes(prefix);
  ScanRange range{.table = tables::kValues};
  if (!prefix.empty()) range.lower = lower;
  Result<void> outcome;
  AGENTFS_TRY(volume.ScanRecords(range, [&](const RowView& row) {
    KvEntry entry;
    if (!DecodeValue(row.key, row.value, row.blob, &entry)) {
      outcome = DamagedRow("a key");
      return Visit::kStop;
    }
    if (!entry.key.starts_with(prefix)) return Visit::kStop;
    return visit(entry);
  }));
  return outcome;
}

Result<void> CheckToolCall(const ToolCall& call) {
  if (call.name.empty()) return Error(EINVAL, "a tool call needs a name");
  if (call.name.size() + call.error.size() > kMaxJsonBytes) {
    return Error(EFBIG, "name and error are above 16 MiB");
  }
  if (call.started_ns < 0 || call.completed_ns < call.started_ns) {
    return Error(EINVAL, "a tool call cannot be completed before it started");
  }
  AGENTFS_TRY(CheckOptionalJson(call.parameters, "parameters"));
  AGENTFS_TRY(CheckOptionalJson(call.result, "result"));
  return Ok();
}

Result<uint64_t> RecordToolCall(Volume& volume, const ToolCall& call) {
  AGENTFS_TRY(CheckToolCall(call));
  AGENTFS_ASSIGN(const auto parameters, CheckOptionalJson(call.parameters, "parameters"));
  AGENTFS_ASSIGN(const auto result, CheckOptionalJson(call.result, "result"));
  const uint64_t id = volume.NextRecord(tables::kCalls);
  ValueWriter value;
  value.Bytes(call.name).Bytes(parameters).Bytes(result).Bytes(call.error);
  value.Int(call.started_ns).Int(call.completed_ns).Int(static_cast<int64_t>(call.exec));
  Batch batch;
  batch.Put(tables::kCalls, KeyInt(id), value.Take());
  AGENTFS_TRY(volume.WriteRecords(batch));
  return id;
}

Result<void> ListToolCalls(Volume& volume, const std::function<Visit(const ToolCall&)>& visit) {
  const ScanRange range{.table = tables::kCalls, .order = Order::kDescending};
  Result<void> outcome;
  AGENTFS_TRY(volume.ScanRecords(range, [&](const RowView& row) {
    ToolCall call;
    if (DecodeCall(row, &call)) return visit(call);
    outcome = DamagedRow("tool call " + std::to_string(call.id));
    return Visit::kStop;
  }));
  return outcome;
}

Result<std::vector<ToolStatistics>> ToolCallStatistics(Volume& volume) {
  std::map<std::string, ToolStatistics> tools;
  AGENTFS_TRY(ListToolCalls(volume, [&](const ToolCall& call) {
    ToolStatistics& tool = tools[call.name];
    const int64_t took = call.completed_ns - call.started_ns;
    tool.name = call.name;
    ++tool.calls;
    tool.failed += call.error.empty() ? 0 : 1;
    tool.total_ns += took;
    tool.longest_ns = std::max(tool.longest_ns, took);
    return Visit::kContinue;
  }));
  std::vector<ToolStatistics> all;
  for (auto& [name, tool] : tools) all.push_back(std::move(tool));
  return all;
}

}  // namespace agentfs
