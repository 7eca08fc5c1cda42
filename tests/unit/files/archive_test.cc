// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>

#include <functional>
#include <sstream>
#include <utility>

#include "files_fixture.h"

namespace agentfs::testing {
namespace {

class ArchiveTest : public FilesFixture {
 protected:
  std::string Save(std::string_view path) {
    std::ostringstream out;
    EXPECT_OK(SaveTree(files_, path, out));
    return out.str();
  }
  Result<void> Load(std::string_view path, const std::string& bytes,
                    const ArchiveLimits& limits = {}) {
    std::istringstream in(bytes);
    return LoadTree(files_, path, in, limits);
  }
};

TEST_P(ArchiveTest, VariedTreeRoundTripsExactly) {
  ASSERT_OK(files_.CreateDirectory("/from"));
  MakeVariedTree(files_, "/from");
  ASSERT_OK(Load("/to", Save("/from")));
  EXPECT_EQ(Dump(files_, "/to"), Dump(files_, "/from"));
  EXPECT_EQ(files_.ListNames("/")->size(), 2u);
}

TEST_P(ArchiveTest, RootRoundTripsExactly) {
  MakeVariedTree(files_, "/");
  std::string before = Dump(files_, "/");
  std::string archive = Save("/");
  ASSERT_OK(files_.WriteBytes("/new", "new"));
  ASSERT_OK(files_.Delete("/sub", Recursion::kYes));
  ASSERT_OK(files_.WriteBytes("/plain", "changed"));
  Node& root = *backend_.fs->Root();
  ASSERT_OK(backend_.fs->SetXattr({}, root, "user.added", "x", XattrMode::kSet));
  ASSERT_OK(Load("/", archive));
  EXPECT_EQ(Dump(files_, "/"), before);
}

TEST_P(ArchiveTest, WhatAKilledLoadLeftIsRemovedByTheNext) {
  ASSERT_OK(files_.CreateDirectories("/from/sub"));
  const std::string archive = Save("/from");
  ASSERT_OK(files_.CreateDirectories("/.agentfs-load-0123456789abcdef/sub"));
  ASSERT_OK(files_.WriteBytes("/.agentfs-load-0123456789abcdef/sub/f", "half"));
  ASSERT_OK(files_.SetMode("/.agentfs-load-0123456789abcdef/sub", 0500));
  ASSERT_OK(files_.WriteBytes("/.agentfs-load-fedcba9876543210", "a file"));
  ASSERT_OK(files_.CreateDirectory("/.agentfs-load-mine"));
  ASSERT_OK(Load("/to", archive));
  EXPECT_THAT(*files_.ListNames("/"), ::testing::ElementsAre(".agentfs-load-fedcba9876543210",
                                                             ".agentfs-load-mine", "from", "to"));
}

// Calls back when it is first read, in the middle of a load.
class CallingBuffer : public std::stringbuf {
 public:
  CallingBuffer(const std::string& bytes, std::function<void()> call)
      : std::stringbuf(bytes, std::ios::in), call_(std::move(call)) {}

 protected:
  std::streamsize xsgetn(char* out, std::streamsize size) override {
    if (call_) std::exchange(call_, nullptr)();
    return std::stringbuf::xsgetn(out, size);
  }

 private:
  std::function<void()> call_;
};

TEST_P(ArchiveTest, LoadsInOneDirectoryDoNotDisturbEachOther) {
  ASSERT_OK(files_.CreateDirectories("/from/sub"));
  const std::string archive = Save("/from");
  bool called = false;
  CallingBuffer buffer(archive, [&] {
    called = true;
    EXPECT_OK(Load("/inner", archive));
  });
  std::istream in(&buffer);
  ASSERT_OK(LoadTree(files_, "/outer", in, {}));
  EXPECT_TRUE(called);
  EXPECT_THAT(*files_.ListNames("/"), ::testing::ElementsAre("from", "inner", "outer"));
}

TEST_P(ArchiveTest, AtimeRoundTrips) {
  ASSERT_OK(files_.CreateDirectory("/a"));
  ASSERT_OK(files_.WriteBytes("/a/f", ""));
  ASSERT_OK(files_.SetTimes("/a/f", {11, 12}, {13, 14}));
  ASSERT_OK(Load("/b", Save("/a")));
  EXPECT_EQ(files_.Entry("/b/f")->attr.atime, (Timestamp{11, 12}));
}

TEST_P(ArchiveTest, HolesStayHoles) {
  ASSERT_OK(files_.CreateDirectory("/a"));
  MakeVariedTree(files_, "/a");
  std::string archive = Save("/a");
  EXPECT_LT(archive.size(), 1u << 20);
  ASSERT_OK(Load("/b", archive));
  Found found = files_.Resolve("/b/holes").value();
  EXPECT_EQ(found.attr.size, uint64_t{6} << 30);
  EXPECT_GT(backend_.fs->Seek(*found.node, 0, SeekTarget::kData).value(), 0u);
}

TEST_P(ArchiveTest, EmptyTreeRoundTrips) {
  ASSERT_OK(files_.CreateDirectory("/a", 0711));
  ASSERT_OK(files_.CreateDirectory("/b"));
  ASSERT_OK(files_.WriteBytes("/b/f", "gone"));
  ASSERT_OK(Load("/b", Save("/a")));
  EXPECT_EQ(Dump(files_, "/b"), Dump(files_, "/a"));
}

TEST_P(ArchiveTest, SavingTheSameTreeGivesTheSameBytes) {
  ASSERT_OK(files_.CreateDirectory("/a"));
  MakeVariedTree(files_, "/a");
  (void)Save("/a");  // reading sets access times, the first time
  EXPECT_TRUE(Save("/a") == Save("/a"));
}

TEST_P(ArchiveTest, LoadReplacesWhatIsThere) {
  ASSERT_OK(files_.CreateDirectories("/a/keep"));
  ASSERT_OK(files_.WriteBytes("/a/same", "archived"));
  std::string archive = Save("/a");
  ASSERT_OK(files_.CreateDirectories("/b/other/below"));
  ASSERT_OK(files_.CreateDirectory("/b/same"));
  ASSERT_OK(files_.WriteBytes("/b/same/file", "x"));
  ASSERT_OK(Load("/b", archive));
  EXPECT_EQ(Dump(files_, "/b"), Dump(files_, "/a"));
  EXPECT_THAT(*files_.ListNames("/"), ::testing::ElementsAre("a", "b"));
}

TEST_P(ArchiveTest, LoadThroughALinkReplacesItsTarget) {
  ASSERT_OK(files_.CreateDirectories("/a"));
  ASSERT_OK(files_.WriteBytes("/a/f", "1"));
  ASSERT_OK(files_.CreateDirectories("/dir/real"));
  ASSERT_OK(files_.CreateSymlink("/link", "dir/real"));
  ASSERT_OK(files_.CreateSymlink("/dir/real/dots", ".."));
  ASSERT_OK(Load("/link", Save("/a")));
  EXPECT_EQ(*files_.ReadSymlink("/link"), "dir/real");
  EXPECT_EQ(*files_.ReadBytes("/dir/real/f"), "1");
  ASSERT_OK(files_.CreateSymlink("/up", "dir/real/.."));
  ASSERT_OK(Load("/up", Save("/a")));
  EXPECT_EQ(Dump(files_, "/dir"), Dump(files_, "/a"));
}

TEST_P(ArchiveTest, LoadOfAFilePathIsRefused) {
  ASSERT_OK(files_.CreateDirectory("/a"));
  ASSERT_OK(files_.WriteBytes("/f", "x"));
  EXPECT_EQ(Load("/f", Save("/a")).code(), ENOTDIR);
  EXPECT_EQ(Load("/no/such", Save("/a")).code(), ENOENT);
}

TEST_P(ArchiveTest, SaveOfAFileOrNothingIsRefused) {
  ASSERT_OK(files_.WriteBytes("/f", "x"));
  std::ostringstream out;
  EXPECT_EQ(SaveTree(files_, "/f", out).code(), ENOTDIR);
  EXPECT_EQ(SaveTree(files_, "/none", out).code(), ENOENT);
}

TEST_P(ArchiveTest, DeepTreeRoundTrips) {
  constexpr int kDepth = 3000;
  std::string path = "/deep";
  ASSERT_OK(files_.CreateDirectory(path));
  NodeRef directory = files_.Resolve(path)->node;
  for (int i = 0; i < kDepth; ++i) {
    directory = backend_.fs->MakeDirectory({}, *directory, "d", 0755).value().node;
  }
  ASSERT_OK(backend_.fs->Create({}, *directory, "bottom", 0644));
  ASSERT_OK(Load("/copy", Save("/deep")));
  uint64_t entries = 0;
  ASSERT_OK(files_.Walk("/copy", [&](const FileEntry&) {
    ++entries;
    return Visit::kContinue;
  }));
  EXPECT_EQ(entries, uint64_t{kDepth} + 2);
  ASSERT_OK(files_.Delete("/copy", Recursion::kYes));
}

TEST_P(ArchiveTest, SaveRefusesMoreXattrsThanAnArchiveHolds) {
  ASSERT_OK(files_.CreateDirectory("/a"));
  Found file = files_.filesystem()->Create({}, *files_.Resolve("/a")->node, "f", 0644).value();
  for (int i = 0; i < 10; ++i) {
    Result<void> set = backend_.fs->SetXattr({}, *file.node, "user.x" + std::to_string(i),
                                             std::string(60'000, 'v'), XattrMode::kSet);
    if (!set.ok())
      GTEST_SKIP() << "this filesystem takes no more xattrs: " << set.error().message();
  }
  std::ostringstream out;
  EXPECT_EQ(SaveTree(files_, "/a", out).code(), E2BIG);
}

TEST_P(ArchiveTest, CancelledBeforeItBegins) {
  std::stop_source stop;
  stop.request_stop();
  std::ostringstream out;
  EXPECT_EQ(SaveTree(files_, "/", out, stop.get_token()).code(), ECANCELED);
  std::istringstream in;
  EXPECT_EQ(LoadTree(files_, "/", in, {}, stop.get_token()).code(), ECANCELED);
}

// A stream that asks for a stop after some bytes.
class StoppingStream : public std::stringbuf {
 public:
  StoppingStream(std::string bytes, std::stop_source stop, size_t after)
      : std::stringbuf(std::move(bytes)), stop_(std::move(stop)), after_(after) {}
  std::streamsize xsgetn(char* out, std::streamsize n) override {
    after_ -= std::min(after_, static_cast<size_t>(n));
    if (after_ == 0) stop_.request_stop();
    return std::stringbuf::xsgetn(out, n);
  }

 private:
  std::stop_source stop_;
  size_t after_;
};

TEST_P(ArchiveTest, CancelledLoadLeavesTheTree) {
  ASSERT_OK(files_.CreateDirectory("/a"));
  MakeVariedTree(files_, "/a");
  std::string archive = Save("/a");
  std::string before = Dump(files_, "/");
  std::stop_source stop;
  StoppingStream buffer(archive, stop, archive.size() / 2);
  std::istream in(&buffer);
  EXPECT_EQ(LoadTree(files_, "/", in, {}, stop.get_token()).code(), ECANCELED);
  EXPECT_EQ(Dump(files_, "/"), before);
}

TEST_P(ArchiveTest, FailingStreamsAreErrors) {
  ASSERT_OK(files_.CreateDirectory("/a"));
  ASSERT_OK(files_.WriteBytes("/a/f", "x"));
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(SaveTree(files_, "/a", out).code(), EIO);
  std::istringstream in(Save("/a"));
  in.setstate(std::ios::badbit);
  EXPECT_EQ(LoadTree(files_, "/b", in).code(), EIO);
  std::ostringstream throwing;
  throwing.exceptions(std::ios::badbit | std::ios::failbit);
  EXPECT_OK(SaveTree(files_, "/a", throwing));
  std::istringstream throwing_in(throwing.str());
  throwing_in.exceptions(std::ios::badbit | std::ios::failbit | std::ios::eofbit);
  EXPECT_OK(LoadTree(files_, "/b", throwing_in));
}

TEST_P(ArchiveTest, ReadOnlyCallerNeedsTheRightToRead) {
  ASSERT_OK(files_.CreateDirectory("/a"));
  ASSERT_OK(files_.WriteBytes("/a/secret", "x"));
  ASSERT_OK(files_.SetMode("/a/secret", 0600));
  Caller other;
  other.uid = other.gid = 1000;
  std::ostringstream out;
  EXPECT_EQ(SaveTree(Files(backend_.fs, other), "/a", out).code(), EACCES);
}

TEST_P(ArchiveTest, OrdinaryCallerLoadsAsItself) {
  ASSERT_OK(files_.CreateDirectory("/a"));
  ASSERT_OK(files_.CreateDirectory("/a/closed", 0500));
  ASSERT_OK(files_.WriteBytes("/a/closed/f", "x"));
  ASSERT_OK(files_.WriteBytes("/a/suid", "x"));
  ASSERT_OK(files_.SetMode("/a/suid", 06755));
  std::string archive = Save("/a");
  ASSERT_OK(files_.CreateDirectory("/home"));
  AttrChange owner;
  owner.uid = owner.gid = 1000;
  ASSERT_OK(backend_.fs->SetAttr({}, *files_.Resolve("/home")->node, owner));
  Caller other;
  other.uid = other.gid = 1000;
  Files own(backend_.fs, other);
  std::istringstream in(archive);
  ASSERT_OK(LoadTree(own, "/home/b", in));
  EXPECT_EQ(files_.Entry("/home/b/suid")->attr.mode, uint32_t{S_IFREG | 0755});
  EXPECT_EQ(files_.Entry("/home/b/suid")->attr.uid, 1000u);
  EXPECT_EQ(files_.Entry("/home/b/closed")->attr.mode, uint32_t{S_IFDIR | 0500});
  // The next load cannot remove /home/b/closed/f: it must say so before it changes anything.
  std::string before = Dump(files_, "/home");
  std::istringstream again(archive);
  EXPECT_EQ(LoadTree(own, "/home/b", again).code(), EACCES);
  EXPECT_EQ(Dump(files_, "/home"), before);
}

AGENTFS_FILES_SUITE(ArchiveTest);

}  // namespace
}  // namespace agentfs::testing
