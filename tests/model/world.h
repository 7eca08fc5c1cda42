// SPDX-License-Identifier: Apache-2.0
//
// A volume and a real directory that go through the same operations.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mount_rig.h"
#include "native_subject.h"
#include "operation.h"
#include "outcome.h"
#include "subject.h"
#include "tree.h"
#include "volume_rig.h"

namespace agentfs::model {

// How the operations reach the volume: through the library or through the kernel, and then through
// one mount of the branch or through two in turn.
enum class Access : uint8_t { kView, kMount, kTwoMounts, kBulkMount };

struct WorldOptions {
  Access access = Access::kView;
  posix::StoreKind store = posix::StoreKind::kMemory;
  // Steps that fill the base directory before the volume is made; empty: there is no base.
  std::vector<Operation> base;
  VolumeOptions volume;
};

inline constexpr size_t kSlots = 4;

// One change by path on one subject. EOPNOTSUPP for what would open a device or a fifo.
Result<void> Apply(posix::Subject& subject, const Operation& operation);

class World {
 public:
  // Aborts the process if the directories cannot be made: that is no finding.
  explicit World(const WorldOptions& options);
  ~World();

  // Does one step on both sides. Returns what differs, or "".
  std::string Execute(const Operation& operation);
  // The checks at the end of a run: the tree, the volume's own invariants, and the base.
  std::string Finish();

  // What a generator needs to know.
  const std::vector<std::string>& paths();  // of the current branch
  std::vector<std::string> snapshots() const;
  std::vector<std::string> branches() const;
  const std::string& branch() const { return branch_; }
  bool has_open(size_t slot) const { return handles_[slot].expected != nullptr; }
  uint64_t OpenSize(size_t slot);

 private:
  struct Handle {
    std::unique_ptr<posix::OpenFile> expected, actual;
    bool appends = false;
  };

  // Makes a call on both sides as the operation's person, and compares. The real side's identity
  // is the thread's own: the view must not be called under it.
  template <typename Call>
  auto OnExpected(const Operation& o, Call call) {
    posix::As as(expected(), Person(o.by));
    return call(expected());
  }
  template <typename Call>
  auto OnActual(const Operation& o, Call call) {
    posix::As as(actual(), Person(o.by));
    return call(actual());
  }
  template <typename Call>
  std::string OnBoth(const Operation& o, Call call) {
    const auto expected = OnExpected(o, call);
    return Compare(expected, OnActual(o, call));
  }
  template <typename Call>
  std::string OnHandles(const Operation& o, Handle& handle, Call call) {
    const auto expected = OnExpected(o, [&](auto&) { return call(*handle.expected); });
    return Compare(expected, OnActual(o, [&](auto&) { return call(*handle.actual); }));
  }

  std::string ExecutePath(const Operation& o);
  std::string ExecuteChange(const Operation& o);
  std::string ExecuteQuery(const Operation& o);
  std::string ExecuteHandle(const Operation& o);
  std::string ExecuteData(const Operation& o, Handle& handle);
  std::string ExecuteVolume(const Operation& o);

  std::string Open(const Operation& o);
  std::string List(const Operation& o);
  std::string Allocate(const Operation& o, Handle& handle);
  std::string Seek(const Operation& o, Handle& handle);
  std::string CopyRange(const Operation& o, Handle& handle);
  std::string CompareHandles(Handle& handle);
  std::string CompareAround(const std::string& path);
  std::string CompareAll();
  bool OpensSpecial(const std::string& path);

  std::string TakeSnapshot(const std::string& name);
  std::string CheckSnapshot(const std::string& name);
  std::string Fork(const std::string& name, const std::string& from);
  std::string Switch(const std::string& name);
  std::string Restore(const std::string& name);
  std::string DeleteSnapshot(const std::string& name);
  std::string DeleteBranch(const std::string& name);
  std::string Reopen();

  std::unique_ptr<posix::Subject> NewDirectory();
  std::unique_ptr<posix::Subject> CopyOf(posix::Subject& original);
  std::string OpenView();
  void CloseHandles();
  posix::Subject& expected() { return *branches_[branch_]; }
  posix::Subject& actual() { return use_second_ ? *second_view_ : *view_; }
  std::string Mount(std::unique_ptr<posix::Subject>& view);
  void CloseView();
  // Until every mount knows what was done through the others.
  void Settle();

  const WorldOptions options_;
  posix::TempDirectory temp_;
  int directories_ = 0;
  ComparisonRules rules_;
  bool has_xattrs_ = true;
  std::unique_ptr<posix::Subject> base_, base_copy_;
  std::unique_ptr<posix::VolumeRig> rig_;
  std::string branch_{kMainBranch};
  std::unique_ptr<posix::Watchdog> watchdog_;
  std::vector<std::unique_ptr<posix::MountRig>> mounts_;
  std::unique_ptr<posix::Subject> view_, second_view_;  // of branch_
  bool use_second_ = false;
  std::map<std::string, std::unique_ptr<posix::Subject>> branches_, snapshots_;  // the real ones
  std::array<Handle, kSlots> handles_;
  std::vector<std::string> paths_;
  bool paths_stale_ = true;
};

}  // namespace agentfs::model
