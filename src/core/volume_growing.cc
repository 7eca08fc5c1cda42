// SPDX-License-Identifier: Apache-2.0
//
// Growing files when a volume is opened and closed (core/growing_files.h).
#include "core/volume_impl.h"
#include "store/schema.h"

namespace agentfs {
namespace {

// Whether nothing is to be had from the object that the rows do not say: the file was removed
// since, or what is damaged is fsck's to tell.
bool SaysNothing(int code) {
  return code == ESTALE || code == ENOENT || code == EBADMSG || code == EOPNOTSUPP;
}

// Whether it is this process that cannot read now, not the disk.
bool IsOutOfMeans(int code) { return code == EMFILE || code == ENFILE || code == ENOMEM; }

}  // namespace

Result<void> VolumeImpl::RecoverGrowth(const GrowthMark& mark) {
  View* view = nullptr;
  std::shared_ptr<FileSystem> held;
  std::string name;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [each, branch] : branches_) {
      if (branch.layer->id == mark.layer) name = each;
    }
  }
  if (name.empty() || state_->blobs == nullptr) return Error(ESTALE);
  AGENTFS_ASSIGN(held, OpenBranch(name));
  {
    absl::MutexLock lock(&mu_);
    AGENTFS_ASSIGN(Branch * branch, FindBranch(name));
    view = branch->view.get();
  }
  return view->RecoverGrowth(mark);
}

Result<void> VolumeImpl::RecoverGrowing() {
  std::vector<Row> rows;
  const ScanRange all{tables::kGrowing, "", {}, {}, Order::kAscending, false};
  AGENTFS_TRY(state_->store->Scan(all, [&](const RowView& row) {
    rows.push_back({std::string(row.key), std::string(row.value), {}});
    return Visit::kContinue;
  }));
  if (rows.empty()) return Ok();
  for (const Row& row : rows) {
    const auto mark = GrowthMark::Parse(row.key, row.value);
    const Result<void> recovered = mark ? RecoverGrowth(*mark) : Error(EBADMSG);
    if (recovered.ok()) continue;
    if (IsOutOfMeans(recovered.code())) {
      return recovered.error().WithContext("cannot complete a file that was being appended to");
    }
    if (!SaysNothing(recovered.code())) {
      state_->growing.KeepUnread(*mark);
      continue;
    }
    Journal::Change change(*state_->journal);
    change.Delete(tables::kGrowing, row.key);
  }
  // Before anything is written: an object that a mark on the disk speaks of may do no more than
  // grow.
  return state_->journal->Flush(Durability::kSynced);
}

void VolumeImpl::EndGrowth() {
  Journal::Change change(*state_->journal);
  state_->growing.EndAll(change);
}

}  // namespace agentfs
