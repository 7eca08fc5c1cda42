// SPDX-License-Identifier: Apache-2.0
//
// Several processes on one file: appending, locks, notification.
#include <poll.h>
#include <sys/file.h>
#include <sys/inotify.h>

#include <thread>
#include <vector>

#include "mount_test.h"

namespace agentfs::posix {
namespace {

class SharingTest : public MountTest {};

TEST_F(SharingTest, ManyAppendersLoseNothing) {
  Start();
  Write("log", "");
  constexpr int kWriters = 8, kLines = 200;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      const File file(path("log"), O_WRONLY | O_APPEND);
      for (int i = 0; i < kLines; ++i) {
        const std::string line = std::to_string(w) + ":" + std::to_string(i) + "\n";
        EXPECT_TRUE(file.WriteAll(line));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  std::vector<int> next(kWriters, 0);
  const std::string log = Read("log");
  int lines = 0;
  for (size_t at = 0; at < log.size(); ++lines) {
    const size_t end = log.find('\n', at);
    int writer = -1, number = -1;
    ASSERT_EQ(std::sscanf(log.c_str() + at, "%d:%d\n", &writer, &number), 2);
    ASSERT_EQ(number, next.at(static_cast<size_t>(writer))++);
    at = end + 1;
  }
  EXPECT_EQ(lines, kWriters * kLines);
}

TEST_F(SharingTest, AppendingProcessesLoseNothing) {
  Start();
  Run("for w in 1 2 3 4; do (for i in $(seq 100); do echo line >> log; done) & done; wait");
  EXPECT_EQ(Run("wc -l < log"), "400\n");
}

TEST_F(SharingTest, FlockExcludesOtherDescriptors) {
  Start();
  Write("f", "");
  const File a(path("f"), O_RDWR), b(path("f"), O_RDWR);
  ASSERT_EQ(::flock(a.fd(), LOCK_EX), 0);
  EXPECT_EQ(::flock(b.fd(), LOCK_EX | LOCK_NB), -1);
  EXPECT_EQ(errno, EWOULDBLOCK);
  EXPECT_EQ(Shell(path(), "flock -n f true").status, 1);
  ASSERT_EQ(::flock(a.fd(), LOCK_UN), 0);
  EXPECT_EQ(::flock(b.fd(), LOCK_SH | LOCK_NB), 0);
}

TEST_F(SharingTest, RecordLocksExcludeOtherOwnersByRange) {
  Start();
  Write("f", std::string(100, 'x'));
  const File a(path("f"), O_RDWR), b(path("f"), O_RDWR);
  struct flock first {};
  first.l_type = F_WRLCK;
  first.l_whence = SEEK_SET;
  first.l_len = 10;
  struct flock second = first, both = first;
  second.l_start = 10;
  both.l_len = 20;
  ASSERT_EQ(::fcntl(a.fd(), F_OFD_SETLK, &first), 0);
  EXPECT_EQ(::fcntl(b.fd(), F_OFD_SETLK, &second), 0);
  EXPECT_EQ(::fcntl(b.fd(), F_OFD_SETLK, &both), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(SharingTest, AWaiterGetsTheLockWhenItIsGivenUp) {
  Start();
  Write("f", "");
  const File held(path("f"), O_RDWR);
  ASSERT_EQ(::flock(held.fd(), LOCK_EX), 0);
  std::thread waiter([&] {
    const File file(path("f"), O_RDWR);
    EXPECT_EQ(::flock(file.fd(), LOCK_EX), 0);
    EXPECT_EQ(file.ReadAll(), "done");
  });
  ASSERT_TRUE(held.WriteAll("done"));
  ASSERT_EQ(::flock(held.fd(), LOCK_UN), 0);
  waiter.join();
}

TEST_F(SharingTest, InotifyTellsOfChanges) {
  Start();
  ASSERT_EQ(::mkdir(path("d").c_str(), 0755), 0);
  const int queue = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  ASSERT_GE(queue, 0);
  ASSERT_GE(::inotify_add_watch(queue, path("d").c_str(),
                                IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_CLOSE_WRITE),
            0);
  Write("d/f", "x");
  ASSERT_EQ(::rename(path("d/f").c_str(), path("d/g").c_str()), 0);
  ASSERT_EQ(::unlink(path("d/g").c_str()), 0);
  std::vector<std::string> events;
  alignas(inotify_event) char buffer[4096];
  pollfd ready{queue, POLLIN, 0};
  while (events.size() < 4 && ::poll(&ready, 1, 5000) == 1) {
    const ssize_t count = ::read(queue, buffer, sizeof buffer);
    for (ssize_t at = 0; at < count;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      const char* kind = (event->mask & IN_CREATE) != 0     ? "create "
                         : (event->mask & IN_DELETE) != 0   ? "delete "
                         : (event->mask & IN_MOVED_TO) != 0 ? "moved "
                                                            : "written ";
      events.push_back(kind + std::string(event->name));
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
  ::close(queue);
  EXPECT_THAT(events, testing::ElementsAre("create f", "written f", "moved g", "delete g"));
}

}  // namespace
}  // namespace agentfs::posix
