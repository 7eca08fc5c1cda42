// SPDX-License-Identifier: Apache-2.0
#include "posix_test.h"

namespace agentfs::posix {
namespace {

class SeekTest : public PosixTest {
 protected:
  // Walks data and holes and checks that together they cover the file, and that every hole reads
  // as zeros. Returns the bytes that were said to be holes.
  uint64_t CheckCover(OpenFile& file) {
    const uint64_t size = Value(file.Stat()).size;
    uint64_t at = 0, holes = 0;
    while (at < size) {
      const auto data = file.Seek(at, SeekTarget::kData);
      const uint64_t hole_end = data.ok() ? *data : size;
      if (!data.ok()) {
        EXPECT_ERRNO(data, ENXIO);
      }
      EXPECT_GE(hole_end, at);
      EXPECT_LE(hole_end, size);
      const std::string zeros = Value(file.Read(at, hole_end - at));
      EXPECT_EQ(zeros.find_first_not_of('\0'), std::string::npos);
      holes += hole_end - at;
      if (hole_end >= size) break;
      at = Value(file.Seek(hole_end, SeekTarget::kHole));
      EXPECT_GT(at, hole_end);
      EXPECT_LE(at, size);
      if (at <= hole_end) break;
    }
    return holes;
  }
};
AGENTFS_FOR_ALL_SUBJECTS(SeekTest);

TEST_P(SeekTest, AFileOfDataEndsWithAHole) {
  Value(setup().WriteFile("f", Pattern(100000)));
  auto file = Open("f", O_RDONLY);
  EXPECT_EQ(Value(file->Seek(0, SeekTarget::kData)), 0u);
  EXPECT_EQ(Value(file->Seek(77777, SeekTarget::kData)), 77777u);
  EXPECT_EQ(Value(file->Seek(0, SeekTarget::kHole)), 100000u);
  EXPECT_EQ(Value(file->Seek(99999, SeekTarget::kHole)), 100000u);
}

TEST_P(SeekTest, PastTheEndIsENXIO) {
  Value(setup().WriteFile("f", "abc"));
  Value(setup().WriteFile("empty", ""));
  auto file = Open("f", O_RDONLY);
  EXPECT_ERRNO(file->Seek(3, SeekTarget::kData), ENXIO);
  EXPECT_ERRNO(file->Seek(3, SeekTarget::kHole), ENXIO);
  EXPECT_ERRNO(file->Seek(1000000, SeekTarget::kHole), ENXIO);
  auto empty = Open("empty", O_RDONLY);
  EXPECT_ERRNO(empty->Seek(0, SeekTarget::kData), ENXIO);
  EXPECT_ERRNO(empty->Seek(0, SeekTarget::kHole), ENXIO);
}

TEST_P(SeekTest, AFileOfNothingHasNoData) {
  auto made = Value(setup().Open("f", O_RDWR | O_CREAT));
  Value(made->Truncate(10 * kMiB));
  made.reset();
  auto file = Open("f", O_RDONLY);
  EXPECT_ERRNO(file->Seek(0, SeekTarget::kData), ENXIO);
  EXPECT_ERRNO(file->Seek(5 * kMiB, SeekTarget::kData), ENXIO);
  EXPECT_EQ(Value(file->Seek(0, SeekTarget::kHole)), 0u);
  EXPECT_EQ(Value(file->Seek(12345, SeekTarget::kHole)), 12345u);
}

TEST_P(SeekTest, IslandsOfDataAreFound) {
  auto made = Value(setup().Open("f", O_RDWR | O_CREAT));
  for (uint64_t at : {3 * kMiB + 5, 9 * kMiB, 15 * kMiB + 70000}) {
    Value(made->Write(at, Pattern(5000)));
  }
  Value(made->Truncate(20 * kMiB));
  made.reset();
  auto file = Open("f", O_RDWR);
  EXPECT_GE(CheckCover(*file), 16 * kMiB) << "the holes are not found";
  // And those that are made later.
  Value(file->Write(18 * kMiB, Pattern(10)));
  EXPECT_GE(CheckCover(*file), 15 * kMiB);
  EXPECT_LE(Value(file->Seek(17 * kMiB, SeekTarget::kData)), 18 * kMiB);
}

TEST_P(SeekTest, PunchedHolesAreFound) {
  Value(setup().WriteFile("f", Pattern(8 * kMiB)));
  auto file = Open("f", O_RDWR);
  const auto punched = file->Allocate(AllocateMode::kPunchHole, 2 * kMiB + 1, 3 * kMiB);
  if (native() && punched.code() == EOPNOTSUPP) GTEST_SKIP() << "no holes in this filesystem";
  EXPECT_OK(punched);
  EXPECT_GE(CheckCover(*file), kMiB);
  EXPECT_EQ(Value(file->Seek(0, SeekTarget::kData)), 0u);
}

TEST_P(SeekTest, GrowingMakesAHole) {
  Value(setup().WriteFile("f", Pattern(1000)));
  auto file = Open("f", O_RDWR);
  Value(file->Truncate(10 * kMiB));
  EXPECT_GE(CheckCover(*file), 8 * kMiB);
  EXPECT_ERRNO(file->Seek(5 * kMiB, SeekTarget::kData), ENXIO);
}

}  // namespace
}  // namespace agentfs::posix
