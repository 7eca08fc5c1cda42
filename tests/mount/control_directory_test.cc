// SPDX-License-Identifier: Apache-2.0
//
// .agentfs: what it shows, what it hides, and its control file; the root with all branches.
#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cstring>

#include "adapters/fuse/dispatcher.h"
#include "mount_test.h"

namespace agentfs::posix {
namespace {

class ControlDirectoryTest : public MountTest {
 protected:
  void Snapshot(std::string_view name) {
    ASSERT_TRUE(volume().CreateSnapshot("main", name, "", Durability::kNone).ok());
  }
  uint64_t InodeOf(std::string_view name) {
    struct stat s {};
    EXPECT_EQ(::lstat(path(name).c_str(), &s), 0) << name;
    return s.st_ino;
  }
};

TEST_F(ControlDirectoryTest, IsReachedByNameAndNotListed) {
  ASSERT_EQ(::mkdir(base(".agentfs").c_str(), 0755), 0);
  WriteHostFile(base(".agentfs/state.db"), "secret");
  WriteHostFile(base("f"), "x");
  Start(Base::kYes);
  EXPECT_EQ(Run("ls -A"), "f\n");
  EXPECT_EQ(Run("find . -name '*agentfs*'"), "");
  EXPECT_EQ(Run("ls -A .agentfs"), "control\nsnapshots\n");
  EXPECT_FALSE(Exists(".agentfs/state.db"));
  EXPECT_EQ(Run("rm -rf ./* && ls -A"), "");
  EXPECT_EQ(ReadHostFile(base(".agentfs/state.db")), "secret");
}

TEST_F(ControlDirectoryTest, CannotBeMadeChangedOrRemoved) {
  Start();
  ASSERT_EQ(::mkdir(path("d").c_str(), 0755), 0);
  const std::string control = path(".agentfs");
  EXPECT_EQ(::mkdir(control.c_str(), 0755), -1);
  EXPECT_EQ(errno, EEXIST);
  EXPECT_EQ(::rmdir(control.c_str()), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::rename(control.c_str(), path("e").c_str()), -1);
  EXPECT_NE(::rename(path("d").c_str(), control.c_str()), 0);
  EXPECT_EQ(::chmod(control.c_str(), 0777), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::mkdir(path(".agentfs/x").c_str(), 0755), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_FALSE(File(path(".agentfs/snapshots/x"), O_WRONLY | O_CREAT).ok());
  // Elsewhere the name is nothing special.
  ASSERT_EQ(::mkdir(path("d/.agentfs").c_str(), 0755), 0);
  EXPECT_EQ(Run("ls -A d"), ".agentfs\n");
}

TEST_F(ControlDirectoryTest, WhatIsStoredInAMappingOfASnapshotsFileIsNotShown) {
  Start();
  Write("f", "original");
  Snapshot("snap");
  const std::string name = ".agentfs/snapshots/snap/f";
  const File file(path(name), O_RDWR);
  if (!file.ok()) {  // where opening is a message, it is refused already
    EXPECT_EQ(errno, EROFS);
    return;
  }
  void* at = ::mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  ASSERT_NE(at, MAP_FAILED);
  std::memcpy(at, "changed!", 8);
  EXPECT_EQ(::msync(at, 8, MS_SYNC), -1);
  EXPECT_EQ(errno, EROFS);
  ::munmap(at, 8);
  rig().mount().FlushInvalidations();
  EXPECT_EQ(Read(name), "original");
  EXPECT_EQ(Read("f"), "original");
}

TEST_F(ControlDirectoryTest, ShowsSnapshots) {
  Start();
  EXPECT_EQ(Run("ls .agentfs/snapshots"), "");
  EXPECT_FALSE(Exists(".agentfs/snapshots/one"));
  Run("mkdir d; echo first > d/f; ln -s f d/link");
  Snapshot("one");
  Snapshot("team/two");
  Run("echo second > d/f; rm d/link");
  EXPECT_EQ(Run("ls .agentfs/snapshots"), "one\nteam\n");
  EXPECT_EQ(Run("ls .agentfs/snapshots/team"), "two\n");
  EXPECT_EQ(Read(".agentfs/snapshots/one/d/f"), "first\n");
  EXPECT_EQ(Read(".agentfs/snapshots/team/two/d/link"), "first\n");
  EXPECT_EQ(Read("d/f"), "second\n");
  EXPECT_EQ(Run("diff -r . .agentfs/snapshots/one | tail -1; true"),
            "Only in .agentfs/snapshots/one/d: link\n");
  EXPECT_FALSE(Exists(".agentfs/snapshots/one/.agentfs"));
}

TEST_F(ControlDirectoryTest, SnapshotsAreReadOnlyAndOtherFilesThanTheBranchs) {
  Start();
  Write("f", "then");
  Snapshot("one");
  EXPECT_NE(InodeOf("f"), InodeOf(".agentfs/snapshots/one/f"));
  EXPECT_EQ(::unlink(path(".agentfs/snapshots/one/f").c_str()), -1);
  EXPECT_EQ(errno, EROFS);
  EXPECT_EQ(::rename(path("f").c_str(), path(".agentfs/snapshots/one/g").c_str()), -1);
  EXPECT_EQ(errno, EXDEV);
  Write("f", "now");
  Run("cp .agentfs/snapshots/one/f f");
  EXPECT_EQ(Read("f"), "then");
}

TEST_F(ControlDirectoryTest, ADeletedSnapshotGoes) {
  Start();
  Write("f", "x");
  Snapshot("one");
  EXPECT_EQ(Read(".agentfs/snapshots/one/f"), "x");
  ASSERT_TRUE(volume().DeleteSnapshot("one").ok());
  EXPECT_FALSE(Exists(".agentfs/snapshots/one"));
  Write("f", "y");
  Snapshot("one");
  EXPECT_EQ(Read(".agentfs/snapshots/one/f"), "y");
}

TEST_F(ControlDirectoryTest, RequestsGoThroughTheControlFile) {
  MountRigOptions options;
  options.serve.control = [](const fuse::ControlCaller& caller,
                             std::string_view request) -> Result<std::string> {
    if (request == "fail") return Error(EACCES);
    return caller.view + " " + std::to_string(caller.uid) + " " + std::string(request);
  };
  Start(Base::kNo, std::move(options));
  const File control(path(".agentfs/control"), O_RDONLY);
  ASSERT_TRUE(control.ok()) << ErrnoName(errno);
  const auto ask = [&](std::string_view request) -> std::string {
    auto buffer = std::make_unique<fuse::ControlBuffer>();
    buffer->size = static_cast<uint32_t>(request.size());
    std::memcpy(buffer->bytes, request.data(), request.size());
    if (::ioctl(control.fd(), fuse::kControlIoctl, buffer.get()) < 0) return ErrnoName(errno);
    return std::string(buffer->bytes, buffer->size);
  };
  EXPECT_EQ(ask("hello"), "main 0 hello");
  EXPECT_EQ(ask(std::string(10'000, 'x')), "main 0 " + std::string(10'000, 'x'));
  EXPECT_EQ(ask(std::string(fuse::kMaxControlBytes, 'x')), "EMSGSIZE");
  EXPECT_EQ(ask("fail"), "EACCES");
  Write("f", "");
  const File other(path("f"), O_RDONLY);
  fuse::ControlBuffer buffer{};
  EXPECT_EQ(::ioctl(other.fd(), fuse::kControlIoctl, &buffer), -1);
  EXPECT_EQ(errno, ENOTTY);
}

// ---- all branches in one session

TEST_F(ControlDirectoryTest, ASessionShowsAllBranches) {
  WriteHostFile(base("f"), "base");
  MountRigOptions options;
  options.all_branches = true;
  Start(Base::kYes, options);
  EXPECT_EQ(Run("ls"), "branches\nhost\nsnapshots\n");
  EXPECT_EQ(Run("ls branches"), "main\n");
  EXPECT_FALSE(Exists("branches/feature/x"));
  ASSERT_TRUE(volume().CreateBranch("feature/x", "main").ok());
  EXPECT_EQ(Run("ls branches"), "feature\nmain\n");
  EXPECT_EQ(Read("branches/feature/x/f"), "base");
  Write("branches/feature/x/f", "changed");
  EXPECT_EQ(Read("branches/main/f"), "base");
  EXPECT_EQ(Read("branches/feature/x/f"), "changed");
  EXPECT_EQ(InodeOf("branches/main/f"), InodeOf("branches/feature/x/f"));
  EXPECT_EQ(Run("ls branches/main/.agentfs"), "control\nsnapshots\n");
}

TEST_F(ControlDirectoryTest, ASnapshotCanBeMounted) {
  Start();
  Write("f", "then");
  Snapshot("one");
  Write("f", "now");
  MountRigOptions options;
  options.snapshot = "one";
  options.serve.mount.read_only = true;
  const auto other = MountAgain("other", options);
  EXPECT_EQ(ReadHostFile(other->path() + "/f"), "then");
  EXPECT_FALSE(File(other->path() + "/f", O_WRONLY).ok());
  EXPECT_EQ(errno, EROFS);
}

}  // namespace
}  // namespace agentfs::posix
