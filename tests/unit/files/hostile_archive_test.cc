// SPDX-License-Identifier: Apache-2.0
//
// LoadTree with archives that somebody made to break it. Each one must fail with the right error,
// or load harmlessly, and on error leave everything as it was.
#include <fmt/format.h>
#include <sys/stat.h>

#include <random>
#include <sstream>

#include "fake_fs.h"
#include "files_fixture.h"
#include "raw_tar.h"

namespace agentfs::testing {
namespace {

class HostileArchiveTest : public FilesFixture {
 protected:
  void SetUp() override { MakeOldTree(); }

  void MakeOldTree() {
    if (files_.Exists("/tree")) EXPECT_OK(files_.Delete("/tree", Recursion::kYes));
    EXPECT_OK(files_.CreateDirectories("/tree/old"));
    EXPECT_OK(files_.WriteBytes("/tree/old/file", "old"));
    EXPECT_OK(files_.WriteBytes("/outside", "outside"));
    before_ = Dump(files_, "/");
  }

  Result<void> Load(const std::string& bytes, const ArchiveLimits& limits = {},
                    std::string_view path = "/tree", const Caller& caller = {}) {
    std::istringstream in(bytes);
    return LoadTree(Files(backend_.fs, caller), path, in, limits);
  }

  // Both for a directory and for the root, which is replaced in another way.
  void ExpectRefused(const std::string& bytes, int code, const ArchiveLimits& limits = {}) {
    for (std::string_view path : {"/tree", "/"}) {
      Result<void> loaded = Load(bytes, limits, path);
      EXPECT_EQ(loaded.code(), code) << (loaded.ok() ? "" : loaded.error().message());
      EXPECT_EQ(Dump(files_, "/"), before_) << path;
    }
  }

  std::string before_;
};

TEST_P(HostileArchiveTest, AbsoluteNameIsRefused) {
  ExpectRefused(RawTar().Add({.name = "/outside"}).Finished(), EINVAL);
  ExpectRefused(RawTar().Add({.name = "//outside"}).Finished(), EINVAL);
  ExpectRefused(RawTar().Pax({"path=/outside"}).Add({.name = "x"}).Finished(), EINVAL);
}

TEST_P(HostileArchiveTest, DotDotIsRefused) {
  ExpectRefused(RawTar().Add({.name = ".."}).Finished(), EINVAL);
  ExpectRefused(RawTar().Add({.name = "../outside"}).Finished(), EINVAL);
  ExpectRefused(RawTar().Add({.name = "a/../b"}).Finished(), EINVAL);
  ExpectRefused(RawTar().Add({.name = "a/..", .type = '5'}).Finished(), EINVAL);
}

TEST_P(HostileArchiveTest, NameThroughALinkIsRefused) {
  ExpectRefused(RawTar()
                    .Add({.name = "link", .type = '2', .link = "/"})
                    .Add({.name = "link/outside", .content = "bad"})
                    .Finished(),
                EINVAL);
  ExpectRefused(RawTar()
                    .Add({.name = "dir", .type = '5'})
                    .Add({.name = "link", .type = '2', .link = "dir"})
                    .Add({.name = "link/in", .type = '5'})
                    .Finished(),
                EINVAL);
}

TEST_P(HostileArchiveTest, LinkReplacedByFileIsNotFollowed) {
  ASSERT_OK(Load(RawTar()
                     .Add({.name = "x", .type = '2', .link = "/outside"})
                     .Add({.name = "x", .content = "inside"})
                     .Finished()));
  EXPECT_EQ(*files_.ReadBytes("/tree/x"), "inside");
  EXPECT_EQ(*files_.ReadBytes("/outside"), "outside");
  EXPECT_TRUE(S_ISREG(files_.Entry("/tree/x")->attr.mode));
}

TEST_P(HostileArchiveTest, FileAsParentIsRefused) {
  ExpectRefused(RawTar().Add({.name = "f"}).Add({.name = "f/g"}).Finished(), EINVAL);
}

TEST_P(HostileArchiveTest, HardLinksToOutsideOrNothingAreRefused) {
  for (const char* target : {"/outside", "../outside", "none", "old/file", "", "dir", "."}) {
    SCOPED_TRACE(target);
    ExpectRefused(RawTar()
                      .Add({.name = "dir", .type = '5'})
                      .Add({.name = "hard", .type = '1', .link = target})
                      .Finished(),
                  EINVAL);
  }
}

TEST_P(HostileArchiveTest, HardLinkThroughALinkIsRefused) {
  ExpectRefused(RawTar()
                    .Add({.name = "link", .type = '2', .link = "/"})
                    .Add({.name = "hard", .type = '1', .link = "link/outside"})
                    .Finished(),
                EINVAL);
}

TEST_P(HostileArchiveTest, HardLinkToALinkIsTheLink) {
  ASSERT_OK(Load(RawTar()
                     .Add({.name = "link", .type = '2', .link = "/outside"})
                     .Add({.name = "hard", .type = '1', .link = "link"})
                     .Add({.name = "hard", .type = '1', .link = "hard"})
                     .Finished()));
  EXPECT_EQ(*files_.ReadSymlink("/tree/hard"), "/outside");
  EXPECT_EQ(files_.Entry("/tree/hard")->attr.nlink, 2u);
}

TEST_P(HostileArchiveTest, DuplicatesReplaceButDirectoriesDoNot) {
  ASSERT_OK(Load(RawTar()
                     .Add({.name = "f", .content = "one"})
                     .Add({.name = "h", .type = '1', .link = "f"})
                     .Add({.name = "f", .content = "two"})
                     .Add({.name = "d", .type = '5', .mode = 0700})
                     .Add({.name = "d/in", .content = "in"})
                     .Add({.name = "d", .type = '5', .mode = 0711})
                     .Finished()));
  EXPECT_EQ(*files_.ReadBytes("/tree/f"), "two");
  EXPECT_EQ(*files_.ReadBytes("/tree/h"), "one");
  EXPECT_EQ(files_.Entry("/tree/d")->attr.mode, uint32_t{S_IFDIR | 0711});
  EXPECT_EQ(*files_.ReadBytes("/tree/d/in"), "in");
  before_ = Dump(files_, "/");
  ExpectRefused(RawTar().Add({.name = "d", .type = '5'}).Add({.name = "d"}).Finished(), EEXIST);
  ExpectRefused(RawTar().Add({.name = "d"}).Add({.name = "d", .type = '5'}).Finished(), EEXIST);
}

TEST_P(HostileArchiveTest, RootThatIsNoDirectoryIsRefused) {
  ExpectRefused(RawTar().Add({.name = "."}).Finished(), EINVAL);
  ExpectRefused(RawTar().Add({.name = "./.", .type = '2', .link = "/"}).Finished(), EINVAL);
}

TEST_P(HostileArchiveTest, MissingParentsAreMade) {
  ASSERT_OK(Load(RawTar().Add({.name = "./a//b/./c", .content = "x"}).Finished()));
  EXPECT_EQ(*files_.ReadBytes("/tree/a/b/c"), "x");
  EXPECT_EQ(files_.Entry("/tree/a/b")->attr.mode, uint32_t{S_IFDIR | 0755});
}

TEST_P(HostileArchiveTest, WithoutARootEntryTheDirectoryKeepsItsAttributes) {
  ASSERT_OK(files_.SetMode("/tree", 0705));
  ASSERT_OK(Load(RawTar().Add({.name = "x"}).Finished()));
  EXPECT_EQ(files_.Entry("/tree")->attr.mode, uint32_t{S_IFDIR | 0705});
  EXPECT_THAT(*files_.ListNames("/tree"), ::testing::ElementsAre("x"));
}

TEST_P(HostileArchiveTest, TooLongNameIsRefused) {
  std::string name(256, 'n');
  ExpectRefused(RawTar().Pax({"path=" + name}).Add({.name = "x"}).Finished(), ENAMETOOLONG);
}

TEST_P(HostileArchiveTest, DevicesAreForRootOnly) {
  std::string archive =
      RawTar().Add({.name = "null", .type = '3', .device_major = 1, .device_minor = 3}).Finished();
  ASSERT_OK(files_.CreateDirectory("/home"));
  AttrChange owner;
  owner.uid = owner.gid = 1000;
  ASSERT_OK(backend_.fs->SetAttr({}, *files_.Resolve("/home")->node, owner));
  std::string before = Dump(files_, "/");
  Caller other;
  other.uid = other.gid = 1000;
  EXPECT_EQ(Load(archive, {}, "/home/d", other).code(), EPERM);
  EXPECT_EQ(Dump(files_, "/"), before);
  ASSERT_OK(Load(archive, {}, "/home/d"));
  EXPECT_TRUE(S_ISCHR(files_.Entry("/home/d/null")->attr.mode));
}

TEST_P(HostileArchiveTest, LimitsHold) {
  std::string archive = RawTar()
                            .Add({.name = "a", .content = std::string(3000, 'a')})
                            .Add({.name = "b", .content = std::string(3000, 'b')})
                            .Finished();
  ExpectRefused(archive, EFBIG, {.max_bytes = 5000, .max_entries = 10});
  ExpectRefused(archive, EOVERFLOW, {.max_bytes = 50000, .max_entries = 1});
  ExpectRefused(RawTar().Add({.name = "a/b/c/d"}).Finished(), EOVERFLOW,
                {.max_bytes = 50000, .max_entries = 3});
  EXPECT_OK(Load(archive, {.max_bytes = archive.size(), .max_entries = 2}));
}

TEST_P(HostileArchiveTest, BombIsStoppedEarly) {
  // 256 MiB of zeros in some 20 KiB.
  std::string archive = Zstd(
      RawTar().Add({.name = "zeros", .content = std::string(size_t{256} << 20, '\0')}).Finished());
  ASSERT_LT(archive.size(), 100'000u);
  ExpectRefused(archive, EFBIG, {.max_bytes = 1 << 20, .max_entries = 10});
}

TEST_P(HostileArchiveTest, ClaimedSizeWithoutContentIsRefused) {
  ExpectRefused(RawTar().Add({.name = "f", .content = "x", .claimed_size = 1 << 30}).Finished(),
                EBADMSG);
  ExpectRefused(Zstd(RawTar().Add({.name = "f", .claimed_size = 0777777777}).unfinished()),
                EBADMSG);
}

TEST_P(HostileArchiveTest, SparseMapsThatLieAreHarmless) {
  auto sparse = [](const std::string& map, const std::string& real_size) {
    std::string content = map;
    content.resize(512);
    return RawTar()
        .Pax({"GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=s",
              "GNU.sparse.realsize=" + real_size})
        .Add({.name = "GNUSparseFile.0/s", .content = content + std::string(512, 'd')})
        .Finished();
  };
  for (const char* map : {"1\n100\n512\n", "1\n-5\n512\n", "2\n0\n256\n0\n256\n", "99999999999\n",
                          "1\n9223372036854775807\n512\n", "x\n", "1\n0\n"}) {
    for (const char* real_size : {"200", "-1", "9223372036854775807", "612"}) {
      SCOPED_TRACE(std::string(map) + " of " + real_size);
      Result<void> loaded = Load(sparse(map, real_size));
      if (!loaded.ok()) {
        EXPECT_EQ(Dump(files_, "/"), before_);
      }
      if (loaded.ok()) {
        EXPECT_THAT(*files_.ListNames("/tree"), ::testing::ElementsAre("s"));
        MakeOldTree();
      }
    }
  }
}

TEST_P(HostileArchiveTest, GarbageIsRefused) {
  ExpectRefused("", EBADMSG);
  ExpectRefused("x", EBADMSG);
  ExpectRefused(std::string(100'000, 'x'), EBADMSG);
  ExpectRefused(std::string("\x28\xb5\x2f\xfd", 4), EBADMSG);
  ExpectRefused(std::string("\x28\xb5\x2f\xfd", 4) + std::string(5000, '\x55'), EBADMSG);
  ExpectRefused(Zstd("no tar at all"), EBADMSG);
  std::string archive = Zstd(RawTar().Add({.name = "x"}).Finished());
  ExpectRefused(archive + "garbage", EBADMSG);
}

TEST_P(HostileArchiveTest, OwnersOutOfRangeAreRefused) {
  ExpectRefused(RawTar().Pax({"uid=4294967295"}).Add({.name = "x"}).Finished(), EINVAL);
  ExpectRefused(RawTar().Pax({"gid=99999999999"}).Add({.name = "x"}).Finished(), EINVAL);
}

TEST_P(HostileArchiveTest, UnknownTypesAreRefusedOrFiles) {
  Result<void> loaded = Load(RawTar().Add({.name = "x", .type = 'Z'}).Finished());
  if (!loaded.ok()) {
    EXPECT_EQ(Dump(files_, "/"), before_);
  }
}

TEST_P(HostileArchiveTest, TruncationAnywhereIsRefused) {
  std::ostringstream out;
  ASSERT_OK(files_.CreateDirectory("/varied"));
  MakeVariedTree(files_, "/varied");
  ASSERT_OK(SaveTree(files_, "/varied", out));
  before_ = Dump(files_, "/");
  const std::string archive = out.str();
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    size_t size = random() % archive.size();
    Result<void> loaded = Load(archive.substr(0, size));
    ASSERT_EQ(loaded.code(), EBADMSG) << "cut at " << size;
    ASSERT_EQ(Dump(files_, "/"), before_) << "cut at " << size;
  }
}

TEST_P(HostileArchiveTest, FlippedBitsAreRefused) {
  std::ostringstream out;
  ASSERT_OK(SaveTree(files_, "/tree", out));
  const std::string archive = out.str();
  ASSERT_OK(files_.Copy("/tree", "/original", Recursion::kYes));
  size_t refused = 0;
  for (size_t at = 0; at < archive.size(); ++at) {
    std::string damaged = archive;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    // The checksum catches what the format does not; only a bit that zstd leaves unused is
    // harmless.
    refused += Load(damaged).ok() ? 0 : 1;
    ASSERT_EQ(Dump(files_, "/tree"), Dump(files_, "/original")) << "byte " << at;
  }
  EXPECT_GE(refused, archive.size() * 9 / 10);
}

TEST_P(HostileArchiveTest, PlainTarThatEndsTooEarlyIsRefused) {
  ExpectRefused(RawTar().Add({.name = "x", .content = "x"}).unfinished() + std::string(100, '\0'),
                EBADMSG);
}

AGENTFS_FILES_SUITE(HostileArchiveTest);

// Every change that a load makes may fail, and each time all must be as before.
TEST(LoadFaultTest, FailureOfAnyChangeLeavesTheTree) {
  Backend source = MakeBackend(BackendKind::kFake);
  Files from(source.fs);
  ASSERT_OK(from.CreateDirectories("/d/e"));
  ASSERT_OK(from.WriteBytes("/d/both", "new"));
  ASSERT_OK(from.WriteBytes("/d/e/f", "new"));
  ASSERT_OK(from.CreateDirectory("/d/same"));
  ASSERT_OK(source.fs->SetXattr({}, *from.Resolve("/d")->node, "user.x", "1", XattrMode::kSet));
  std::ostringstream out;
  ASSERT_OK(SaveTree(from, "/d", out));
  for (std::string_view path : {"/", "/tree"}) {
    bool committed = false;
    for (uint64_t nth = 1; !committed; ++nth) {
      ASSERT_LT(nth, 200u);
      auto fs = std::make_shared<FakeFs>();
      Files files(fs);
      ASSERT_OK(files.CreateDirectories("/tree/same/below"));
      ASSERT_OK(files.WriteBytes("/tree/both", "old"));
      ASSERT_OK(files.WriteBytes("/both", "old"));
      ASSERT_OK(files.CreateDirectory("/same"));
      ASSERT_OK(files.WriteBytes("/only-old", "old"));
      ASSERT_OK(fs->SetXattr({}, *fs->Root(), "user.old", "1", XattrMode::kSet));
      std::string before = Dump(files, "/");
      fs->FailChange(nth, EIO);
      std::istringstream in(out.str());
      Result<void> loaded = LoadTree(files, path, in);
      committed = Dump(files, path, DumpTimes::kNo).find("e/f") != std::string::npos;
      if (!committed) {
        EXPECT_EQ(loaded.code(), EIO) << nth;
        EXPECT_EQ(Dump(files, "/"), before) << "change " << nth << " of a load to " << path;
      }
    }
  }
}

}  // namespace
}  // namespace agentfs::testing
