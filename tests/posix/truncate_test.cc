// SPDX-License-Identifier: Apache-2.0
#include "posix_test.h"

namespace agentfs::posix {
namespace {

class TruncateTest : public PosixTest {};
AGENTFS_FOR_ALL_SUBJECTS(TruncateTest);

TEST_P(TruncateTest, ShrinksToAllSizes) {
  const std::string content = Pattern(2 * kMiB + 7);
  Value(setup().WriteFile("f", content));
  for (size_t size : {2 * kMiB + 6, kMiB + 1, kMiB, kMiB - 1, 65537ul, 65536ul, 65535ul, 4097ul,
                      4096ul, 4095ul, 1ul, 0ul}) {
    EXPECT_OK(fs().Truncate("f", size));
    EXPECT_EQ(Stat("f").size, size);
    EXPECT_TRUE(Content("f") == content.substr(0, size)) << size;
  }
}

TEST_P(TruncateTest, GrowsWithZeros) {
  Value(setup().WriteFile("f", "abc"));
  for (size_t size : {4ul, 4096ul, 4097ul, 65536ul, 65537ul, kMiB, 3 * kMiB}) {
    EXPECT_OK(fs().Truncate("f", size));
    std::string expected = "abc";
    expected.resize(size, '\0');
    EXPECT_TRUE(Content("f") == expected) << size;
  }
}

TEST_P(TruncateTest, WhatWasCutOffDoesNotComeBack) {
  const std::string content = Pattern(2 * kMiB);
  for (size_t size : {0ul, 1ul, 4096ul, 5000ul, 65536ul, 65537ul, kMiB + 3}) {
    Value(setup().WriteFile("f" + std::to_string(size), content));
  }
  for (size_t size : {0ul, 1ul, 4096ul, 5000ul, 65536ul, 65537ul, kMiB + 3}) {
    const std::string name = "f" + std::to_string(size);
    auto file = Open(name, O_RDWR);
    EXPECT_OK(file->Truncate(size));
    EXPECT_OK(file->Truncate(content.size()));
    std::string expected = content.substr(0, size);
    expected.resize(content.size(), '\0');
    EXPECT_TRUE(Content(name) == expected) << size;
    // Nor after a write past the end.
    EXPECT_OK(file->Truncate(size));
    Value(file->Write(content.size() - 1, "Z"));
    expected.back() = 'Z';
    EXPECT_TRUE(Content(name) == expected) << size;
  }
}

TEST_P(TruncateTest, FollowsLinks) {
  Value(setup().WriteFile("f", "abc"));
  Value(setup().MakeSymlink("f", "l"));
  EXPECT_OK(fs().Truncate("l", 1));
  EXPECT_EQ(Content("f"), "a");
}

TEST_P(TruncateTest, OnlyRegularFiles) {
  Value(setup().MakeDirectory("d"));
  Value(setup().MakeNode("p", S_IFIFO | 0666, 0));
  EXPECT_ERRNO(fs().Truncate("d", 0), EISDIR);
  EXPECT_ERRNO(fs().Truncate("p", 0), EINVAL);
  EXPECT_ERRNO(fs().Truncate("missing", 0), ENOENT);
}

TEST_P(TruncateTest, NeedsAHandleForWriting) {
  Value(setup().WriteFile("f", "abc"));
  EXPECT_ERRNO(Open("f", O_RDONLY)->Truncate(1), EINVAL);
  EXPECT_ERRNO(Open("f", O_RDWR)->Truncate(UINT64_MAX), EINVAL);
  EXPECT_EQ(Content("f"), "abc");
}

TEST_P(TruncateTest, TooLargeIsEFBIG) {
  const uint64_t limit = MaxFileSize();
  auto file = Open("f", O_RDWR | O_CREAT);
  EXPECT_OK(file->Truncate(limit));
  EXPECT_EQ(Stat("f").size, limit);
  if (limit < INT64_MAX) {
    EXPECT_ERRNO(file->Truncate(limit + 1), EFBIG);
    EXPECT_EQ(Stat("f").size, limit);
  }
  EXPECT_OK(file->Truncate(3));
  EXPECT_EQ(Content("f"), std::string(3, '\0'));
}

TEST_P(TruncateTest, NeedsWritePermission) {
  NEEDS_OTHERS();
  Value(setup().WriteFile("f", "abc", 0644));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().Truncate("f", 1), EACCES);
  EXPECT_EQ(Content("f"), "abc");
}

TEST_P(TruncateTest, ChangingTheSizeTouchesTheFileOnly) {
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/f", "abc"));
  for (uint64_t size : {1, 10, 0}) {
    const Attr directory = Stat("d");
    const Attr file = Stat("d/f");
    Tick();
    EXPECT_OK(fs().Truncate("d/f", size));
    ExpectTouched(directory, Stat("d"), kNothing, "d");
    ExpectTouched(file, Stat("d/f"), kBoth, "d/f");
  }
}

TEST_P(TruncateTest, ByOthersThanRootClearsSetuid) {
  NEEDS_OTHERS();
  for (const char* name : {"by-alice", "by-root", "opened"}) {
    Value(setup().WriteFile(name, "xyz"));
    Value(setup().Chmod(name, 06777));
  }
  {
    As as(fs(), kAlice);
    EXPECT_OK(fs().Truncate("by-alice", 1));
    Open("opened", O_RDWR | O_TRUNC);
  }
  EXPECT_OK(fs().Truncate("by-root", 1));
  EXPECT_EQ(Mode("by-alice"), 0777u);
  EXPECT_EQ(Mode("by-root"), 06777u);
  EXPECT_EQ(Mode("opened"), 0777u);
}

}  // namespace
}  // namespace agentfs::posix
