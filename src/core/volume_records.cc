// SPDX-License-Identifier: Apache-2.0
//
// The records of what was done: rows that no view is made of.
#include "core/volume_impl.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

Result<void> CheckRecordTable(TableId table) {
  if (table >= tables::kFirstOfRecords && table <= tables::kLastOfRecords) return Ok();
  return Error(EINVAL, "table " + std::to_string(table) + " keeps no records");
}

}  // namespace

Result<void> VolumeImpl::WriteRecords(const Batch& rows) {
  for (const Mutation& row : rows.mutations) AGENTFS_TRY(CheckRecordTable(row.table));
  AGENTFS_TRY(state_->journal->Admit(Growth::kGrows));
  Journal::Change change(*state_->journal);
  for (const Mutation& row : rows.mutations) {
    if (row.kind == Mutation::Kind::kPut) {
      change.Put(row.table, row.key, row.value, row.blob);
    } else {
      change.Delete(row.table, row.key);
    }
  }
  return Ok();
}

Result<std::optional<Row>> VolumeImpl::GetRecord(TableId table, std::string_view key) {
  AGENTFS_TRY(CheckRecordTable(table));
  AGENTFS_TRY(state_->journal->Flush(Durability::kNone));
  return state_->store->Get(table, key);
}

Result<void> VolumeImpl::ScanRecords(const ScanRange& range, const Store::Visitor& visit) {
  AGENTFS_TRY(CheckRecordTable(range.table));
  AGENTFS_TRY(state_->journal->Flush(Durability::kNone));
  return state_->store->Scan(range, visit);
}

Result<void> VolumeImpl::DropOpsBefore(uint64_t op) {
  state_->ops.prune_to = op;
  state_->journal->Wake();
  return state_->journal->Flush(Durability::kNone);
}

uint64_t VolumeImpl::NextRecord(TableId table) {
  switch (table) {
    case tables::kExecs:
      return state_->execs.Take();
    case tables::kCalls:
      return state_->calls.Take();
    default:
      return 0;
  }
}

}  // namespace agentfs
