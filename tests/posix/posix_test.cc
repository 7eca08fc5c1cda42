// SPDX-License-Identifier: Apache-2.0
#include "posix_test.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace agentfs::posix {

std::string SubjectName(const testing::TestParamInfo<SubjectKind>& info) {
  switch (info.param) {
    case SubjectKind::kNative:
      return "Native";
    case SubjectKind::kMemory:
      return "Memory";
    case SubjectKind::kMemorySnapshot:
      return "MemorySnapshot";
    case SubjectKind::kMemoryBase:
      return "MemoryBase";
    case SubjectKind::kSqliteReopened:
      return "SqliteReopened";
    case SubjectKind::kSqliteBase:
      return "SqliteBase";
    case SubjectKind::kSingleFile:
      return "SingleFile";
    case SubjectKind::kMount:
      return "Mount";
    case SubjectKind::kMountBase:
      return "MountBase";
    case SubjectKind::kBulkMount:
      return "BulkMount";
    case SubjectKind::kBulkMountBase:
      return "BulkMountBase";
  }
  return "";
}

void Value(const Result<void>& result, int line) {
  if (result.ok()) return;
  throw std::runtime_error("line " + std::to_string(line) + ": " + ErrnoName(result.code()) + " " +
                           result.error().message());
}

PosixTest::PosixTest() {
  const SubjectKind kind = GetParam();
  if (kind == SubjectKind::kNative) {
    fs_ = Value(OpenNativeSubject(temp_.Make("native")));
    return;
  }
  RigOptions options;
  options.state = temp_.Make("state");
  if (kind == SubjectKind::kSqliteReopened || kind == SubjectKind::kSqliteBase ||
      kind == SubjectKind::kSingleFile || kind == SubjectKind::kMountBase ||
      kind == SubjectKind::kBulkMountBase) {
    options.store = StoreKind::kSqlite;
  }
  options.volume.single_file = kind == SubjectKind::kSingleFile;
  if (kind == SubjectKind::kMemoryBase || kind == SubjectKind::kSqliteBase ||
      kind == SubjectKind::kMountBase || kind == SubjectKind::kBulkMountBase) {
    options.base = temp_.Make("base");
    setup_ = Value(OpenNativeSubject(options.base));
  }
  rig_ = Value(VolumeRig::Open(std::move(options)));
  if (!mounted() || !WhyNoMounts().empty()) {
    fs_ = Value(rig_->Branch(kMainBranch));
    return;
  }
  const std::string place = temp_.Make("mount");
  watchdog_ = std::make_unique<Watchdog>(place);
  MountRigOptions mounting;
  if (bulk()) {
    mounting.serve.profile = fuse::Profile::kBulk;
  }
  mount_ = Value(MountRig::Start(rig_->volume(), place, std::move(mounting)));
  fs_ = Value(OpenNativeSubject(place));
}

void PosixTest::SetUp() {
  if (mounted() && !WhyNoMounts().empty()) GTEST_SKIP() << WhyNoMounts();
}

bool PosixTest::mounted() const {
  switch (GetParam()) {
    case SubjectKind::kMount:
    case SubjectKind::kMountBase:
    case SubjectKind::kBulkMount:
    case SubjectKind::kBulkMountBase:
      return true;
    default:
      return false;
  }
}

bool PosixTest::bulk() const {
  return GetParam() == SubjectKind::kBulkMount || GetParam() == SubjectKind::kBulkMountBase;
}

PosixTest::~PosixTest() {
  fs_.reset();
  setup_.reset();
  mount_.reset();
}

Subject& PosixTest::setup() { return setup_ ? *setup_ : *fs_; }

Subject& PosixTest::fs() {
  if (!settled_) Settle();
  return *fs_;
}

void PosixTest::Settle() {
  settled_ = true;
  if (rig_) SettleView();
}

void PosixTest::SettleView() {
  const SubjectKind kind = GetParam();
  if (kind == SubjectKind::kMemorySnapshot || kind == SubjectKind::kSingleFile) {
    Value(rig_->volume().CreateSnapshot(kMainBranch, "", "", Durability::kNone));
  }
  if (kind == SubjectKind::kSqliteReopened || kind == SubjectKind::kSingleFile) {
    fs_.reset();
    Value(rig_->Reopen());
    fs_ = Value(rig_->Branch(kMainBranch));
  }
}

bool PosixTest::has_others() const {
  return (setup_ ? *setup_ : *fs_).can_become_others() && fs_->can_become_others();
}

std::vector<std::string> PosixTest::Names(std::string_view path) {
  std::vector<std::string> names;
  for (Entry& entry : Value(fs().List(path))) names.push_back(std::move(entry.name));
  std::sort(names.begin(), names.end());
  return names;
}

uint64_t PosixTest::MaxFileSize() {
  auto file = Open("size-probe", O_RDWR | O_CREAT);
  uint64_t fits = 0;
  uint64_t too_much = uint64_t{1} << 63;
  while (too_much - fits > 1) {
    const uint64_t middle = fits + (too_much - fits) / 2;
    (file->Truncate(middle).ok() ? fits : too_much) = middle;
  }
  Value(fs().Unlink("size-probe"));
  return fits;
}

void PosixTest::Tick() {
  timespec start{};
  ::clock_gettime(CLOCK_REALTIME, &start);
  for (timespec now{};;) {
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec > start.tv_sec || (now.tv_sec == start.tv_sec && now.tv_nsec > start.tv_nsec)) {
      return;
    }
  }
}

void ExpectTouched(const Attr& before, const Attr& after, unsigned touched, const char* what) {
  EXPECT_EQ(before.mtime < after.mtime, (touched & kMtime) != 0) << "mtime of " << what;
  EXPECT_EQ(before.ctime < after.ctime, (touched & kCtime) != 0) << "ctime of " << what;
}

}  // namespace agentfs::posix
