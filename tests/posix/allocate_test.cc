// SPDX-License-Identifier: Apache-2.0
#include "posix_test.h"

namespace agentfs::posix {
namespace {

class AllocateTest : public PosixTest {
 protected:
  // Whether the native filesystem has this mode at all.
  bool Has(AllocateMode mode) {
    auto file = Open("probe", O_RDWR | O_CREAT);
    const int code = file->Allocate(mode, 0, 4096).code();
    Value(fs().Unlink("probe"));
    return !(native() && code == EOPNOTSUPP);
  }
};
AGENTFS_FOR_ALL_SUBJECTS(AllocateTest);

#define NEEDS_MODE(mode) \
  if (!Has(mode)) GTEST_SKIP() << "the native filesystem does not have this mode"

struct Range {
  size_t offset, length;
};
const Range kRanges[] = {{0, 1},       {0, 4096},        {1, 4095},           {4095, 2},
                         {4096, 4096}, {5000, 60000},    {65536, 65536},      {65535, 65538},
                         {0, kMiB},    {kMiB - 1, 2},    {100, 2 * kMiB},     {0, 3 * kMiB},
                         {kMiB, kMiB}, {131072, 400000}, {2 * kMiB, 5 * kMiB}};

TEST_P(AllocateTest, AllocateGrowsAndKeepsContent) {
  Value(setup().WriteFile("f", "abc"));
  auto file = Open("f", O_RDWR);
  EXPECT_OK(file->Allocate(AllocateMode::kAllocate, 2, 70000));
  std::string expected = "abc";
  expected.resize(70002, '\0');
  EXPECT_TRUE(Content("f") == expected);
  EXPECT_OK(file->Allocate(AllocateMode::kAllocate, 0, 10));
  EXPECT_EQ(Stat("f").size, 70002u);
}

TEST_P(AllocateTest, KeepSizeKeepsTheSize) {
  Value(setup().WriteFile("f", "abc"));
  auto file = Open("f", O_RDWR);
  EXPECT_OK(file->Allocate(AllocateMode::kKeepSize, 0, kMiB));
  EXPECT_EQ(Content("f"), "abc");
  EXPECT_OK(file->Truncate(10));
  EXPECT_EQ(Content("f"), std::string("abc\0\0\0\0\0\0\0", 10));
}

TEST_P(AllocateTest, PunchedRangesReadAsZeros) {
  NEEDS_MODE(AllocateMode::kPunchHole);
  const std::string content = Pattern(2 * kMiB + 500);
  for (size_t i = 0; i < std::size(kRanges); ++i) {
    const std::string name = "f" + std::to_string(i);
    Value(fs().WriteFile(name, content));
    EXPECT_OK(Open(name, O_RDWR)
                  ->Allocate(AllocateMode::kPunchHole, kRanges[i].offset, kRanges[i].length));
    std::string expected = content;
    const size_t length = std::min(kRanges[i].length, content.size() - kRanges[i].offset);
    expected.replace(kRanges[i].offset, length, length, '\0');
    EXPECT_TRUE(Content(name) == expected) << i;
  }
}

TEST_P(AllocateTest, PunchInAnExistingFile) {
  NEEDS_MODE(AllocateMode::kPunchHole);
  std::string expected = Pattern(kMiB + 500);
  Value(setup().WriteFile("f", expected));
  auto file = Open("f", O_RDWR);
  for (const Range& range : {Range{65530, 10}, Range{200000, 300000}, Range{kMiB, 10000}}) {
    EXPECT_OK(file->Allocate(AllocateMode::kPunchHole, range.offset, range.length));
    const size_t length = std::min(range.length, expected.size() - range.offset);
    expected.replace(range.offset, length, length, '\0');
    EXPECT_TRUE(Content("f") == expected) << range.offset;
  }
  // What is written into a hole is there again, its surroundings are not.
  Value(file->Write(300000, "in the hole"));
  expected.replace(300000, 11, "in the hole");
  EXPECT_TRUE(Content("f") == expected);
}

TEST_P(AllocateTest, PunchPastTheEndChangesNothing) {
  NEEDS_MODE(AllocateMode::kPunchHole);
  Value(setup().WriteFile("f", "abc"));
  EXPECT_OK(Open("f", O_RDWR)->Allocate(AllocateMode::kPunchHole, 100, 100));
  EXPECT_EQ(Content("f"), "abc");
}

TEST_P(AllocateTest, ZeroRangeZeroesAndGrows) {
  NEEDS_MODE(AllocateMode::kZeroRange);
  const std::string content = Pattern(kMiB + 77);
  Value(setup().WriteFile("f", content));
  Value(setup().WriteFile("g", content));
  EXPECT_OK(Open("f", O_RDWR)->Allocate(AllocateMode::kZeroRange, 1000, 2 * kMiB));
  std::string expected = content.substr(0, 1000);
  expected.resize(1000 + 2 * kMiB, '\0');
  EXPECT_TRUE(Content("f") == expected);
  EXPECT_OK(Open("g", O_RDWR)->Allocate(AllocateMode::kZeroRangeKeepSize, 1000, 2 * kMiB));
  expected.resize(content.size());
  EXPECT_TRUE(Content("g") == expected);
}

TEST_P(AllocateTest, BadArguments) {
  Value(setup().WriteFile("f", "abc"));
  EXPECT_ERRNO(Open("f", O_RDONLY)->Allocate(AllocateMode::kAllocate, 0, 10), EBADF);
  auto file = Open("f", O_RDWR);
  EXPECT_ERRNO(file->Allocate(AllocateMode::kAllocate, 0, 0), EINVAL);
  EXPECT_ERRNO(file->Allocate(AllocateMode::kAllocate, UINT64_MAX, 10), EINVAL);
  EXPECT_ERRNO(file->Allocate(AllocateMode::kAllocate, INT64_MAX, 10), EFBIG);
  EXPECT_EQ(Content("f"), "abc");
}

TEST_P(AllocateTest, TouchesTheFile) {
  NEEDS_MODE(AllocateMode::kPunchHole);
  Value(setup().WriteFile("f", Pattern(10000)));
  Value(setup().WriteFile("g", Pattern(10000)));
  const Attr f = Stat("f");
  const Attr g = Stat("g");
  Tick();
  EXPECT_OK(Open("f", O_RDWR)->Allocate(AllocateMode::kPunchHole, 0, 5000));
  ExpectTouched(f, Stat("f"), kBoth, "f");
  EXPECT_OK(Open("g", O_RDWR)->Allocate(AllocateMode::kAllocate, 0, 20000));
  ExpectTouched(g, Stat("g"), kBoth, "g");
}

TEST_P(AllocateTest, ByOthersThanRootClearsSetuid) {
  NEEDS_OTHERS();
  NEEDS_MODE(AllocateMode::kPunchHole);
  Value(fs().WriteFile("f", "xyz"));
  Value(fs().Chmod("f", 06777));
  As as(fs(), kAlice);
  EXPECT_OK(Open("f", O_RDWR)->Allocate(AllocateMode::kPunchHole, 0, 2));
  EXPECT_EQ(Mode("f"), 0777u);
}

TEST_P(AllocateTest, PunchingFreesSpace) {
  NEEDS_MODE(AllocateMode::kPunchHole);
  auto file = Open("f", O_RDWR | O_CREAT);
  Value(file->Write(0, Pattern(8 * kMiB)));
  Value(file->Sync());
  EXPECT_OK(file->Allocate(AllocateMode::kPunchHole, 0, 7 * kMiB));
  Value(file->Sync());
  EXPECT_LE(Stat("f").blocks * 512, 3 * kMiB);
  EXPECT_EQ(Stat("f").size, 8 * kMiB);
}

}  // namespace
}  // namespace agentfs::posix
