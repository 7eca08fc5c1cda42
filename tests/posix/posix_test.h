// SPDX-License-Identifier: Apache-2.0
//
// The fixture of the POSIX tests. Each case runs on every subject: first it prepares files through
// setup(), then it asks fs(). What setup() made is, depending on the subject, in the same open
// view, below a snapshot, in a database that was closed and opened again, or in the base.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "mount_rig.h"
#include "native_subject.h"
#include "subject.h"
#include "volume_rig.h"

namespace agentfs::posix {

inline constexpr size_t kMiB = 1 << 20;

enum class SubjectKind : uint8_t {
  kNative,          // the oracle
  kMemory,          // one view in memory
  kMemorySnapshot,  // a snapshot was taken after setup
  kMemoryBase,      // setup made a base directory
  kSqliteReopened,  // the database was closed and opened again after setup
  kSqliteBase,      // setup made a base directory; objects are host files
  kSingleFile,      // SQLite, no objects, a snapshot, reopened
  kMount,           // a mount of a view in memory
  kMountBase,       // a mount over a base that setup made; SQLite
  kBulkMount,       // the same two with the bulk profile
  kBulkMountBase,
};
std::string SubjectName(const testing::TestParamInfo<SubjectKind>& info);

// The value, or an exception that fails the test and names the line.
template <typename T>
T Value(Result<T> result, int line = __builtin_LINE()) {
  if (!result.ok()) {
    throw std::runtime_error("line " + std::to_string(line) + ": " + ErrnoName(result.code()) +
                             " " + result.error().message());
  }
  return std::move(result).value();
}
void Value(const Result<void>& result, int line = __builtin_LINE());

#define EXPECT_ERRNO(expression, expected) \
  EXPECT_EQ(::agentfs::posix::ErrnoName((expression).code()), #expected)
#define EXPECT_OK(expression) EXPECT_EQ(::agentfs::posix::ErrnoName((expression).code()), "0")

class PosixTest : public testing::TestWithParam<SubjectKind> {
 protected:
  PosixTest();
  ~PosixTest() override;
  void SetUp() override;

  Subject& setup();
  Subject& fs();
  bool mounted() const;
  bool bulk() const;
  bool native() const { return GetParam() == SubjectKind::kNative; }
  // Whether files can belong to others and calls be made as others.
  bool has_others() const;

  std::unique_ptr<OpenFile> Open(std::string_view path, int flags, uint32_t mode = 0666,
                                 int line = __builtin_LINE()) {
    return Value(fs().Open(path, flags, mode), line);
  }
  Attr Stat(std::string_view path, int line = __builtin_LINE()) {
    return Value(fs().Stat(path), line);
  }
  uint32_t Mode(std::string_view path) { return Stat(path).mode & 07777; }
  std::string Content(std::string_view path) { return Value(fs().ReadFile(path)); }
  std::vector<std::string> Names(std::string_view path);  // sorted
  // The largest size that a file can have.
  uint64_t MaxFileSize();

  // Waits until every clock that a time could be taken from has moved on.
  static void Tick();

 private:
  void Settle();
  void SettleView();

  TempDirectory temp_;
  std::unique_ptr<VolumeRig> rig_;
  std::unique_ptr<MountRig> mount_;
  std::unique_ptr<Watchdog> watchdog_;
  std::unique_ptr<Subject> setup_;  // where it is not fs_
  std::unique_ptr<Subject> fs_;
  bool settled_ = false;
};

#define NEEDS_OTHERS()                                                                 \
  if (!has_others()) {                                                                 \
    GTEST_SKIP() << "needs root, to make files that belong to others and act as them"; \
  }

#define AGENTFS_FOR_ALL_SUBJECTS(suite)                                                         \
  INSTANTIATE_TEST_SUITE_P(                                                                     \
      All, suite,                                                                               \
      testing::Values(SubjectKind::kNative, SubjectKind::kMemory, SubjectKind::kMemorySnapshot, \
                      SubjectKind::kMemoryBase, SubjectKind::kSqliteReopened,                   \
                      SubjectKind::kSqliteBase, SubjectKind::kSingleFile, SubjectKind::kMount,  \
                      SubjectKind::kMountBase, SubjectKind::kBulkMount,                         \
                      SubjectKind::kBulkMountBase),                                             \
      SubjectName)

// Which of a node's times an operation changes.
enum Touch : unsigned { kNothing = 0, kMtime = 1, kCtime = 2, kBoth = 3 };
void ExpectTouched(const Attr& before, const Attr& after, unsigned touched, const char* what);

}  // namespace agentfs::posix
