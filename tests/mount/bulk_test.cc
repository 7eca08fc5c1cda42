// SPDX-License-Identifier: Apache-2.0
//
// The bulk profile: what the kernel writes itself.
#include <sys/mman.h>

#include <cstring>

#include "agentfs/files.h"
#include "agentfs/op_log.h"
#include "mount_test.h"

namespace agentfs::posix {
namespace {

class BulkTest : public MountTest {
 protected:
  void StartBulk(Base base = Base::kNo) {
    MountRigOptions options;
    options.serve.profile = fuse::Profile::kBulk;
    Start(base, std::move(options));
  }
  std::string FromSnapshot(const std::string& name) { return Read(".agentfs/snapshots/" + name); }
  void Snapshot(std::string_view name) {
    ASSERT_TRUE(volume().CreateSnapshot("main", name, "", Durability::kNone).ok());
  }
};

TEST_F(BulkTest, NewFilesAreWrittenAndReadWithoutMessages) {
  StartBulk();
  EXPECT_TRUE(rig().mount().capabilities().Has(fuse::Feature::kPassthrough));
  const std::string content = Pattern(5'000'000);
  {
    const File file(path("f"), O_RDWR | O_CREAT);
    ASSERT_TRUE(file.WriteAll(content));
    EXPECT_EQ(file.ReadAll(), content);
    struct stat s {};
    ASSERT_EQ(::fstat(file.fd(), &s), 0);
    EXPECT_EQ(static_cast<size_t>(s.st_size), content.size());
    ASSERT_EQ(::fsync(file.fd()), 0);
  }
  EXPECT_EQ(rig().Count("WRITE"), 0u);
  EXPECT_EQ(rig().Count("READ"), 0u);
  EXPECT_EQ(Read("f"), content);
  Remount();
  EXPECT_EQ(Read("f"), content);
}

// The kernel tells nothing of the writes: what is recorded is what the file has become.
TEST_F(BulkTest, WhatAFileGrewByIsRecorded) {
  StartBulk();
  {
    const File file(path("f"), O_RDWR | O_CREAT);
    ASSERT_TRUE(file.WriteAll(Pattern(1'000'000)));
    struct stat s {};
    ASSERT_EQ(::fstat(file.fd(), &s), 0);
    ASSERT_EQ(::pwrite(file.fd(), "over", 4, 10), 4);
    ASSERT_EQ(::fsync(file.fd()), 0);
    ASSERT_EQ(::fsync(file.fd()), 0);
    ASSERT_TRUE(file.WriteAll("more"));
    ASSERT_EQ(::ftruncate(file.fd(), 5'000'000), 0);
    ASSERT_EQ(::ftruncate(file.fd(), 500'000), 0);
    ASSERT_TRUE(file.WriteAll("!"));
  }
  { const File untouched(path("empty"), O_RDWR | O_CREAT); }
  Write("small", "12345");
  std::vector<std::string> told;
  ASSERT_TRUE(ScanOps(volume(), OpFilter(), [&](const OpRecord& op) {
                told.push_back(std::string(OpName(op.kind)) + " " + op.path + " " +
                               std::to_string(op.bytes));
                return Visit::kContinue;
              }).ok());
  EXPECT_EQ(told,
            (std::vector<std::string>{"create /f 0", "write /f 1000004", "truncate /f 5000000",
                                      "truncate /f 500000", "write /f 500005", "create /empty 0",
                                      "create /small 0", "write /small 5"}));
}

TEST_F(BulkTest, AnOpenReaderOfABaseFileSeesALaterWriter) {
  WriteHostFile(base("b"), Pattern(300'000));
  StartBulk(Base::kYes);
  const File reader(path("b"), O_RDONLY);
  EXPECT_EQ(reader.ReadAll(), Pattern(300'000));
  const File writer(path("b"), O_WRONLY);
  ASSERT_EQ(::pwrite(writer.fd(), "here", 4, 150'000), 4);
  EXPECT_EQ(reader.ReadAll().substr(150'000, 4), "here");
  EXPECT_EQ(ReadHostFile(base("b")), Pattern(300'000));
}

TEST_F(BulkTest, OneWayAtATime) {
  StartBulk();
  Write("f", "");
  const File cached(path("f"), O_RDONLY);  // decides
  const File writer(path("f"), O_WRONLY);
  ASSERT_TRUE(writer.WriteAll("through messages"));
  EXPECT_EQ(cached.ReadAll(), "through messages");
  EXPECT_GT(rig().Count("WRITE"), 0u);
  const File made(path("g"), O_WRONLY | O_CREAT);
  const File reader(path("g"), O_RDONLY), appender(path("g"), O_WRONLY | O_APPEND);
  ASSERT_TRUE(made.WriteAll("direct"));
  ASSERT_TRUE(appender.WriteAll(", too"));
  EXPECT_EQ(reader.ReadAll(), "direct, too");
  ASSERT_EQ(::ftruncate(made.fd(), 3), 0);
  EXPECT_EQ(reader.ReadAll(), "dir");
}

TEST_F(BulkTest, ASnapshotKeepsWhatAFileWasThatIsStillBeingWritten) {
  StartBulk();
  const File file(path("f"), O_RDWR | O_CREAT), small(path("s"), O_RDWR | O_CREAT);
  ASSERT_TRUE(file.WriteAll(std::string(2'000'000, 'a')));
  ASSERT_TRUE(small.WriteAll("small"));
  Snapshot("one");
  ASSERT_EQ(::pwrite(file.fd(), "later", 5, 1'000'000), 5);
  ASSERT_TRUE(small.WriteAll(", and more"));
  Snapshot("two");
  ASSERT_EQ(::ftruncate(file.fd(), 10), 0);
  EXPECT_EQ(FromSnapshot("one/f"), std::string(2'000'000, 'a'));
  EXPECT_EQ(FromSnapshot("two/f").substr(1'000'000, 5), "later");
  EXPECT_EQ(FromSnapshot("one/s"), "small");
  EXPECT_EQ(FromSnapshot("two/s"), "small, and more");
  EXPECT_EQ(Read("f"), std::string(10, 'a'));
  const auto report = volume().Check(false);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->problems.empty()) << report->problems.front().what;
}

TEST_F(BulkTest, WhatIsOpenHasNothingToDoWithWhatIsRestored) {
  StartBulk();
  Write("f", "then");
  Snapshot("one");
  const File open(path("f"), O_RDWR | O_TRUNC);
  ASSERT_TRUE(open.WriteAll("now"));
  Snapshot("two");
  ASSERT_TRUE(volume().Restore("main", "one").ok());
  rig().mount().FlushInvalidations();
  EXPECT_EQ(Read("f"), "then");
  ASSERT_EQ(::pwrite(open.fd(), "NOW", 3, 0), 3);
  EXPECT_EQ(Read("f"), "then");
  EXPECT_EQ(FromSnapshot("two/f"), "now");
}

// Of what the kernel passes through it asks us nothing.
TEST_F(BulkTest, WhatOthersWriteIsSeenByWhoHasItOpen) {
  StartBulk();
  const auto view = volume().OpenBranch("main").value();
  const Files library(view);
  for (const size_t size : {size_t{5000}, size_t{300'000}, size_t{3'000'000}}) {
    SCOPED_TRACE(size);
    const File file(path("f"), O_RDWR | O_CREAT | O_TRUNC);
    ASSERT_TRUE(file.WriteAll(std::string(size, 'a')));
    const File reader(path("f"), O_RDONLY);
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, reader.fd(), 0);
    ASSERT_NE(at, MAP_FAILED);
    const auto* bytes = static_cast<const volatile char*>(at);
    EXPECT_EQ(bytes[size - 1], 'a');
    struct stat s {};
    ASSERT_EQ(::fstat(file.fd(), &s), 0);  // settles it
    for (const char c : {'b', 'c'}) {
      ASSERT_TRUE(library.WriteBytes("/f", std::string(size, c)).ok());
      rig().mount().FlushInvalidations();
      EXPECT_TRUE(reader.ReadAll() == std::string(size, c)) << reader.ReadAll()[0];
      EXPECT_EQ(bytes[size - 1], c);
    }
    ASSERT_TRUE(library.WriteBytes("/f", "short").ok());
    rig().mount().FlushInvalidations();
    EXPECT_EQ(reader.ReadAll(), "short");
    AttrChange longer;
    longer.size = size;
    const Found found = view->Lookup(Caller(), *view->Root(), "f").value();
    ASSERT_TRUE(view->SetAttr(Caller(), *found.node, longer).ok());
    rig().mount().FlushInvalidations();
    EXPECT_TRUE(reader.ReadAll() == "short" + std::string(size - 5, '\0'));
    ::munmap(at, size);
  }
}

TEST_F(BulkTest, WhatOthersWriteStaysWhenTheFileIsClosed) {
  StartBulk();
  const Files library(volume().OpenBranch("main").value());
  for (const size_t size : {size_t{5000}, size_t{300'000}}) {
    const std::string name = std::to_string(size);
    const File file(path(name), O_RDWR | O_CREAT);
    ASSERT_TRUE(file.WriteAll(std::string(size, 'a')));
    ASSERT_EQ(::fsync(file.fd()), 0);
    ASSERT_TRUE(library.WriteBytes("/" + name, "theirs").ok());
  }
  Remount();
  EXPECT_EQ(Read("5000"), "theirs");
  EXPECT_EQ(Read("300000"), "theirs");
}

TEST_F(BulkTest, WhatOthersWriteDoesNotTakeAwayWhatWasAppendedMeanwhile) {
  StartBulk();
  const auto view = volume().OpenBranch("main").value();
  {
    const File file(path("f"), O_RDWR | O_CREAT);
    ASSERT_TRUE(file.WriteAll(std::string(300'000, 'a')));
    ASSERT_EQ(::fsync(file.fd()), 0);
    ASSERT_TRUE(file.WriteAll("more"));
    const Found found = view->Lookup(Caller(), *view->Root(), "f").value();
    ASSERT_TRUE(view->Write(Caller(), *found.node, 0, std::string_view("b")).ok());
    rig().mount().FlushInvalidations();
    EXPECT_TRUE(file.ReadAll() == "b" + std::string(299'999, 'a') + "more");
  }
  Remount();
  EXPECT_TRUE(Read("f") == "b" + std::string(299'999, 'a') + "more");
}

TEST_F(BulkTest, HolesMappingsAndTimesAreThere) {
  StartBulk();
  const File file(path("f"), O_RDWR | O_CREAT);
  ASSERT_EQ(::pwrite(file.fd(), "end", 3, 10 << 20), 3);
  EXPECT_EQ(::lseek(file.fd(), 0, SEEK_DATA), 10 << 20);
  void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  ASSERT_NE(at, MAP_FAILED);
  std::memcpy(at, "mapped", 6);
  ASSERT_EQ(::msync(at, 4096, MS_SYNC), 0);
  ::munmap(at, 4096);
  const timespec times[2] = {{1000, 0}, {2000, 0}};
  ASSERT_EQ(::futimens(file.fd(), times), 0);
  ASSERT_EQ(::fsync(file.fd()), 0);
  struct stat s {};
  ASSERT_EQ(::stat(path("f").c_str(), &s), 0);
  EXPECT_EQ(s.st_mtim.tv_sec, 2000);
  EXPECT_LT(s.st_blocks, 1000);
  EXPECT_EQ(Read("f").substr(0, 6), "mapped");
}

TEST_F(BulkTest, LimitsAreKeptByNotLeavingItToTheKernel) {
  volume_options_.limits.max_file_bytes = 100'000;
  StartBulk();
  const File file(path("f"), O_RDWR | O_CREAT);
  EXPECT_FALSE(file.WriteAll(std::string(200'000, 'x')));
  EXPECT_EQ(errno, EFBIG);
}

}  // namespace
}  // namespace agentfs::posix
