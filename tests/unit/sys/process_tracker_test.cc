// SPDX-License-Identifier: Apache-2.0
#include "sys/process_tracker.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

namespace agentfs {
namespace {

// A child that runs `body`, having told its own number on the pipe, and is killed at the end.
class Child {
 public:
  explicit Child(const std::function<void()>& body) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      (void)!::write(ends[1], "x", 1);
      body();
      ::_exit(0);
    }
    ::close(ends[1]);
    char ready;
    (void)!::read(ends[0], &ready, 1);
    ::close(ends[0]);
  }
  ~Child() { End(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void End() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  uint32_t pid() const { return static_cast<uint32_t>(pid_); }

 private:
  pid_t pid_ = 0;
};

void WaitForEver() {
  for (;;) ::pause();
}

Caller By(uint32_t pid) { return Caller{.uid = 7, .pid = pid}; }

// Returns once `done` holds; the test's own time limit is the end of it.
void Await(const std::function<bool()>& done) {
  while (!done()) std::this_thread::yield();
}

uint32_t OnlyChildOf(uint32_t pid) {
  uint32_t child = 0;
  Await([&] {
    const std::string name = std::to_string(pid);
    std::ifstream file("/proc/" + name + "/task/" + name + "/children");
    return static_cast<bool>(file >> child);
  });
  return child;
}

TEST(ProcessTrackerTest, AProcessIsToldWithItsParentAndName) {
  ProcessTracker tracker(AuditLevel::kChanges);
  const Child child(WaitForEver);
  const auto process = tracker.Identify(By(child.pid()), "main", NodeId(1));
  EXPECT_EQ(process->pid, child.pid());
  EXPECT_EQ(process->ppid, static_cast<uint32_t>(::getpid()));
  EXPECT_EQ(process->uid, 7u);
  EXPECT_EQ(process->exec, 0u);
  EXPECT_EQ(process->comm, "sys_test");
  EXPECT_EQ(tracker.Identify(By(child.pid()), "main", NodeId(1)), process);
}

TEST(ProcessTrackerTest, AnotherProgramInTheSameProcessHasItsOwnName) {
  ProcessTracker tracker(AuditLevel::kChanges);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Child child([&] {
    char go;
    (void)!::read(ends[0], &go, 1);
    ::execl("/bin/sleep", "sleep", "100", nullptr);
  });
  EXPECT_EQ(tracker.Identify(By(child.pid()), "main", NodeId(1))->comm, "sys_test");
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  Await([&] { return tracker.Identify(By(child.pid()), "main", NodeId(1))->comm == "sleep"; });
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(ProcessTrackerTest, ANumberThatIsGivenAgainIsAnotherProcess) {
  ProcessTracker tracker(AuditLevel::kChanges);
  for (int i = 0; i < 200; ++i) {
    Child first(WaitForEver);
    const uint32_t pid = first.pid();
    const auto before = tracker.Identify(By(pid), "main", NodeId(1));
    first.End();
    std::ofstream("/proc/sys/kernel/ns_last_pid") << pid - 1 << std::flush;
    const Child second(WaitForEver);
    if (second.pid() != pid) continue;
    const auto after = tracker.Identify(By(pid), "main", NodeId(1));
    EXPECT_NE(after, before);
    EXPECT_EQ(after->pid, pid);
    return;
  }
  GTEST_SKIP() << "the kernel does not give a number again on request (ns_last_pid)";
}

TEST(ProcessTrackerTest, WhatRunsInAnExecsNamespaceBelongsToIt) {
  ProcessTracker tracker(AuditLevel::kChanges);
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  // Like a client and its sandbox: the first process inside starts one that forks twice.
  const auto sandbox = [&](const char* exec) {
    char ready;
    (void)!::read(go[0], &ready, 1);
    ::setenv("AGENTFS_EXEC", exec, 1);
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(1);
    if (::fork() == 0) {
      if (::fork() == 0) {
        if (::fork() == 0) WaitForEver();
        ::_exit(0);
      }
      ::wait(nullptr);
      WaitForEver();
    }
    WaitForEver();
  };
  if (::geteuid() != 0) GTEST_SKIP() << "only root may make a pid namespace without more";
  const Child client([&] { sandbox("5"); });
  tracker.AddExec({.id = 5, .client = client.pid(), .branch = "main", .level = AuditLevel::kAll});
  ASSERT_EQ(::write(go[1], "x", 1), 1);
  const uint32_t first = OnlyChildOf(client.pid());
  // Once its parent has gone, which is when the first process has waited for it.
  Await([&] { return tracker.Identify(By(OnlyChildOf(first)), "main", NodeId(1))->ppid == first; });
  const auto process = tracker.Identify(By(OnlyChildOf(first)), "main", NodeId(1));
  EXPECT_EQ(process->exec, 5u);
  EXPECT_EQ(process->level, AuditLevel::kAll);
  EXPECT_EQ(tracker.Identify(By(first), "main", NodeId(1))->exec, 5u);
  EXPECT_EQ(tracker.Identify(By(static_cast<uint32_t>(::getppid())), "main", NodeId(1))->exec, 0u);
  // Pages that the kernel writes are the only exec's of the branch.
  const Caller kernel{.written_back = true};
  EXPECT_EQ(tracker.Identify(kernel, "main", NodeId(1))->exec, 5u);
  EXPECT_EQ(tracker.Identify(kernel, "other", NodeId(1))->exec, 0u);
  tracker.EndExec(5);
  EXPECT_EQ(tracker.Identify(By(first), "main", NodeId(1))->exec, 0u);
  ::kill(static_cast<pid_t>(first), SIGKILL);
  ::close(go[0]);
  ::close(go[1]);
}

size_t OpenNamespaces() {
  size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(each, gone).string().starts_with("pid:[")) ++count;
  }
  return count;
}

// A command may make as many namespaces as it likes: they are not all held.
TEST(ProcessTrackerTest, MoreNamespacesThanItHoldsAreStillTold) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may make a pid namespace without more";
  ProcessTracker tracker(AuditLevel::kChanges);
  constexpr int kNamespaces = 100;
  const Child client([] {
    for (int i = 0; i < kNamespaces; ++i) {
      if (::fork() != 0) continue;
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::unshare(CLONE_NEWPID) != 0) ::_exit(1);
      if (::fork() == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      WaitForEver();
    }
    WaitForEver();
  });
  tracker.AddExec({.id = 5, .client = client.pid(), .branch = "main"});
  const std::string name = std::to_string(client.pid());
  std::vector<uint32_t> makers;
  Await([&] {
    makers.clear();
    std::ifstream file("/proc/" + name + "/task/" + name + "/children");
    for (uint32_t pid; file >> pid;) makers.push_back(pid);
    return makers.size() == kNamespaces;
  });
  for (int round = 0; round < 2; ++round) {
    for (const uint32_t maker : makers) {
      EXPECT_EQ(tracker.Identify(By(OnlyChildOf(maker)), "main", NodeId(1))->exec, 5u);
    }
  }
  EXPECT_LE(OpenNamespaces(), 64u);
}

TEST(ProcessTrackerTest, MoreThreadsThanItKnowsAreStillTold) {
  ProcessTracker tracker(AuditLevel::kChanges);
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 300; ++i) children.push_back(std::make_unique<Child>(WaitForEver));
  for (int round = 0; round < 2; ++round) {
    for (const auto& child : children) {
      EXPECT_EQ(tracker.Identify(By(child->pid()), "main", NodeId(1))->pid, child->pid());
    }
  }
}

TEST(ProcessTrackerTest, OneThatCannotBeSeenIsOnlyANumber) {
  ProcessTracker tracker(AuditLevel::kChanges);
  const auto process = tracker.Identify(By(0x7fffffff), "main", NodeId(1));
  EXPECT_EQ(process->pid, 0x7fffffffu);
  EXPECT_EQ(process->comm, "");
}

}  // namespace
}  // namespace agentfs
