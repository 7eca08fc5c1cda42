// SPDX-License-Identifier: Apache-2.0
//
// FIFOs, sockets, programs, copies within the kernel.
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include <thread>

#include "mount_test.h"

namespace agentfs::posix {
namespace {

class SpecialTest : public MountTest {};

TEST_F(SpecialTest, AFifoConnectsTwoProcesses) {
  Start();
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0644), 0);
  EXPECT_EQ(Run("echo through > fifo & cat fifo; wait"), "through\n");
  EXPECT_EQ(Run("stat -c %F fifo"), "fifo\n");
}

TEST_F(SpecialTest, AUnixSocketIsBoundAndConnected) {
  Start();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = path("s");
  ASSERT_LT(name.size(), sizeof address.sun_path);
  name.copy(address.sun_path, name.size());
  const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(server, 1), 0);
  const int client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const int accepted = ::accept4(server, nullptr, nullptr, SOCK_CLOEXEC);
  ASSERT_EQ(::write(client, "hello", 5), 5);
  char buffer[8] = {};
  EXPECT_EQ(::read(accepted, buffer, sizeof buffer), 5);
  for (int fd : {server, client, accepted}) ::close(fd);
  EXPECT_EQ(Run("stat -c %F s"), "socket\n");
}

TEST_F(SpecialTest, ProgramsAndScriptsRun) {
  WriteHostFile(base("tool"), "#!/bin/sh\necho script of the base\n");
  ASSERT_EQ(::chmod(base("tool").c_str(), 0755), 0);
  Start(Base::kYes);
  Run("cp /bin/echo . && printf '#!/bin/sh\\necho script $1\\n' > script && chmod +x script");
  EXPECT_EQ(Run("./echo program"), "program\n");
  EXPECT_EQ(Run("./script one"), "script one\n");
  EXPECT_EQ(Run("./tool"), "script of the base\n");
  EXPECT_NE(Shell(path(), "chmod -x script; ./script").status, 0);
}

TEST_F(SpecialTest, ARunningProgramCannotBeWritten) {
  Start();
  Run("cp /bin/sleep .");
  EXPECT_EQ(Run("./sleep 30 & pid=$!; while ! grep -q sleep /proc/$pid/comm; do :; done; "
                "(echo x > sleep) 2>/dev/null; echo $?; kill $pid"),
            "2\n");
}

TEST_F(SpecialTest, SetUidGivesNothing) {
  Start();
  Run("cp /usr/bin/id . && chmod 4755 id");
  EXPECT_EQ(Run("stat -c %a id"), "4755\n");
  EXPECT_EQ(Run("setpriv --reuid=1001 --clear-groups ./id -u"), "1001\n");
  struct statvfs s {};
  ASSERT_EQ(::statvfs(path().c_str(), &s), 0);
  EXPECT_NE(s.f_flag & ST_NOSUID, 0u);
  EXPECT_NE(s.f_flag & ST_NODEV, 0u);
}

TEST_F(SpecialTest, SetGidStaysForMembersOfTheGroup) {
  Start();
  Run("for f in member stranger; do echo x > $f; chown 0:3001 $f; chmod 2666 $f; done");
  Run("setpriv --reuid=1001 --regid=1001 --groups=3001 sh -c 'echo y >> member'");
  Run("setpriv --reuid=1001 --regid=1001 --clear-groups sh -c 'echo y >> stranger'");
  EXPECT_EQ(Run("stat -c %a member stranger"), "2666\n666\n");
}

TEST_F(SpecialTest, CopyFileRangeAndSendfile) {
  const std::string content = Pattern(300'000);
  WriteHostFile(base("from"), content);
  Start(Base::kYes);
  const File from(path("from"), O_RDONLY);
  const File to(path("to"), O_RDWR | O_CREAT);
  for (size_t left = content.size(); left > 0;) {
    const ssize_t count = ::copy_file_range(from.fd(), nullptr, to.fd(), nullptr, left, 0);
    ASSERT_GT(count, 0) << ErrnoName(errno);
    left -= static_cast<size_t>(count);
  }
  EXPECT_EQ(Read("to"), content);
  EXPECT_GE(rig().Count("COPY_FILE_RANGE") + rig().Count("COPY_FILE_RANGE_64"), 1u);
  const File sent(path("sent"), O_RDWR | O_CREAT);
  off_t at = 0;
  while (at < static_cast<off_t>(content.size())) {
    ASSERT_GT(::sendfile(sent.fd(), from.fd(), &at, content.size()), 0);
  }
  EXPECT_EQ(Read("sent"), content);
}

TEST_F(SpecialTest, BirthTimesAreSeen) {
  Start();
  Write("f", "1");
  struct statx first {
  }, second{};
  ASSERT_EQ(::statx(AT_FDCWD, path("f").c_str(), 0, STATX_BTIME | STATX_MTIME, &first), 0);
  ASSERT_NE(first.stx_mask & STATX_BTIME, 0u);
  Write("f", "2");
  ASSERT_EQ(::statx(AT_FDCWD, path("f").c_str(), 0, STATX_BTIME | STATX_MTIME, &second), 0);
  EXPECT_EQ(first.stx_btime.tv_nsec, second.stx_btime.tv_nsec);
  EXPECT_EQ(first.stx_btime.tv_sec, second.stx_btime.tv_sec);
}

TEST_F(SpecialTest, TimesOfFilesMadeTogetherAreOrdered) {
  Start();
  struct stat last {};
  for (int i = 0; i < 200; ++i) {
    const std::string name = "f" + std::to_string(i);
    Write(name, "");
    struct stat s {};
    ASSERT_EQ(::stat(path(name).c_str(), &s), 0);
    const bool later =
        s.st_mtim.tv_sec > last.st_mtim.tv_sec ||
        (s.st_mtim.tv_sec == last.st_mtim.tv_sec && s.st_mtim.tv_nsec > last.st_mtim.tv_nsec);
    EXPECT_TRUE(later) << i;
    last = s;
  }
}

TEST_F(SpecialTest, TypeAndSourceAreShown) {
  MountRigOptions options;
  options.serve.mount.source = "my workspace";
  Start(Base::kNo, options);
  EXPECT_EQ(Run("findmnt -no FSTYPE,SOURCE ."), "fuse.agentfs my workspace\n");
}

TEST_F(SpecialTest, AnXattrIsNotNewAndThereAtOnce) {
  Start();
  Write("f", "");
  const std::string file = path("f");
  constexpr int kBoth = XATTR_CREATE | XATTR_REPLACE;
  EXPECT_EQ(::setxattr(file.c_str(), "user.a", "1", 1, kBoth), -1);
  EXPECT_EQ(errno, ENODATA);
  ASSERT_EQ(::setxattr(file.c_str(), "user.a", "1", 1, 0), 0);
  EXPECT_EQ(::setxattr(file.c_str(), "user.a", "2", 1, kBoth), -1);
  EXPECT_EQ(errno, EEXIST);
}

TEST_F(SpecialTest, TerminalIoctlsAreNotForFiles) {
  Start();
  Write("f", "x");
  const File file(path("f"), O_RDONLY);
  EXPECT_EQ(::isatty(file.fd()), 0);
  EXPECT_EQ(errno, ENOTTY);
}

TEST_F(SpecialTest, FilesAndDirectoriesHaveNoFlagsAndGetNone) {
  Start();
  Write("f", "x");
  ASSERT_EQ(::mkdir(path("d").c_str(), 0755), 0);
  for (const char* name : {"f", "d"}) {
    const File file(path(name), O_RDONLY);
    int flags = -1;
    ASSERT_EQ(::ioctl(file.fd(), FS_IOC_GETFLAGS, &flags), 0) << name;
    EXPECT_EQ(flags, 0);
    EXPECT_EQ(::ioctl(file.fd(), FS_IOC_SETFLAGS, &flags), 0) << name;
    flags = FS_NOATIME_FL;
    EXPECT_EQ(::ioctl(file.fd(), FS_IOC_SETFLAGS, &flags), -1) << name;
    EXPECT_EQ(errno, EOPNOTSUPP);
    struct fsxattr attributes = {};
    attributes.fsx_projid = 7;
    ASSERT_EQ(::ioctl(file.fd(), FS_IOC_FSGETXATTR, &attributes), 0) << name;
    EXPECT_EQ(attributes.fsx_xflags, 0u);
    EXPECT_EQ(attributes.fsx_projid, 0u);
    EXPECT_EQ(::ioctl(file.fd(), FS_IOC_FSSETXATTR, &attributes), 0) << name;
    attributes.fsx_projid = 7;
    EXPECT_EQ(::ioctl(file.fd(), FS_IOC_FSSETXATTR, &attributes), -1) << name;
    EXPECT_EQ(errno, EOPNOTSUPP);
  }
}

}  // namespace
}  // namespace agentfs::posix
