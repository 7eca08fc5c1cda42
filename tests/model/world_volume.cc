// SPDX-License-Identifier: Apache-2.0
//
// The steps on the volume: branches, snapshots, restores, reopening.
#include <fmt/format.h>

#include "world.h"

namespace agentfs::model {
namespace {

using posix::ErrnoName;

template <typename T>
std::string Expect(int code, const Result<T>& result, const char* what) {
  if (result.code() == code) return "";
  return fmt::format("{}: expected {}, got {}{}", what, ErrnoName(code), ErrnoName(result.code()),
                     result.ok() ? "" : " (" + result.error().message() + ")");
}

}  // namespace

std::string World::ExecuteVolume(const Operation& o) {
  switch (o.kind) {
    case Kind::kSnapshot:
      return TakeSnapshot(o.to);
    case Kind::kCheckSnapshot:
      return CheckSnapshot(o.to);
    case Kind::kDeleteSnapshot:
      return DeleteSnapshot(o.to);
    case Kind::kBranch:
      return Fork(o.to, o.path);
    case Kind::kSwitch:
      return Switch(o.to);
    case Kind::kDeleteBranch:
      return DeleteBranch(o.to);
    case Kind::kRestore:
      return Restore(o.to);
    case Kind::kReopen:
      return Reopen();
    case Kind::kCollectGarbage: {
      const auto report = rig_->volume().CollectGarbage();
      return report.ok() ? "" : "gc: " + report.error().message();
    }
    default:
      return CompareAll();
  }
}

std::string World::TakeSnapshot(const std::string& name) {
  if (snapshots_.contains(name)) return "";
  const auto taken = rig_->volume().CreateSnapshot(branch_, name, "", Durability::kNone);
  std::string difference = Expect(0, taken, "taking a snapshot");
  if (difference.empty()) snapshots_[name] = CopyOf(expected());
  return difference;
}

std::string World::CheckSnapshot(const std::string& name) {
  const auto found = snapshots_.find(name);
  if (found == snapshots_.end()) return "";
  auto view = rig_->Snapshot(name);
  std::string difference = Expect(0, view, "opening a snapshot");
  if (!difference.empty()) return difference;
  difference = CompareTrees(*found->second, **view, rules_);
  if (!difference.empty()) return difference;
  return Expect(EROFS, (*view)->MakeDirectory("not-in-a-snapshot"), "a change of a snapshot");
}

std::string World::DeleteSnapshot(const std::string& name) {
  if (snapshots_.erase(name) == 0) return "";
  return Expect(0, rig_->volume().DeleteSnapshot(name), "deleting a snapshot");
}

std::string World::Fork(const std::string& name, const std::string& from) {
  if (branches_.contains(name)) return "";
  const auto branch = branches_.find(from);
  const auto snapshot = snapshots_.find(from);
  if (branch == branches_.end() && snapshot == snapshots_.end()) return "";
  const auto made = rig_->volume().CreateBranch(name, from);
  std::string difference = Expect(0, made, "forking a branch");
  if (!difference.empty()) return difference;
  branches_[name] = CopyOf(branch != branches_.end() ? *branch->second : *snapshot->second);
  return "";
}

std::string World::Mount(std::unique_ptr<posix::Subject>& view) {
  const std::string place = temp_.Make("mount-" + std::to_string(++directories_));
  if (mounts_.empty()) watchdog_ = std::make_unique<posix::Watchdog>(place, 250);
  posix::MountRigOptions options;
  options.branch = branch_;
  if (options_.access == Access::kBulkMount) options.serve.profile = fuse::Profile::kBulk;
  auto mount = posix::MountRig::Start(rig_->volume(), place, std::move(options));
  if (!mount.ok()) return "mounting branch " + branch_ + ": " + mount.error().message();
  mounts_.push_back(std::move(*mount));
  auto opened = posix::OpenNativeSubject(place);
  if (!opened.ok()) return "opening the mount: " + opened.error().message();
  view = std::move(*opened);
  return "";
}

void World::CloseView() {
  use_second_ = false;
  second_view_.reset();
  view_.reset();
  mounts_.clear();
  watchdog_.reset();
}

void World::Settle() {
  for (const auto& mount : mounts_) {
    mount->mount().Settle();
    mount->mount().FlushInvalidations();
  }
}

std::string World::OpenView() {
  if (options_.access != Access::kView) {
    std::string failed = Mount(view_);
    if (failed.empty() && options_.access == Access::kTwoMounts) failed = Mount(second_view_);
    return failed;
  }
  auto view = rig_->Branch(branch_);
  if (!view.ok()) return "opening branch " + branch_ + ": " + view.error().message();
  view_ = std::move(*view);
  return "";
}

std::string World::Switch(const std::string& name) {
  if (!branches_.contains(name)) return "";
  CloseHandles();
  CloseView();
  branch_ = name;
  std::string difference = OpenView();
  return difference.empty() ? CompareAll() : difference;
}

std::string World::DeleteBranch(const std::string& name) {
  if (name == kMainBranch || !branches_.contains(name)) return "";
  const auto deleted = rig_->volume().DeleteBranch(name);
  if (name == branch_) return Expect(EBUSY, deleted, "deleting the branch in use");
  branches_.erase(name);
  return Expect(0, deleted, "deleting a branch");
}

std::string World::Restore(const std::string& name) {
  const auto found = snapshots_.find(name);
  if (found == snapshots_.end()) return "";
  CloseHandles();
  std::string difference = Expect(0, rig_->volume().Restore(branch_, name), "restoring");
  if (!difference.empty()) return difference;
  branches_[branch_] = CopyOf(*found->second);
  return CompareAll();
}

std::string World::Reopen() {
  CloseHandles();
  CloseView();
  std::string difference = Expect(0, rig_->Reopen(), "reopening the volume");
  if (difference.empty()) difference = OpenView();
  return difference.empty() ? CompareAll() : difference;
}

}  // namespace agentfs::model
