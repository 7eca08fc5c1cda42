// SPDX-License-Identifier: Apache-2.0
#include "generator.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agentfs/types.h"

namespace agentfs::model {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr size_t kManyPaths = 70;

// Where content changes its form: pages, chunks (and what is kept inline), spans.
const std::vector<uint64_t>& Edges() {
  static const std::vector<uint64_t> edges = {0,         4 * kKiB,   8 * kKiB, 64 * kKiB,
                                              64 * kKiB, 128 * kKiB, 1 * kMiB, 2 * kMiB};
  return edges;
}

}  // namespace

std::string Generator::Name() {
  static const std::vector<std::string> kOdd = {std::string(255, 'L'), "back\\slash", "\xff\x01",
                                                "...", "with space"};
  return Chance(4) ? Pick(kOdd) : std::string(1, static_cast<char>('a' + Below(7)));
}

std::string Generator::Existing(const std::vector<std::string>& existing) {
  return existing.empty() ? Name() : Pick(existing);
}

// A path in an existing directory (or what is taken for one), or at the top.
std::string Generator::Fresh(const std::vector<std::string>& existing) {
  if (existing.empty() || Chance(25)) return Name();
  std::string parent = Pick(existing);
  if (parent.size() > 1000) return Name();
  return parent + "/" + Name();
}

uint64_t Generator::Size() {
  if (Chance(40)) return Below(200);
  if (Chance(20)) return Below(300 * kKiB);
  const uint64_t edge = Pick(Edges());
  const uint64_t size = edge + Below(5);
  return size < 2 ? size : size - 2;
}

uint32_t Generator::Mode() {
  static const std::vector<uint32_t> kModes = {0777, 0755, 0700, 0644,  0666,  0600,  0444,  0000,
                                               0711, 0555, 0775, 02775, 04755, 06777, 01775, 02666};
  return Pick(kModes);
}

Operation Generator::Next(World& world) {
  const uint64_t dice = Below(100);
  Operation operation = dice < 55   ? PathStep(world)
                        : dice < 95 ? HandleStep(world)
                                    : VolumeStep(world);
  if (operation.kind < Kind::kSnapshot && operation.kind != Kind::kLink &&
      operation.kind != Kind::kTruncateOpen && operation.kind != Kind::kLinkOpen && Chance(15)) {
    operation.by = static_cast<uint8_t>(1 + Below(2));
    // What the kernel's protection of sticky directories would refuse before asking us.
    if ((operation.flags & O_CREAT) != 0) operation.flags |= O_EXCL;
    if (operation.kind == Kind::kWriteFile) operation.kind = Kind::kReadFile;
  }
  return operation;
}

std::vector<Operation> Generator::Blind(size_t count) {
  std::vector<Operation> operations;
  std::vector<std::string> paths;
  for (const char* name : {"a", "b", "a/c", "a/c/d", "e"}) {
    Operation operation;
    operation.kind = Kind::kMakeDirectory;
    operation.mode = 0777;
    operation.path = name;
    paths.push_back(name);
    operations.push_back(operation);
  }
  while (operations.size() < count) {
    const uint64_t dice = Below(20);
    Operation operation = dice < 11   ? Make(paths)
                          : dice < 14 ? Move(paths)
                          : dice < 18 ? Attributes(paths)
                          : dice < 19 ? Xattr(paths)
                                      : Remove(paths);
    if (operation.kind == Kind::kGetXattr) continue;
    if (dice < 11) paths.push_back(operation.path);
    operations.push_back(std::move(operation));
  }
  return operations;
}

Operation Generator::PathStep(World& world) {
  const std::vector<std::string>& existing = world.paths();
  if (existing.size() > kManyPaths && Chance(50)) return Remove(existing);
  const uint64_t dice = Below(100);
  if (dice < 30) return Make(existing);
  if (dice < 45) return Remove(existing);
  if (dice < 62) return Move(existing);
  if (dice < 78) return Attributes(existing);
  if (dice < 88) return Xattr(existing);
  return Query(existing);
}

Operation Generator::Make(const std::vector<std::string>& existing) {
  static const std::vector<std::string> kTargets = {"a", "b/c", "nowhere", "c", ".", "a/b/c"};
  Operation operation;
  operation.path = Chance(80) ? Fresh(existing) : Existing(existing);
  operation.seed = static_cast<uint32_t>(Below(1'000'000));
  operation.mode = Mode();
  const uint64_t dice = Below(100);
  if (dice < 45) {
    operation.kind = Kind::kWriteFile;
    operation.length = Size();
  } else if (dice < 75) {
    operation.kind = Kind::kMakeDirectory;
    if (Chance(60)) operation.mode = 0777;
  } else if (dice < 87) {
    operation.kind = Kind::kSymlink;
    operation.to = Pick(kTargets);
  } else {
    static const std::vector<uint32_t> kTypes = {S_IFIFO, S_IFSOCK, S_IFREG, S_IFCHR, S_IFBLK};
    operation.kind = Kind::kMakeNode;
    const uint32_t type = Pick(kTypes);
    operation.mode |= type;
    if (type == S_IFCHR || type == S_IFBLK) operation.target = ::makedev(1 + Below(300), Below(9));
  }
  return operation;
}

Operation Generator::Remove(const std::vector<std::string>& existing) {
  Operation operation;
  operation.kind = Chance(60) ? Kind::kUnlink : Kind::kRemoveDirectory;
  operation.path = Chance(95) ? Existing(existing) : Fresh(existing);
  return operation;
}

Operation Generator::Move(const std::vector<std::string>& existing) {
  Operation operation;
  operation.path = Chance(95) ? Existing(existing) : Fresh(existing);
  operation.to = Chance(50) ? Existing(existing) : Fresh(existing);
  if (Chance(70)) {
    operation.kind = Kind::kRename;
    operation.mode = static_cast<uint32_t>(Chance(60)   ? RenameMode::kReplace
                                           : Chance(50) ? RenameMode::kNoReplace
                                                        : RenameMode::kExchange);
  } else {
    operation.kind = Kind::kLink;
  }
  return operation;
}

Operation Generator::Attributes(const std::vector<std::string>& existing) {
  static const std::vector<uint64_t> kOwners = {0, 1001, 1002, UINT32_MAX};
  static const std::vector<uint64_t> kGroups = {0, 2001, 3001, UINT32_MAX};
  static const std::vector<uint64_t> kTimes = {0,          1, 999, 2'147'483'648, 9'000'000'777,
                                               123'456'789};
  Operation operation;
  operation.path = Any(existing);
  const uint64_t dice = Below(100);
  if (dice < 30) {
    operation.kind = Kind::kChmod;
    operation.mode = Mode();
  } else if (dice < 50) {
    operation.kind = Kind::kChown;
    operation.offset = Pick(kOwners);
    operation.target = Pick(kGroups);
    if (operation.offset == UINT32_MAX && operation.target == UINT32_MAX) operation.target = 0;
  } else if (dice < 80) {
    operation.kind = Kind::kSetTimes;
    operation.mode = static_cast<uint32_t>(Below(9));
    operation.target = Pick(kTimes);
  } else {
    operation.kind = Kind::kTruncate;
    operation.length = Size();
  }
  return operation;
}

Operation Generator::Xattr(const std::vector<std::string>& existing) {
  static const std::vector<std::string> kNames = {"user.a", "user.b", "user.long-name",
                                                  "trusted.t"};
  Operation operation;
  operation.path = Any(existing);
  operation.to = Pick(kNames);
  operation.seed = static_cast<uint32_t>(Below(1000));
  const uint64_t dice = Below(100);
  if (dice < 55) {
    operation.kind = Kind::kSetXattr;
    operation.length = Chance(20) ? 0 : Below(300);
    operation.mode = static_cast<uint32_t>(Chance(70)   ? XattrMode::kSet
                                           : Chance(50) ? XattrMode::kCreate
                                                        : XattrMode::kReplace);
  } else {
    operation.kind = dice < 80 ? Kind::kRemoveXattr : Kind::kGetXattr;
  }
  return operation;
}

Operation Generator::Query(const std::vector<std::string>& existing) {
  static const std::vector<Kind> kKinds = {Kind::kReadFile, Kind::kStat, Kind::kAccess,
                                           Kind::kList};
  Operation operation;
  operation.kind = Pick(kKinds);
  operation.path = Any(existing);
  operation.mode = static_cast<uint32_t>(Below(8));
  operation.seed = static_cast<uint32_t>(Below(100));
  return operation;
}

Operation Generator::OpenStep(World& world) {
  static const std::vector<int> kAccess = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR, O_RDWR};
  Operation operation;
  operation.kind = Kind::kOpen;
  operation.slot = static_cast<uint8_t>(Below(kSlots));
  operation.flags = Pick(kAccess);
  operation.mode = Mode();
  operation.path = Chance(80) ? Existing(world.paths()) : Fresh(world.paths());
  if (Chance(8)) {
    operation.flags = O_RDWR | O_TMPFILE;
    operation.mode = 0644;
    return operation;
  }
  if (Chance(40)) operation.flags |= O_CREAT;
  if ((operation.flags & O_CREAT) != 0 && Chance(20)) operation.flags |= O_EXCL;
  if (Chance(10) && (operation.flags & O_ACCMODE) != O_RDONLY) operation.flags |= O_TRUNC;
  if (Chance(15)) operation.flags |= O_APPEND;
  return operation;
}

void Generator::FillData(Operation& operation, World& world) {
  const uint64_t size = world.OpenSize(operation.slot);
  // Near the end, near an edge, or anywhere up to a little past the end.
  if (Chance(30)) {
    operation.offset = size < 3 ? size : size - Below(3);
  } else if (Chance(50)) {
    operation.offset = Size();
  } else {
    operation.offset = Below(size + 5000);
  }
  if (Chance(3)) operation.offset = 2 * kMiB + Below(3 * kMiB);
  operation.length = 1 + Size() / (Chance(70) ? 10 : 1);
  operation.target = Chance(50) ? operation.offset + operation.length : Size();
  operation.seed = static_cast<uint32_t>(Below(1'000'000));
}

Operation Generator::HandleStep(World& world) {
  const auto slot = static_cast<uint8_t>(Below(kSlots));
  if (!world.has_open(slot) || Chance(15)) return OpenStep(world);
  Operation operation;
  operation.slot = slot;
  operation.other = static_cast<uint8_t>(Below(kSlots));
  FillData(operation, world);
  const uint64_t dice = Below(100);
  if (dice < 35) {
    operation.kind = Kind::kWrite;
  } else if (dice < 48) {
    operation.kind = Kind::kRead;
  } else if (dice < 58) {
    operation.kind = Kind::kTruncateOpen;
    operation.length = Size();
  } else if (dice < 70) {
    operation.kind = Kind::kAllocate;
    operation.mode = static_cast<uint32_t>(Below(5));
  } else if (dice < 76) {
    operation.kind = Kind::kSeek;
    operation.mode = static_cast<uint32_t>(Below(2));
  } else if (dice < 86) {
    operation.kind = Kind::kCopyRange;
  } else if (dice < 90) {
    operation.kind = Kind::kAppend;
  } else if (dice < 92) {
    operation.kind = Kind::kSync;
  } else if (dice < 96) {
    operation.kind = Kind::kLinkOpen;
    operation.path = Fresh(world.paths());
  } else {
    operation.kind = dice < 98 ? Kind::kStatOpen : Kind::kClose;
  }
  return operation;
}

Operation Generator::VolumeStep(World& world) {
  Operation operation;
  const std::vector<std::string> snapshots = world.snapshots();
  const std::vector<std::string> branches = world.branches();
  const uint64_t dice = Below(100);
  if (dice < 30 && snapshots.size() < 6) {
    operation.kind = Kind::kSnapshot;
    operation.to = "snapshot-" + std::to_string(++names_);
  } else if (dice < 42 && branches.size() < 4) {
    operation.kind = Kind::kBranch;
    operation.to = "branch-" + std::to_string(++names_);
    operation.path = !snapshots.empty() && Chance(60) ? Pick(snapshots) : Pick(branches);
  } else if (dice < 56) {
    operation.kind = Kind::kSwitch;
    operation.to = Pick(branches);
  } else if (dice < 62 && !snapshots.empty()) {
    operation.kind = Kind::kRestore;
    operation.to = Pick(snapshots);
  } else if (dice < 70 && !snapshots.empty()) {
    operation.kind = Kind::kCheckSnapshot;
    operation.to = Pick(snapshots);
  } else if (dice < 76 && !snapshots.empty()) {
    operation.kind = Kind::kDeleteSnapshot;
    operation.to = Pick(snapshots);
  } else if (dice < 80) {
    operation.kind = Kind::kDeleteBranch;
    operation.to = Pick(branches);
  } else if (dice < 85) {
    operation.kind = Kind::kCollectGarbage;
  } else if (dice < 92) {
    operation.kind = Kind::kReopen;
  } else {
    operation.kind = Kind::kCheckTree;
  }
  return operation;
}

}  // namespace agentfs::model
