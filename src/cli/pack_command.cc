// SPDX-License-Identifier: Apache-2.0
#include "agentfs/stores.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/draft_file.h"
#include "cli/session.h"
#include "core/op_rows.h"
#include "store/codec.h"
#include "store/schema.h"
#include "workspace/pack.h"

namespace agentfs::cli {
namespace {

// A counter that is further than this has been damaged.
constexpr uint64_t kMaxRecordId = 100'000'000;
constexpr size_t kRowsAtOnce = 10'000;

// Layers and nodes are others in what is packed.
std::string WithoutPlace(std::string_view value) {
  OpRow row;
  if (!DecodeOp(value, &row)) return std::string(value);
  row.layer = row.node = 0;
  return EncodeOp(row);
}

// Of execs and tool calls: the next one comes after those that are copied.
Result<void> Reserve(Volume& to, TableId table, std::string_view last_key) {
  if ((table != tables::kExecs && table != tables::kCalls) || last_key.empty()) return Ok();
  const uint64_t last = KeyReader(last_key).Int();
  if (last > kMaxRecordId) return Error(EBADMSG, "a record has an id that cannot be");
  for (uint64_t next = 0; next < last;) next = to.NextRecord(table);
  return Ok();
}

Result<void> CopyTable(Volume& from, Volume& to, TableId table) {
  Batch rows;
  std::string last;
  Result<void> written;
  AGENTFS_TRY(from.ScanRecords({.table = table}, [&](const RowView& row) {
    if (rows.mutations.size() >= kRowsAtOnce) written = to.WriteRecords(rows);
    if (rows.mutations.size() >= kRowsAtOnce) rows = Batch();
    last = row.key;
    const bool placed = table == tables::kOps;
    rows.Put(table, row.key, placed ? WithoutPlace(row.value) : std::string(row.value),
             row.TakeBlob());
    return written.ok() ? Visit::kContinue : Visit::kStop;
  }));
  AGENTFS_TRY(written);
  AGENTFS_TRY(Reserve(to, table, last));  // before the last rows: the counter is written with them
  return to.WriteRecords(rows);
}

// Values are part of a workspace whatever its history. Operations come before what they refer to,
// which is there then.
Result<void> CopyRecords(Volume& from, Volume& to, const PackCommand& command) {
  AGENTFS_TRY(CopyTable(from, to, tables::kValues));
  if (command.no_history) return Ok();
  for (const TableId table : {tables::kExecs, tables::kCalls, tables::kOps, tables::kOpPaths,
                              tables::kOpDirectories, tables::kOpProcesses}) {
    AGENTFS_TRY(CopyTable(from, to, table));
  }
  return Ok();
}

Result<void> PackInto(Session& session, const std::string& file, const PackCommand& command) {
  StoreOptions store_options;
  store_options.create = true;
  store_options.large_rows = true;
  AGENTFS_ASSIGN(auto store, OpenSqliteStore(file, VolumeSchema(), store_options));
  VolumeOptions options;
  options.single_file = true;
  options.fill_base = true;
  AGENTFS_ASSIGN(const auto packed, Volume::Open(std::move(store), nullptr, nullptr, options));
  for (const BranchInfo& branch : session.volume().ListBranches()) {
    AGENTFS_TRY(session.operations().FlushPages(branch.name));
  }
  AGENTFS_TRY(PackVolume(session.volume(), *packed));
  AGENTFS_TRY(CopyRecords(session.volume(), *packed, command));
  return packed->Close();
}

}  // namespace

Result<int> RunPack(Context& context, const PackCommand& command) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  const Layout& layout = session->workspace().layout;
  const DraftFile draft(layout.database, "pack");
  AGENTFS_TRY(
      context.Explain("cannot pack", layout.root, PackInto(*session, draft.file(), command)));
  AGENTFS_TRY(session->Close());
  AGENTFS_TRY(context.Explain("cannot pack", layout.root, draft.Deliver(*context.console)));
  return kDone;
}

}  // namespace agentfs::cli
