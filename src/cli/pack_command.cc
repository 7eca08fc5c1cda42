// SPDX-License-Identifier: Apache-2.0
#include "agentfs/stores.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/draft_file.h"
#include "cli/session.h"
#include "store/codec.h"
#include "store/schema.h"
#include "workspace/pack.h"

namespace agentfs::cli {
namespace {

// A counter that is further than this has been damaged.
constexpr uint64_t kMaxRecordId = 100'000'000;

// Values, tool calls and execs are part of a workspace; the operations are the history of layers
// that are not packed.
Result<void> CopyRecords(Volume& from, Volume& to) {
  for (const TableId table : {tables::kExecs, tables::kCalls, tables::kValues}) {
    Batch rows;
    uint64_t last = 0;
    AGENTFS_TRY(from.ScanRecords({.table = table}, [&](const RowView& row) {
      rows.Put(table, row.key, row.value, row.TakeBlob());
      if (table != tables::kValues) last = KeyReader(row.key).Int();
      return Visit::kContinue;
    }));
    if (last > kMaxRecordId) return Error(EBADMSG, "a record has an id that cannot be");
    // The next one comes after them; the counter is written with them.
    for (uint64_t next = 0; next < last;) next = to.NextRecord(table);
    AGENTFS_TRY(to.WriteRecords(rows));
  }
  return Ok();
}

Result<void> PackInto(Session& session, const std::string& file) {
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
  AGENTFS_TRY(CopyRecords(session.volume(), *packed));
  return packed->Close();
}

}  // namespace

Result<int> RunPack(Context& context) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  const Layout& layout = session->workspace().layout;
  const DraftFile draft(layout.database, "pack");
  AGENTFS_TRY(context.Explain("cannot pack", layout.root, PackInto(*session, draft.file())));
  AGENTFS_TRY(session->Close());
  AGENTFS_TRY(context.Explain("cannot pack", layout.root, draft.Deliver(*context.console)));
  return kDone;
}

}  // namespace agentfs::cli
