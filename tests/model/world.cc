// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace agentfs::model {
namespace {

using posix::As;
using posix::Follow;
using posix::Identity;
using posix::Pattern;
using posix::Subject;
using posix::TimeChange;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "the model cannot run: %s\n", what.c_str());
  std::abort();
}

template <typename T>
T MustHave(Result<T> result, const char* what) {
  if (!result.ok()) Fail(std::string(what) + ": " + result.error().message());
  return std::move(result).value();
}
void MustBe(const Result<void>& result, const char* what) {
  if (!result.ok()) Fail(std::string(what) + ": " + result.error().message());
}

std::string Parent(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

TimeChange TimeOf(uint32_t variant, uint64_t time) {
  switch (variant) {
    case 0:
      return TimeChange::Omit();
    case 1:
      return TimeChange::Now();
    default:
      return TimeChange::Set(static_cast<int64_t>(time), static_cast<uint32_t>(time % 1000));
  }
}

// Whether opening it would do more than open a file.
bool IsSpecial(Subject& subject, const std::string& path) {
  const auto attr = subject.Stat(path, Follow::kYes);
  if (!attr.ok()) return false;
  const uint32_t type = attr->mode & S_IFMT;
  return type != S_IFREG && type != S_IFDIR;
}

}  // namespace

bool World::OpensSpecial(const std::string& path) { return IsSpecial(expected(), path); }

const Identity& Person(uint8_t by) {
  static const Identity kPeople[] = {posix::ProcessIdentity(), posix::kAliceInTeam,
                                     posix::kBobInTeam};
  return kPeople[::geteuid() == 0 && by < 3 ? by : 0];
}

Result<void> Apply(Subject& subject, const Operation& o) {
  if (o.kind == Kind::kWriteFile && IsSpecial(subject, o.path)) return Error(EOPNOTSUPP);
  switch (o.kind) {
    case Kind::kWriteFile:
      return subject.WriteFile(o.path, Pattern(o.length, o.seed));
    case Kind::kTruncate:
      return subject.Truncate(o.path, o.length);
    case Kind::kMakeDirectory:
      return subject.MakeDirectory(o.path, o.mode);
    case Kind::kRemoveDirectory:
      return subject.RemoveDirectory(o.path);
    case Kind::kUnlink:
      return subject.Unlink(o.path);
    case Kind::kRename:
      return subject.Rename(o.path, o.to, static_cast<RenameMode>(o.mode));
    case Kind::kLink:
      return subject.Link(o.path, o.to);
    case Kind::kSymlink:
      return subject.MakeSymlink(o.to, o.path);
    case Kind::kMakeNode:
      return subject.MakeNode(o.path, o.mode, o.target);
    case Kind::kChmod:
      return subject.Chmod(o.path, o.mode);
    case Kind::kChown:
      return subject.Chown(o.path, static_cast<uint32_t>(o.offset),
                           static_cast<uint32_t>(o.target));
    case Kind::kSetTimes:
      return subject.SetTimes(o.path, TimeOf(o.mode % 3, o.target), TimeOf(o.mode / 3, o.target));
    case Kind::kSetXattr:
      return subject.SetXattr(o.path, o.to, Pattern(o.length, o.seed),
                              static_cast<XattrMode>(o.mode));
    case Kind::kRemoveXattr:
      return subject.RemoveXattr(o.path, o.to);
    default:
      return Error(ENOSYS);
  }
}

World::World(const WorldOptions& options) : options_(options) {
  rules_.clock_start = ::time(nullptr) - 10;
  posix::RigOptions rig;
  rig.store = options.store;
  rig.state = temp_.Make("state");
  rig.volume = options.volume;
  auto main = NewDirectory();
  MustBe(main->Chmod("", 0777), "chmod");
  if (!options.base.empty()) {
    rig.base = temp_.Make("base");
    base_ = MustHave(posix::OpenNativeSubject(rig.base), "opening the base");
    MustBe(base_->Chmod("", 0777), "chmod");
    for (const Operation& operation : options.base) {
      As as(*base_, Person(operation.by));
      (void)Apply(*base_, operation).code();
    }
    base_copy_ = CopyOf(*base_);
    main = CopyOf(*base_);
  }
  MustBe(main->MakeDirectory("probe"), "mkdir");
  rules_.directory_links = MustHave(main->Stat(""), "stat").nlink > 2;
  has_xattrs_ = main->SetXattr("probe", "user.x", "").code() != EOPNOTSUPP;
  MustBe(main->RemoveDirectory("probe"), "rmdir");
  const Attr root = MustHave(main->Stat(""), "stat");
  branches_[branch_] = std::move(main);

  rig_ = MustHave(posix::VolumeRig::Open(std::move(rig)), "opening the volume");
  if (const std::string failed = OpenView(); !failed.empty()) Fail(failed);
  if (!base_) MustBe(view_->Chmod("", 0777), "chmod");
  // The probe was a change that the view has not seen.
  const TimeChange start = TimeChange::Set(1'000'000);
  MustBe(expected().SetTimes("", start, start), "utimens");
  MustBe(view_->SetTimes("", start, start), "utimens");
  if (root.mode != (S_IFDIR | 0777u)) MustBe(expected().Chmod("", root.mode & 07777), "chmod");
}

World::~World() {
  CloseHandles();
  CloseView();
}

std::unique_ptr<Subject> World::NewDirectory() {
  return MustHave(posix::OpenNativeSubject(temp_.Make("real-" + std::to_string(++directories_))),
                  "a directory");
}

std::unique_ptr<Subject> World::CopyOf(Subject& original) {
  auto copy = NewDirectory();
  MustBe(CopyTree(original, *copy), "copying a tree");
  return copy;
}

void World::CloseHandles() {
  for (Handle& handle : handles_) handle = {};
}

const std::vector<std::string>& World::paths() {
  if (paths_stale_) paths_ = MustHave(ListTree(expected()), "listing");
  paths_stale_ = false;
  return paths_;
}

std::vector<std::string> World::snapshots() const {
  std::vector<std::string> names;
  for (const auto& [name, subject] : snapshots_) names.push_back(name);
  return names;
}

std::vector<std::string> World::branches() const {
  std::vector<std::string> names;
  for (const auto& [name, subject] : branches_) names.push_back(name);
  return names;
}

uint64_t World::OpenSize(size_t slot) {
  if (!has_open(slot)) return 0;
  const auto attr = handles_[slot].expected->Stat();
  return attr.ok() ? attr->size : 0;
}

std::string World::Execute(const Operation& o) {
  Settle();
  // Open files stay with the first mount.
  const bool by_path = o.kind < Kind::kOpen;
  use_second_ = by_path && second_view_ != nullptr && !use_second_;
  if (o.kind >= Kind::kSnapshot) {
    paths_stale_ = true;
    return ExecuteVolume(o);
  }
  if (o.kind >= Kind::kOpen) return ExecuteHandle(o);
  return ExecutePath(o);
}

std::string World::ExecutePath(const Operation& o) {
  const bool xattr = o.kind >= Kind::kSetXattr && o.kind <= Kind::kRemoveXattr;
  if (xattr && !has_xattrs_) return "";
  const bool query = o.kind == Kind::kReadFile || o.kind == Kind::kStat ||
                     o.kind == Kind::kAccess || o.kind == Kind::kList || o.kind == Kind::kGetXattr;
  std::string difference = query ? ExecuteQuery(o) : ExecuteChange(o);
  if (difference.empty()) difference = CompareAround(o.path);
  const bool two_paths = o.kind == Kind::kRename || o.kind == Kind::kLink;
  if (difference.empty() && two_paths) difference = CompareAround(o.to);
  return difference;
}

std::string World::ExecuteChange(const Operation& o) {
  if (o.kind == Kind::kTruncate) {
    // Whether a truncation to the same size counts as one differs between truncate and ftruncate.
    const auto attr = expected().Stat(o.path, Follow::kYes);
    if (attr.ok() && attr->size == o.length) return "";
  }
  paths_stale_ = true;
  return OnBoth(o, [&](Subject& subject) { return Apply(subject, o); });
}

std::string World::ExecuteQuery(const Operation& o) {
  switch (o.kind) {
    case Kind::kReadFile:
      if (OpensSpecial(o.path)) return "";
      return OnBoth(o, [&](Subject& subject) { return subject.ReadFile(o.path); });
    case Kind::kStat: {
      const auto stat = [&](Subject& subject) { return subject.Stat(o.path, Follow::kYes); };
      const auto a = OnExpected(o, stat);
      const auto b = OnActual(o, stat);
      return a.ok() && b.ok() ? CompareAttributes(*a, *b, rules_) : Compare(a, b);
    }
    case Kind::kAccess:
      return OnBoth(
          o, [&](Subject& subject) { return subject.Access(o.path, static_cast<int>(o.mode)); });
    case Kind::kList:
      return List(o);
    default:
      return OnBoth(o, [&](Subject& subject) { return subject.GetXattr(o.path, o.to); });
  }
}

// The directory through cursors, a few entries at a time.
std::string World::List(const Operation& o) {
  const size_t step = 1 + o.seed % 5;
  return OnBoth(o, [&](Subject& subject) -> Result<std::string> {
    AGENTFS_ASSIGN(auto directory, subject.Open(o.path, O_RDONLY | O_DIRECTORY));
    std::vector<std::string> names;
    for (uint64_t cursor = 0; names.size() < 10000;) {
      AGENTFS_ASSIGN(const auto entries, directory->List(cursor, step));
      if (entries.empty()) break;
      for (const auto& entry : entries) names.push_back(entry.name);
      cursor = entries.back().cursor;
    }
    std::sort(names.begin(), names.end());
    std::string all;
    for (const std::string& name : names) all += name + "/";
    return all;
  });
}

std::string World::CompareAround(const std::string& path) {
  for (const std::string& p : {path, Parent(path)}) {
    const auto a = expected().Stat(p);
    const auto b = actual().Stat(p);
    std::string difference = Compare(a, b);
    if (difference.empty() && a.ok()) difference = CompareAttributes(*a, *b, rules_);
    if (!difference.empty()) return "afterwards, at \"" + p + "\": " + difference;
  }
  return "";
}

std::string World::CompareAll() {
  Settle();
  std::string difference = CompareTrees(expected(), actual(), rules_);
  for (size_t i = 0; i < kSlots && difference.empty(); ++i) {
    if (has_open(i)) difference = CompareHandles(handles_[i]);
  }
  return difference;
}

std::string World::Finish() {
  std::string difference = CompareAll();
  if (!difference.empty()) return "at the end: " + difference;
  CloseHandles();
  const auto report = rig_->volume().Check(false);
  if (!report.ok()) return "fsck: " + report.error().message();
  if (!report->clean()) return "fsck: " + report->problems.front().what;
  if (base_) {
    ComparisonRules exact = rules_;
    exact.clock_start = INT64_MAX - 100000;
    difference = CompareTrees(*base_copy_, *base_, exact);
    if (!difference.empty()) return "the base was changed: " + difference;
  }
  return "";
}

}  // namespace agentfs::model
