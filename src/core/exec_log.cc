// SPDX-License-Identifier: Apache-2.0
#include "agentfs/exec_log.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

using Json = nlohmann::json;

// Arguments may be any bytes; JSON is UTF-8.
std::string CommandColumn(const ExecStart& start) {
  if (start.shell) return start.command.empty() ? "" : start.command.front();
  return Json(start.command).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> ParseCommand(std::string_view column, bool shell) {
  if (shell) return {std::string(column)};
  const Json json = Json::parse(column, nullptr, false);
  std::vector<std::string> command;
  if (!json.is_array()) return command;
  for (const Json& argument : json) {
    if (argument.is_string()) command.push_back(argument.get<std::string>());
  }
  return command;
}

std::string EncodeExec(const ExecRecord& record) {
  const ExecStart& start = record.start;
  ValueWriter value;
  value.Bytes(start.kind).Bytes(CommandColumn(start)).Int(start.shell).Bytes(start.directory);
  value.Bytes(start.branch).Int(static_cast<int64_t>(start.snapshot)).Bytes(start.action);
  value.Bytes(start.rule).Bytes(start.reason).Int(record.start_ns).Int(record.end_ns);
  value.Int(record.status).Int(record.signal).Int(start.uid).Bytes(start.label);
  return value.Take();
}

bool DecodeExec(std::string_view key, std::string_view value, std::string_view blob,
                ExecRecord* out) {
  out->id = KeyReader(key).Int();
  ValueReader reader(value);
  ExecStart& start = out->start;
  start.kind = reader.Bytes();
  const std::string_view command = reader.Bytes();
  start.shell = reader.Int() != 0;
  start.command = ParseCommand(command, start.shell);
  start.directory = reader.Bytes();
  start.branch = reader.Bytes();
  start.snapshot = static_cast<uint64_t>(reader.Int());
  start.action = reader.Bytes();
  start.rule = reader.Bytes();
  start.reason = reader.Bytes();
  out->start_ns = reader.Int();
  out->end_ns = reader.Int();
  out->status = static_cast<int>(reader.Int());
  out->signal = static_cast<int>(reader.Int());
  start.uid = static_cast<uint32_t>(reader.Int());
  start.label = reader.Bytes();
  start.details = blob;
  return reader.ok() && reader.AtEnd();
}

Result<void> PutExec(Volume& volume, const ExecRecord& record) {
  Batch batch;
  batch.Put(tables::kExecs, KeyInt(record.id), EncodeExec(record),
            Buffer::Copy(record.start.details));
  return volume.WriteRecords(batch);
}

Error DamagedExec(uint64_t id) {
  return Error(EBADMSG, "the row of exec " + std::to_string(id) + " is damaged");
}

void Finish(ExecRecord& record, const ExecEnd& end) {
  record.end_ns = ToNanoseconds(Now());
  record.status = end.status;
  record.signal = end.signal;
  if (end.details) record.start.details = *end.details;
}

std::string ShellQuoted(const std::string& argument) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == argument.npos) return argument;
  std::string quoted = "'";
  for (char c : argument) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

Result<ExecRecord> BeginExecRecord(Volume& volume, const ExecStart& start) {
  ExecRecord record{volume.NextRecord(tables::kExecs), start, ToNanoseconds(Now())};
  AGENTFS_TRY(PutExec(volume, record));
  return record;
}

Result<uint64_t> BeginExec(Volume& volume, const ExecStart& start) {
  AGENTFS_ASSIGN(const ExecRecord record, BeginExecRecord(volume, start));
  return record.id;
}

Result<void> EndExec(Volume& volume, ExecRecord record, const ExecEnd& end) {
  Finish(record, end);
  return PutExec(volume, record);
}

Result<void> EndExec(Volume& volume, uint64_t id, const ExecEnd& end) {
  AGENTFS_ASSIGN(auto record, GetExec(volume, id));
  if (!record) return Error(ENOENT, "there is no exec " + std::to_string(id));
  if (record->end_ns != 0) return Ok();
  Finish(*record, end);
  return PutExec(volume, *record);
}

Result<uint64_t> RecordExec(Volume& volume, const ExecStart& start, const ExecEnd& end) {
  ExecRecord record{volume.NextRecord(tables::kExecs), start, ToNanoseconds(Now())};
  Finish(record, end);
  AGENTFS_TRY(PutExec(volume, record));
  return record.id;
}

Result<std::optional<ExecRecord>> GetExec(Volume& volume, uint64_t id) {
  AGENTFS_ASSIGN(auto row, volume.GetRecord(tables::kExecs, KeyInt(id)));
  if (!row) return std::optional<ExecRecord>();
  ExecRecord record;
  if (!DecodeExec(row->key, row->value, row->blob.view(), &record)) return DamagedExec(id);
  return std::optional<ExecRecord>(std::move(record));
}

Result<void> ListExecs(Volume& volume, const std::function<Visit(const ExecRecord&)>& visit) {
  ScanRange range{.table = tables::kExecs, .order = Order::kDescending};
  Result<void> outcome;
  AGENTFS_TRY(volume.ScanRecords(range, [&](const RowView& row) {
    ExecRecord record;
    if (DecodeExec(row.key, row.value, row.blob, &record)) return visit(record);
    outcome = DamagedExec(record.id);
    return Visit::kStop;
  }));
  return outcome;
}

Result<void> EndLostExecs(Volume& volume) {
  std::vector<uint64_t> lost;
  const ScanRange range{.table = tables::kExecs, .blobs = BlobAccess::kInPieces};
  AGENTFS_TRY(volume.ScanRecords(range, [&](const RowView& row) {
    ExecRecord record;
    if (DecodeExec(row.key, row.value, {}, &record) && record.end_ns == 0) {
      lost.push_back(record.id);
    }
    return Visit::kContinue;
  }));
  for (uint64_t id : lost) AGENTFS_TRY(EndExec(volume, id, {.status = kExecLost}));
  return Ok();
}

std::string CommandText(const ExecStart& start) {
  if (start.shell) return start.command.empty() ? "" : start.command.front();
  std::string text;
  for (const std::string& argument : start.command) {
    if (!text.empty()) text += ' ';
    text += ShellQuoted(argument);
  }
  return text;
}

}  // namespace agentfs
