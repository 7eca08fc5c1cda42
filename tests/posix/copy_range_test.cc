// SPDX-License-Identifier: Apache-2.0
#include "posix_test.h"

namespace agentfs::posix {
namespace {

class CopyRangeTest : public PosixTest {
 protected:
  // Copies all of a range, however many calls that takes; returns the bytes copied.
  uint64_t CopyAll(OpenFile& from, uint64_t offset, OpenFile& to, uint64_t target,
                   uint64_t length) {
    uint64_t done = 0;
    while (done < length) {
      const uint64_t count = Value(from.CopyTo(offset + done, to, target + done, length - done));
      if (count == 0) break;
      done += count;
    }
    return done;
  }
};
AGENTFS_FOR_ALL_SUBJECTS(CopyRangeTest);

TEST_P(CopyRangeTest, CopiesBetweenFiles) {
  const std::string source = Pattern(2 * kMiB + 300, 1);
  Value(setup().WriteFile("source", source));
  const struct {
    size_t from, to, length;
  } cases[] = {{0, 0, 100},           {0, 0, 2 * kMiB + 300}, {1, 4095, 70000},
               {65536, 65536, 65536}, {65536, 0, 131072},     {4096, 8192, kMiB},
               {kMiB - 1, 3, kMiB},   {7, kMiB, kMiB}};
  for (const auto& c : cases) {
    std::string expected = Pattern(100000, 2);
    Value(fs().WriteFile("target", expected));
    auto from = Open("source", O_RDONLY);
    auto to = Open("target", O_RDWR);
    EXPECT_EQ(CopyAll(*from, c.from, *to, c.to, c.length), c.length);
    if (expected.size() < c.to + c.length) expected.resize(c.to + c.length, '\0');
    expected.replace(c.to, c.length, source, c.from, c.length);
    EXPECT_TRUE(Content("target") == expected) << c.from << " " << c.to << " " << c.length;
  }
  EXPECT_TRUE(Content("source") == source);
}

TEST_P(CopyRangeTest, EndsAtTheEndOfTheSource) {
  Value(setup().WriteFile("source", "abcdef"));
  Value(setup().WriteFile("target", ""));
  auto from = Open("source", O_RDONLY);
  auto to = Open("target", O_RDWR);
  EXPECT_EQ(Value(from->CopyTo(4, *to, 0, 100)), 2u);
  EXPECT_EQ(Value(from->CopyTo(6, *to, 0, 100)), 0u);
  EXPECT_EQ(Value(from->CopyTo(1000, *to, 0, 100)), 0u);
  EXPECT_EQ(Value(from->CopyTo(0, *to, 0, 0)), 0u);
  EXPECT_EQ(Content("target"), "ef");
}

TEST_P(CopyRangeTest, WithinAFile) {
  std::string content = Pattern(300000);
  Value(setup().WriteFile("f", content));
  auto file = Open("f", O_RDWR);
  auto again = Open("f", O_RDWR);
  EXPECT_EQ(CopyAll(*file, 0, *again, 150000, 150000), 150000u);
  content.replace(150000, 150000, content, 0, 150000);
  EXPECT_TRUE(Content("f") == content);
  EXPECT_ERRNO(file->CopyTo(0, *again, 100, 200), EINVAL);
  EXPECT_ERRNO(file->CopyTo(100, *again, 0, 200), EINVAL);
  EXPECT_ERRNO(file->CopyTo(0, *again, 0, 1), EINVAL);
  EXPECT_TRUE(Content("f") == content);
}

TEST_P(CopyRangeTest, TheCopyIsIndependent) {
  const std::string content = Pattern(200000);
  Value(setup().WriteFile("source", content));
  Value(fs().WriteFile("target", ""));
  auto from = Open("source", O_RDWR);
  auto to = Open("target", O_RDWR);
  EXPECT_EQ(CopyAll(*from, 0, *to, 0, 200000), 200000u);
  Value(from->Write(70000, "changed in the source"));
  EXPECT_TRUE(Content("target") == content);
  Value(to->Write(10, "changed in the target"));
  std::string expected = content;
  expected.replace(70000, 21, "changed in the source");
  EXPECT_TRUE(Content("source") == expected);
}

TEST_P(CopyRangeTest, HolesAreCopiedAsZeros) {
  auto made = Value(setup().Open("source", O_RDWR | O_CREAT));
  Value(made->Write(2 * kMiB, "island"));
  Value(made->Truncate(4 * kMiB));
  made.reset();
  Value(setup().WriteFile("target", Pattern(4 * kMiB)));
  auto from = Open("source", O_RDONLY);
  auto to = Open("target", O_RDWR);
  EXPECT_EQ(CopyAll(*from, 0, *to, 0, 4 * kMiB), 4 * kMiB);
  EXPECT_TRUE(Content("target") == Content("source"));
}

TEST_P(CopyRangeTest, BadHandles) {
  Value(setup().WriteFile("f", "abc"));
  Value(setup().WriteFile("g", "abc"));
  Value(setup().MakeDirectory("d"));
  auto readable = Open("f", O_RDONLY);
  auto unreadable = Open("f", O_WRONLY);
  auto writable = Open("g", O_RDWR);
  auto appending = Open("g", O_RDWR | O_APPEND);
  auto directory = Open("d", O_RDONLY);
  EXPECT_ERRNO(unreadable->CopyTo(0, *writable, 0, 1), EBADF);
  EXPECT_ERRNO(readable->CopyTo(0, *readable, 10, 1), EBADF);
  EXPECT_ERRNO(readable->CopyTo(0, *appending, 0, 1), EBADF);
  EXPECT_ERRNO(directory->CopyTo(0, *writable, 0, 1), EISDIR);
  EXPECT_EQ(Content("g"), "abc");
}

TEST_P(CopyRangeTest, TouchesTheTargetOnly) {
  Value(setup().WriteFile("f", "abc"));
  Value(setup().WriteFile("g", "def"));
  const Attr f = Stat("f");
  const Attr g = Stat("g");
  Tick();
  auto from = Open("f", O_RDONLY);
  auto to = Open("g", O_RDWR);
  EXPECT_EQ(Value(from->CopyTo(0, *to, 0, 3)), 3u);
  ExpectTouched(f, Stat("f"), kNothing, "f");
  ExpectTouched(g, Stat("g"), kBoth, "g");
}

TEST_P(CopyRangeTest, ByOthersThanRootClearsSetuid) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("f", "abc"));
  Value(setup().WriteFile("g", "def"));
  Value(setup().Chmod("g", 06777));
  As as(fs(), kAlice);
  auto from = Open("f", O_RDONLY);
  auto to = Open("g", O_RDWR);
  EXPECT_EQ(Value(from->CopyTo(0, *to, 0, 3)), 3u);
  EXPECT_EQ(Mode("g"), 0777u);
}

}  // namespace
}  // namespace agentfs::posix
