// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "posix_test.h"

namespace agentfs::posix {
namespace {

constexpr size_t kKiB = 1024;

// Around the sizes at which content changes its form.
const std::vector<size_t>& Boundaries() {
  static const std::vector<size_t> sizes = {0,
                                            1,
                                            4095,
                                            4096,
                                            4097,
                                            8192,
                                            64 * kKiB - 1,
                                            64 * kKiB,
                                            64 * kKiB + 1,
                                            128 * kKiB,
                                            kMiB - 1,
                                            kMiB,
                                            kMiB + 1,
                                            2 * kMiB + 1};
  return sizes;
}

class ReadWriteTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(ReadWriteTest);

TEST_P(ReadWriteTest, ContentOfAllSizes) {
  for (size_t size : Boundaries()) {
    Value(setup().WriteFile("f" + std::to_string(size), Pattern(size)));
  }
  for (size_t size : Boundaries()) {
    const std::string name = "f" + std::to_string(size);
    EXPECT_EQ(Stat(name).size, size);
    EXPECT_TRUE(Content(name) == Pattern(size)) << size;
  }
}

TEST_P(ReadWriteTest, ReadsEndAtTheEnd) {
  Value(setup().WriteFile("f", "abcdef"));
  auto file = Open("f", O_RDONLY);
  EXPECT_EQ(Value(file->Read(4, 10)), "ef");
  EXPECT_EQ(Value(file->Read(6, 10)), "");
  EXPECT_EQ(Value(file->Read(1000, 10)), "");
  EXPECT_EQ(Value(file->Read(0, 0)), "");
  EXPECT_EQ(Value(file->Read(uint64_t{1} << 50, 10)), "");
}

TEST_P(ReadWriteTest, OneByteAtEachBoundary) {
  const std::string original = Pattern(2 * kMiB + 100);
  Value(setup().WriteFile("f", original));
  std::string expected = original;
  auto file = Open("f", O_RDWR);
  for (size_t at : Boundaries()) {
    expected[at] = '!';
    EXPECT_EQ(Value(file->Write(at, "!")), 1u);
    EXPECT_TRUE(Value(file->Read(0, 3 * kMiB)) == expected) << at;
  }
  EXPECT_TRUE(Content("f") == expected);
}

TEST_P(ReadWriteTest, WritesAcrossBoundaries) {
  std::string expected = Pattern(kMiB + 3 * kKiB, 7);
  Value(setup().WriteFile("f", expected));
  auto file = Open("f", O_RDWR);
  uint32_t seed = 100;
  for (size_t boundary : {4 * kKiB, 64 * kKiB, 128 * kKiB, kMiB}) {
    for (size_t before : {1ul, 10ul, 4096ul}) {
      const std::string piece = Pattern(before + 5, ++seed);
      Value(file->Write(boundary - before, piece));
      expected.replace(boundary - before, piece.size(), piece);
    }
  }
  EXPECT_TRUE(Content("f") == expected);
}

TEST_P(ReadWriteTest, WritingPastTheEndLeavesZeros) {
  Value(setup().WriteFile("f", "abc"));
  for (size_t at : {10ul, 5000ul, 70000ul, 3 * kMiB}) {
    auto file = Open("f", O_RDWR);
    const std::string before = Value(file->Read(0, 4 * kMiB));
    Value(file->Write(at, "X"));
    std::string expected = before;
    expected.resize(at, '\0');
    expected += 'X';
    EXPECT_TRUE(Content("f") == expected) << at;
    EXPECT_EQ(Stat("f").size, at + 1);
  }
}

TEST_P(ReadWriteTest, AppendGoesToTheEnd) {
  Value(setup().WriteFile("f", Pattern(65530)));
  auto file = Open("f", O_WRONLY | O_APPEND);
  auto other = Open("f", O_WRONLY | O_APPEND);
  EXPECT_EQ(Value(file->Append("0123456789")), 65530u);
  EXPECT_EQ(Value(other->Append("abc")), 65540u);
  EXPECT_EQ(Value(file->Append("d")), 65543u);
  EXPECT_TRUE(Content("f") == Pattern(65530) + "0123456789abcd");
}

TEST_P(ReadWriteTest, HandlesShareTheFile) {
  Value(setup().WriteFile("f", "old content"));
  auto reader = Open("f", O_RDONLY);
  auto writer = Open("f", O_WRONLY);
  Value(writer->Write(0, "new"));
  EXPECT_EQ(Value(reader->Read(0, 20)), "new content");
  Value(writer->Truncate(3));
  EXPECT_EQ(Value(reader->Read(0, 20)), "new");
}

TEST_P(ReadWriteTest, AccessModesAreKept) {
  Value(setup().WriteFile("f", "x"));
  Value(setup().MakeDirectory("d"));
  EXPECT_ERRNO(Open("f", O_WRONLY)->Read(0, 1), EBADF);
  EXPECT_ERRNO(Open("f", O_RDONLY)->Write(0, "y"), EBADF);
  EXPECT_ERRNO(Open("d", O_RDONLY)->Read(0, 1), EISDIR);
}

TEST_P(ReadWriteTest, NegativeOffsetsAreInvalid) {
  Value(setup().WriteFile("f", "x"));
  auto file = Open("f", O_RDWR);
  EXPECT_ERRNO(file->Read(UINT64_MAX, 1), EINVAL);
  EXPECT_ERRNO(file->Write(UINT64_MAX, "y"), EINVAL);
  EXPECT_ERRNO(file->Write(INT64_MAX, "y"), EINVAL);
  EXPECT_EQ(Content("f"), "x");
}

TEST_P(ReadWriteTest, FilesEndAtTheLargestSize) {
  if (bulk()) GTEST_SKIP() << "writes of the kernel itself end where the host's files do";
  const uint64_t limit = MaxFileSize();
  ASSERT_GE(limit, uint64_t{1} << 40);
  auto file = Open("f", O_RDWR | O_CREAT);
  const auto last = file->Write(limit - 1, "x");
  if (!native() && !last.ok()) {
    // Large content is in host files, which may end earlier.
    EXPECT_ERRNO(last, EFBIG);
    EXPECT_EQ(Stat("f").size, 0u);
    return;
  }
  EXPECT_EQ(Value(last), 1u);
  EXPECT_EQ(Stat("f").size, limit);
  EXPECT_EQ(Value(file->Read(limit - 3, 3)), std::string("\0\0x", 3));
  EXPECT_EQ(Value(file->Read(0, 4)), std::string(4, '\0'));
  const auto past = file->Write(limit, "x");
  EXPECT_TRUE(past.code() == EFBIG || (limit == INT64_MAX && past.code() == EINVAL))
      << ErrnoName(past.code());
  if (limit < INT64_MAX) {
    EXPECT_EQ(Value(file->Write(limit - 1, "ab")), 1u);
    EXPECT_EQ(Value(file->Read(limit - 1, 10)), "a");
  }
  EXPECT_EQ(Stat("f").size, limit);
}

TEST_P(ReadWriteTest, AViewHoldsFilesOf8EiB) {
  if (native()) GTEST_SKIP() << "the limit of the native filesystem may be lower";
  if (bulk()) GTEST_SKIP() << "what the kernel writes itself ends at 8 TiB";
  EXPECT_EQ(MaxFileSize(), static_cast<uint64_t>(INT64_MAX));
}

TEST_P(ReadWriteTest, EmptyWriteChangesNothing) {
  Value(setup().WriteFile("f", "x"));
  const Attr before = Stat("f");
  Tick();
  auto file = Open("f", O_RDWR);
  EXPECT_EQ(Value(file->Write(100, "")), 0u);
  const Attr after = Stat("f");
  EXPECT_EQ(after.size, 1u);
  ExpectTouched(before, after, kNothing, "f");
}

TEST_P(ReadWriteTest, WritingTouchesTheFileOnly) {
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/f", "x"));
  const Attr directory = Stat("d");
  const Attr file = Stat("d/f");
  Tick();
  Value(Open("d/f", O_RDWR)->Write(0, "y"));
  ExpectTouched(directory, Stat("d"), kNothing, "d");
  ExpectTouched(file, Stat("d/f"), kBoth, "d/f");
}

TEST_P(ReadWriteTest, ReadingTouchesTheAccessTimeOnceAndDailyOnly) {
  if (!fs().keeps_atime()) GTEST_SKIP() << "the directory is not mounted with relatime";
  auto file = Open("f", O_RDWR | O_CREAT);
  Value(file->Write(0, "x"));
  const auto set = [&](int64_t atime, int64_t mtime) {
    Value(fs().SetTimes("f", TimeChange::Set(atime), TimeChange::Set(mtime)));
  };
  const auto read = [&] {
    Value(file->Read(0, 1));
    return Stat("f").atime.sec;
  };
  // Older than the modification: updated.
  set(1'000'000, 2'000'000);
  const int64_t now = read();
  EXPECT_GT(now, 2'000'000);
  // Later than modification and change, and of this day: not updated.
  set(now + 1000, 2'000'000);
  EXPECT_EQ(read(), now + 1000);
  // More than a day ago: updated.
  set(now - 2 * 86400, now - 3 * 86400);
  EXPECT_GE(read(), now);
}

TEST_P(ReadWriteTest, ListingsAndLinksReadTouchTheAccessTimeToo) {
  if (!fs().keeps_atime()) GTEST_SKIP() << "the directory is not mounted with relatime";
  Value(fs().MakeDirectory("d"));
  Value(fs().MakeSymlink("target", "l"));
  for (const char* name : {"d", "l"}) {
    Value(fs().SetTimes(name, TimeChange::Set(1'000'000), TimeChange::Set(2'000'000)));
  }
  EXPECT_TRUE(Names("d").empty());
  EXPECT_EQ(Value(fs().ReadLink("l")), "target");
  for (const char* name : {"d", "l"}) {
    const Attr attr = Stat(name);
    EXPECT_GT(attr.atime.sec, 2'000'000) << name;
    EXPECT_EQ(attr.mtime.sec, 2'000'000) << name;
  }
}

TEST_P(ReadWriteTest, ReadingLeavesMtimeAndCtime) {
  Value(setup().WriteFile("f", "x"));
  const Attr before = Stat("f");
  Tick();
  EXPECT_EQ(Content("f"), "x");
  ExpectTouched(before, Stat("f"), kNothing, "f");
}

TEST_P(ReadWriteTest, AnUnlinkedFileLivesWhileOpen) {
  Value(setup().WriteFile("f", Pattern(100000)));
  auto file = Open("f", O_RDWR);
  const uint64_t node = Value(file->Stat()).node.value;
  Value(fs().Unlink("f"));
  EXPECT_EQ(Value(file->Stat()).nlink, 0u);
  EXPECT_TRUE(Value(file->Read(0, 200000)) == Pattern(100000));
  Value(file->Write(99999, "tail"));
  EXPECT_EQ(Value(file->Read(99999, 10)), "tail");
  Value(file->Truncate(5));
  EXPECT_EQ(Value(file->Stat()).size, 5u);
  Value(file->Chmod(0600));
  EXPECT_EQ(Value(file->Stat()).mode & 07777, 0600u);
  // The name is free for another file.
  Value(fs().WriteFile("f", "new"));
  EXPECT_NE(Stat("f").node.value, node);
  EXPECT_EQ(Value(file->Stat()).size, 5u);
  EXPECT_ERRNO(fs().LinkOpen(*file, "again"), ENOENT);
}

TEST_P(ReadWriteTest, AReplacedFileLivesWhileOpen) {
  Value(setup().WriteFile("f", "old"));
  Value(setup().WriteFile("g", "new"));
  auto file = Open("f", O_RDONLY);
  Value(fs().Rename("g", "f"));
  EXPECT_EQ(Value(file->Read(0, 10)), "old");
  EXPECT_EQ(Content("f"), "new");
}

TEST_P(ReadWriteTest, WritingByOthersThanRootClearsSetuid) {
  NEEDS_OTHERS();
  for (const char* name : {"by-alice", "by-root", "empty"}) {
    Value(setup().WriteFile(name, "x"));
    Value(setup().Chmod(name, 06777));
  }
  {
    As as(fs(), kAlice);
    Value(Open("by-alice", O_RDWR)->Write(0, "y"));
    Value(Open("empty", O_RDWR)->Write(0, ""));
  }
  Value(Open("by-root", O_RDWR)->Write(0, "y"));
  EXPECT_EQ(Mode("by-alice"), 0777u);
  EXPECT_EQ(Mode("by-root"), 06777u);
  EXPECT_EQ(Mode("empty"), 06777u);
}

TEST_P(ReadWriteTest, SetgidWithoutGroupExecuteIsKeptForMembers) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("f", "x"));
  Value(setup().Chown("f", 0, kTeam));
  Value(setup().Chmod("f", 02666));
  As as(fs(), kAliceInTeam);
  Value(Open("f", O_RDWR)->Write(0, "y"));
  EXPECT_EQ(Mode("f"), 02666u);
}

TEST_P(ReadWriteTest, ManySmallWrites) {
  std::string expected = Pattern(200000);
  Value(setup().WriteFile("f", expected));
  auto file = Open("f", O_RDWR);
  uint32_t state = 42;
  for (int i = 0; i < 300; ++i) {
    state = state * 1664525u + 1013904223u;
    const size_t at = state % 250000;
    const std::string piece = Pattern(1 + state % 700, state);
    Value(file->Write(at, piece));
    if (expected.size() < at + piece.size()) expected.resize(at + piece.size(), '\0');
    expected.replace(at, piece.size(), piece);
  }
  EXPECT_TRUE(Content("f") == expected);
}

TEST_P(ReadWriteTest, BlocksFollowTheContent) {
  auto file = Open("f", O_RDWR | O_CREAT);
  Value(file->Truncate(64 * kMiB));
  EXPECT_LT(Stat("f").blocks * 512, kMiB) << "a hole takes no space";
  Value(file->Write(0, Pattern(2 * kMiB)));
  Value(file->Sync());
  EXPECT_GE(Stat("f").blocks * 512, 2 * kMiB);
  EXPECT_LT(Stat("f").blocks * 512, 8 * kMiB);
}

TEST_P(ReadWriteTest, WhatIsOverwrittenIsNotCountedTwice) {
  Value(setup().WriteFile("f", Pattern(300'000)));
  Value(Open("f", O_RDWR)->Write(0, Pattern(200'000, 2)));
  Value(Open("f", O_RDWR)->Sync());
  EXPECT_GE(Stat("f").blocks * 512, 300'000u);
  EXPECT_LE(Stat("f").blocks * 512, 320'000u);
}

}  // namespace
}  // namespace agentfs::posix
