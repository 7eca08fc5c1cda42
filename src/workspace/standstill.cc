// SPDX-License-Identifier: Apache-2.0
#include "workspace/standstill.h"

#include <algorithm>
#include <utility>

namespace agentfs {

Result<Standstill> Standstill::Of(Volume& volume, std::string_view ref, std::string_view why) {
  const auto branches = volume.ListBranches();
  const bool changes =
      std::ranges::any_of(branches, [&](const BranchInfo& each) { return each.name == ref; });
  if (!changes) return Standstill(nullptr, std::string(ref));
  AGENTFS_ASSIGN(const SnapshotInfo taken, volume.CreateSnapshot(ref, "", why, Durability::kNone));
  return Standstill(&volume, taken.name);
}

Standstill::Standstill(Standstill&& other) noexcept
    : volume_(std::exchange(other.volume_, nullptr)), ref_(std::move(other.ref_)) {}

Standstill::~Standstill() {
  if (volume_ != nullptr) (void)volume_->DeleteSnapshot(ref_).ok();
}

}  // namespace agentfs
