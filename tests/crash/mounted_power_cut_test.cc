// SPDX-License-Identifier: Apache-2.0
//
// The power goes out under a mount: what a program was told to be durable, in whichever way it
// asked, is there. Calls on the mount are raw: the Disk holds back those of libc, the server's
// among them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>

#include "disk.h"
#include "mount_rig.h"
#include "rig.h"

namespace agentfs::crash {
namespace {

constexpr size_t kSize = 8192;

template <typename... Args>
long Call(long number, Args... args) {
  return ::syscall(number, args...);
}

struct Free {
  void operator()(char* bytes) const { std::free(bytes); }
};
// Bytes that O_DIRECT takes.
std::unique_ptr<char, Free> Block(char fill) {
  std::unique_ptr<char, Free> block(static_cast<char*>(std::aligned_alloc(4096, kSize)));
  std::fill_n(block.get(), kSize, fill);
  return block;
}

class File {
 public:
  File(const std::string& path, int flags)
      : fd_(static_cast<int>(Call(SYS_openat, AT_FDCWD, path.c_str(), flags, 0644))) {
    EXPECT_GE(fd_, 0) << path;
  }
  ~File() { Call(SYS_close, fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const { return fd_; }
  void Write(char fill) const {
    const auto block = Block(fill);
    EXPECT_EQ(Call(SYS_pwrite64, fd_, block.get(), kSize, 0L), static_cast<long>(kSize));
  }
  void WriteSynced(char fill) const {
    const auto block = Block(fill);
    const struct iovec piece { block.get(), kSize };
    EXPECT_EQ(Call(SYS_pwritev2, fd_, &piece, 1L, 0L, 0L, RWF_DSYNC), static_cast<long>(kSize));
  }
  void WriteAsynchronously(char fill) const {
    const auto block = Block(fill);
    aio_context_t context = 0;
    ASSERT_EQ(Call(SYS_io_setup, 1L, &context), 0);
    struct iocb request {};
    request.aio_lio_opcode = IOCB_CMD_PWRITE;
    request.aio_fildes = static_cast<uint32_t>(fd_);
    request.aio_buf = reinterpret_cast<uint64_t>(block.get());
    request.aio_nbytes = kSize;
    struct iocb* requests[] = {&request};
    struct io_event done {};
    EXPECT_EQ(Call(SYS_io_submit, context, 1L, requests), 1);
    EXPECT_EQ(Call(SYS_io_getevents, context, 1L, 1L, &done, nullptr), 1);
    EXPECT_EQ(done.res, static_cast<int64_t>(kSize));
    Call(SYS_io_destroy, context);
  }
  void Map(char fill) const {
    EXPECT_EQ(Call(SYS_ftruncate, fd_, kSize), 0);
    void* at = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    ASSERT_NE(at, MAP_FAILED);
    std::fill_n(static_cast<char*>(at), kSize, fill);
    EXPECT_EQ(Call(SYS_msync, at, kSize, MS_SYNC), 0);
    ::munmap(at, kSize);
  }
  void Sync() const { EXPECT_EQ(Call(SYS_fsync, fd_), 0); }
  void SyncData() const { EXPECT_EQ(Call(SYS_fdatasync, fd_), 0); }

 private:
  const int fd_;
};

class MountedPowerCutTest : public testing::TestWithParam<fuse::Profile> {
 protected:
  void SetUp() override {
    if (const std::string why = posix::WhyNoMounts(); !why.empty()) GTEST_SKIP() << why;
    const std::string place = workspace_.state_directory() + "-mount";
    std::filesystem::create_directory(place);
    watchdog_ = std::make_unique<posix::Watchdog>(place);
    disk_ = std::make_unique<Disk>(workspace_.state_directory());
    volume_ = OpenVolume({}, workspace_.state_directory(), "", 60'000).value();
    posix::MountRigOptions options;
    options.serve.profile = GetParam();
    mount_ = posix::MountRig::Start(*volume_, place, options).value();
  }
  ~MountedPowerCutTest() override {
    mount_.reset();
    volume_.reset();
    disk_.reset();
  }

  std::string Path(const std::string& name) const { return mount_->path() + "/" + name; }
  static int New() { return O_CREAT | O_EXCL; }

  // What is left of a file if the power goes out now; "" if there is none.
  std::string Left(const std::string& name, Disk::Unsynced unsynced = Disk::Unsynced::kLost) {
    const std::string image = workspace_.state_directory() + "-image" + std::to_string(++cuts_);
    disk_->Cut(image, unsynced, random_);
    auto volume = OpenVolume({}, image, "", 60'000).value();
    auto fs = volume->OpenBranch("main").value();
    auto found = fs->Lookup(Caller(), *fs->Root(), name);
    std::string content;
    if (found.ok()) {
      content.resize(kSize + 1);
      content.resize(fs->Read(*found->node, 0, content).value());
    }
    return content;
  }

 private:
  Workspace workspace_{{}};
  std::mt19937_64 random_{FirstSeed()};
  int cuts_ = 0;
  std::unique_ptr<posix::Watchdog> watchdog_;
  std::unique_ptr<Disk> disk_;
  std::unique_ptr<Volume> volume_;
  std::unique_ptr<posix::MountRig> mount_;
};

TEST_P(MountedPowerCutTest, WhatNobodySyncedMayBeGone) {
  File(Path("f"), New() | O_WRONLY).Write('x');
  EXPECT_EQ(Left("f"), "");
}

TEST_P(MountedPowerCutTest, EveryWayToAskForDurability) {
  const std::string wanted(kSize, 'x');
  const auto expect = [&](const std::string& name, int flags, const auto& work) {
    {
      const File file(Path(name), New() | flags);
      work(file);
      EXPECT_TRUE(Left(name) == wanted) << name;
    }
    EXPECT_TRUE(Left(name) == wanted) << name << ", closed";
  };
  const auto write = [](const File& file) { file.Write('x'); };
  expect("sync", O_WRONLY | O_SYNC, write);
  expect("dsync", O_WRONLY | O_DSYNC, write);
  expect("dsync-rw", O_RDWR | O_DSYNC, write);
  expect("dsync-append", O_WRONLY | O_APPEND | O_DSYNC, write);
  expect("dsync-direct", O_WRONLY | O_DIRECT | O_DSYNC, write);
  expect("dsync-async", O_RDWR | O_DIRECT | O_DSYNC,
         [](const File& file) { file.WriteAsynchronously('x'); });
  expect("fsync", O_WRONLY, [](const File& file) { file.Write('x'), file.Sync(); });
  expect("fdatasync", O_WRONLY, [](const File& file) { file.Write('x'), file.SyncData(); });
  expect("fsync-read-only", O_WRONLY, [&](const File& file) {
    file.Write('x');
    File(Path("fsync-read-only"), O_RDONLY).Sync();
  });
  expect("directory", O_WRONLY, [&](const File& file) {
    file.Write('x');
    file.Sync();
    File(Path(""), O_RDONLY | O_DIRECTORY).Sync();
  });
  // Passed through, these reach the host file without us.
  if (GetParam() == fuse::Profile::kBulk) return;
  expect("msync", O_RDWR, [](const File& file) { file.Map('x'); });
  expect("rwf-dsync", O_WRONLY, [](const File& file) { file.WriteSynced('x'); });
}

TEST_P(MountedPowerCutTest, NamesAreDurableOnceTheDirectoryIsSynced) {
  File(Path("old"), New() | O_WRONLY).Write('x');
  const File directory(Path(""), O_RDONLY | O_DIRECTORY);
  directory.Sync();
  ASSERT_EQ(Call(SYS_rename, Path("old").c_str(), Path("new").c_str()), 0);
  directory.Sync();
  EXPECT_EQ(Left("old"), "");
  EXPECT_EQ(Left("new").size(), kSize);
  ASSERT_EQ(Call(SYS_unlink, Path("new").c_str()), 0);
  directory.Sync();
  EXPECT_EQ(Left("new"), "");
}

// What editors and package managers do: whole old content or whole new content, never a part.
TEST_P(MountedPowerCutTest, ReplacingByRenameLeavesTheOldOrTheNewFileWhole) {
  {
    const File target(Path("f"), New() | O_WRONLY);
    target.Write('a');
    target.Sync();
  }
  for (char fill = 'b'; fill < 'f'; ++fill) {
    const std::string old(kSize, static_cast<char>(fill - 1)), now(kSize, fill);
    {
      const File file(Path("f.tmp"), New() | O_WRONLY);
      file.Write(fill);
      file.Sync();
    }
    ASSERT_EQ(Call(SYS_rename, Path("f.tmp").c_str(), Path("f").c_str()), 0);
    const std::string left = Left("f", Disk::Unsynced::kByChance);
    EXPECT_TRUE(left == old || left == now) << fill << ": " << left.size() << " bytes";
    File(Path(""), O_RDONLY | O_DIRECTORY).Sync();
    EXPECT_TRUE(Left("f") == now) << fill;
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, MountedPowerCutTest,
                         testing::Values(fuse::Profile::kDefault, fuse::Profile::kBulk),
                         [](const auto& info) {
                           return info.param == fuse::Profile::kBulk ? "Bulk" : "Default";
                         });

}  // namespace
}  // namespace agentfs::crash
