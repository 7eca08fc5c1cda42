// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include "base/utf8.h"
#include "fake_fs.h"
#include "files_fixture.h"

namespace agentfs::testing {
namespace {

using ::testing::ElementsAre;

TEST(Utf8Test, TellsWellFormedFromOther) {
  for (std::string_view good :
       {std::string_view(""), std::string_view("a\0b", 3), std::string_view("\xc3\xa9"),
        std::string_view("\xe2\x82\xac"), std::string_view("\xf0\x9f\x98\x80"),
        std::string_view("\xf4\x8f\xbf\xbf"), std::string_view("\xed\x9f\xbf"),
        std::string_view("\xee\x80\x80")}) {
    EXPECT_TRUE(IsValidUtf8(good)) << good;
  }
  for (std::string_view bad : {"\x80", "\xc3", "\xc3(", "\xc0\xaf", "\xc1\xbf", "\xe0\x80\xaf",
                               "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
                               "\xf5\x80\x80\x80", "\xff", "\xe2\x82", "a\xf0\x9f\x98"}) {
    EXPECT_FALSE(IsValidUtf8(bad)) << bad;
  }
}

class ReadWriteTest : public FilesFixture {};

TEST_P(ReadWriteTest, BytesRoundTrip) {
  for (size_t size : {0, 1, 4095, 4096, 4097, 65536, 1'000'000}) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7);
    ASSERT_OK(files_.WriteBytes("/f", bytes));
    EXPECT_EQ(*files_.ReadBytes("/f"), bytes) << size;
  }
}

TEST_P(ReadWriteTest, OverwritingReplacesAll) {
  ASSERT_OK(files_.WriteBytes("/f", std::string(200'000, 'x')));
  NodeId id = files_.Resolve("/f")->node->id();
  ASSERT_OK(files_.CreateHardLink("/f", "/g"));
  ASSERT_OK(files_.WriteBytes("/f", "short"));
  EXPECT_EQ(*files_.ReadBytes("/g"), "short");
  EXPECT_EQ(files_.Resolve("/f")->node->id(), id);
  ASSERT_OK(files_.WriteBytes("/f", ""));
  EXPECT_EQ(*files_.ReadBytes("/f"), "");
}

TEST_P(ReadWriteTest, NewFilesTakeTheUmask) {
  Caller caller;
  caller.umask = 027;
  ASSERT_OK(Files(backend_.fs, caller).WriteBytes("/f", "x"));
  EXPECT_EQ(files_.Entry("/f")->attr.mode, uint32_t{S_IFREG | 0640});
}

TEST_P(ReadWriteTest, WritingDoesNotMakeDirectories) {
  EXPECT_EQ(files_.WriteBytes("/no/file", "x").code(), ENOENT);
  EXPECT_FALSE(files_.Exists("/no"));
}

TEST_P(ReadWriteTest, WritingThroughADanglingLinkMakesItsTarget) {
  ASSERT_OK(files_.CreateDirectory("/d"));
  ASSERT_OK(files_.CreateSymlink("/link", "d/new"));
  ASSERT_OK(files_.WriteBytes("/link", "x"));
  EXPECT_EQ(*files_.ReadBytes("/d/new"), "x");
  ASSERT_OK(files_.Append("/link", "y"));
  EXPECT_EQ(*files_.ReadBytes("/d/new"), "xy");
}

TEST_P(ReadWriteTest, WhatIsNoFileCannotBeReadOrWritten) {
  ASSERT_OK(files_.CreateDirectory("/d"));
  ASSERT_OK(backend_.fs->MakeNode({}, *backend_.fs->Root(), "fifo", S_IFIFO | 0644, 0));
  EXPECT_EQ(files_.ReadBytes("/d").code(), EISDIR);
  EXPECT_EQ(files_.WriteBytes("/d", "x").code(), EISDIR);
  EXPECT_EQ(files_.Append("/", "x").code(), EISDIR);
  EXPECT_EQ(files_.ReadBytes("/fifo").code(), EINVAL);
  EXPECT_EQ(files_.WriteBytes("/fifo", "x").code(), EINVAL);
  EXPECT_EQ(files_.OpenReader("/d").code(), EISDIR);
  EXPECT_EQ(files_.OpenWriter("/d").code(), EISDIR);
  EXPECT_EQ(files_.ReadBytes("/none").code(), ENOENT);
}

TEST_P(ReadWriteTest, TextMustBeUtf8) {
  ASSERT_OK(files_.WriteText("/t", "gr\xc3\xbc\xc3\x9f"));
  EXPECT_EQ(*files_.ReadText("/t"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(files_.WriteText("/t", "\xff").code(), EILSEQ);
  EXPECT_EQ(*files_.ReadText("/t"), "gr\xc3\xbc\xc3\x9f");
  ASSERT_OK(files_.WriteBytes("/t", "\xff"));
  EXPECT_EQ(files_.ReadText("/t").code(), EILSEQ);
}

TEST_P(ReadWriteTest, LinesEndInEitherWay) {
  ASSERT_OK(files_.WriteBytes("/l", "one\ntwo\r\n\nfour\rstill\nlast\r"));
  EXPECT_THAT(*files_.ReadLines("/l"), ElementsAre("one", "two", "", "four\rstill", "last\r"));
  ASSERT_OK(files_.WriteBytes("/l", ""));
  EXPECT_TRUE(files_.ReadLines("/l")->empty());
  ASSERT_OK(files_.WriteBytes("/l", "\n"));
  EXPECT_THAT(*files_.ReadLines("/l"), ElementsAre(""));
  ASSERT_OK(files_.WriteLines("/l", {"a", "", "b"}));
  EXPECT_EQ(*files_.ReadBytes("/l"), "a\n\nb\n");
}

TEST_P(ReadWriteTest, AppendAddsAtTheEnd) {
  ASSERT_OK(files_.Append("/a", "one"));
  ASSERT_OK(files_.Append("/a", ""));
  ASSERT_OK(files_.Append("/a", "two"));
  EXPECT_EQ(*files_.ReadBytes("/a"), "onetwo");
}

TEST_P(ReadWriteTest, PermissionsAreChecked) {
  ASSERT_OK(files_.WriteBytes("/secret", "x"));
  ASSERT_OK(files_.SetMode("/secret", 0600));
  ASSERT_OK(files_.WriteBytes("/public", "x"));
  Caller caller;
  caller.uid = caller.gid = 1000;
  Files other(backend_.fs, caller);
  EXPECT_EQ(other.ReadBytes("/secret").code(), EACCES);
  EXPECT_EQ(other.OpenReader("/secret").code(), EACCES);
  EXPECT_EQ(*other.ReadBytes("/public"), "x");
  EXPECT_EQ(other.WriteBytes("/public", "y").code(), EACCES);
  EXPECT_EQ(other.Append("/public", "y").code(), EACCES);
  EXPECT_EQ(other.OpenWriter("/public").code(), EACCES);
  EXPECT_EQ(other.WriteBytes("/new", "y").code(), EACCES);
  EXPECT_EQ(*files_.ReadBytes("/public"), "x");
}

TEST_P(ReadWriteTest, StopTokenCancels) {
  ASSERT_OK(files_.WriteBytes("/f", "x"));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(files_.ReadBytes("/f", stop.get_token()).code(), ECANCELED);
  EXPECT_EQ(files_.ReadText("/f", stop.get_token()).code(), ECANCELED);
  EXPECT_EQ(files_.ReadLines("/f", stop.get_token()).code(), ECANCELED);
  EXPECT_EQ(files_.WriteBytes("/f", "y", stop.get_token()).code(), ECANCELED);
  EXPECT_EQ(files_.Append("/f", "y", stop.get_token()).code(), ECANCELED);
  EXPECT_EQ(*files_.ReadBytes("/f"), "x");
}

TEST_P(ReadWriteTest, AsyncRunsAndCancels) {
  auto written = Async({}, [&] { return files_.WriteBytes("/f", "async"); });
  EXPECT_OK(written.get());
  auto read = Async({}, [&] { return files_.ReadBytes("/f"); });
  EXPECT_EQ(*read.get(), "async");
  std::stop_source stop;
  stop.request_stop();
  auto cancelled = Async(stop.get_token(), [&] { return files_.Delete("/f"); });
  EXPECT_EQ(cancelled.get().code(), ECANCELED);
  EXPECT_TRUE(files_.Exists("/f"));
}

AGENTFS_FILES_SUITE(ReadWriteTest);

TEST(WriteLimitTest, LimitLeavesTheOldContentAndNoNewFile) {
  auto fs = std::make_shared<FakeFs>();
  Files files(fs);
  ASSERT_OK(files.WriteBytes("/f", "old content"));
  fs->set_max_bytes(8192);
  EXPECT_EQ(files.WriteBytes("/f", std::string(10'000, 'x')).code(), ENOSPC);
  EXPECT_EQ(*files.ReadBytes("/f"), "old content");
  EXPECT_EQ(files.WriteBytes("/new", std::string(10'000, 'x')).code(), ENOSPC);
  EXPECT_EQ(files.Append("/new", std::string(10'000, 'x')).code(), ENOSPC);
  EXPECT_FALSE(files.Exists("/new"));
}

TEST(WriteFaultTest, UnreadableOldContentDoesNotStopAWrite) {
  auto fs = std::make_shared<FakeFs>();
  Files files(fs);
  ASSERT_OK(files.WriteBytes("/f", "old content"));
  fs->FailChange(1, EIO);
  ASSERT_OK(files.WriteBytes("/f", "new"));
  EXPECT_EQ(*files.ReadBytes("/f"), "new");
}

}  // namespace
}  // namespace agentfs::testing
