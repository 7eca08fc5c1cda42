// SPDX-License-Identifier: Apache-2.0
#include "victim.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace agentfs::crash {
namespace {

using std::chrono::steady_clock;

constexpr char kFlag[] = "--victim";
constexpr int kReportFd = 3;
constexpr std::chrono::seconds kPatience(30);

bool Send(const Report& report) {
  return ::write(kReportFd, &report, sizeof report) == static_cast<ssize_t>(sizeof report);
}

uint64_t LogBytes(const Setup& setup, const std::string& state) {
  struct stat found {};
  const std::string file = StoreFile(setup, state) + "-wal";
  return ::stat(file.c_str(), &found) == 0 ? static_cast<uint64_t>(found.st_size) : 0;
}

Setup ParseSetup(const char* text) {
  Setup setup;
  setup.store = text[0] == 's' ? StoreKind::kSqlite : StoreKind::kLmdb;
  setup.base = text[1] == 'b' ? Base::kHost : Base::kNone;
  setup.large = text[2] == 'r' ? LargeContent::kInRows : LargeContent::kInObjects;
  return setup;
}

std::string FormatSetup(const Setup& setup) {
  return {setup.store == StoreKind::kSqlite ? 's' : 'l', setup.base == Base::kHost ? 'b' : '-',
          setup.large == LargeContent::kInRows ? 'r' : 'o'};
}

}  // namespace

std::optional<int> RunVictim(int argc, char** argv) {
  if (argc != 7 || std::strcmp(argv[1], kFlag) != 0) return std::nullopt;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Setup setup = ParseSetup(argv[2]);
  const std::string state = argv[3];
  const uint64_t seed = std::strtoull(argv[5], nullptr, 10);
  const auto interval = static_cast<uint32_t>(std::strtoul(argv[6], nullptr, 10));
  auto volume = OpenVolume(setup, state, argv[4], interval);
  if (!volume.ok()) {
    std::fprintf(stderr, "the victim cannot open: %s\n", volume.error().message().c_str());
    return 1;
  }
  Worker worker(**volume);
  if (!Send({0, 0, LogBytes(setup, state)})) return 1;
  for (uint32_t i = 1;; ++i) {
    const int code = worker.Perform(MakeOperation(seed, i));
    if (!Send({i, code, LogBytes(setup, state)})) return 1;
  }
}

Victim::Victim(const Workspace& workspace, uint64_t seed, uint32_t commit_interval_ms) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "no pipe";
    return;
  }
  std::string arguments[] = {"crash_test",
                             kFlag,
                             FormatSetup(workspace.setup()),
                             workspace.state_directory(),
                             workspace.base_directory(),
                             std::to_string(seed),
                             std::to_string(commit_interval_ms)};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  // A descriptor that is itself number 3 would be closed by exec; adddup2 clears its flag.
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], kReportFd);
  const int code = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  pipe_ = ends[0];
  if (code != 0) {
    pid_ = -1;
    ADD_FAILURE() << "cannot start the victim: " << std::strerror(code);
  }
}

Victim::~Victim() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (pipe_ >= 0) ::close(pipe_);
}

std::optional<Report> Victim::Read(std::optional<steady_clock::time_point> deadline) {
  Report report;
  size_t have = 0;
  while (have < sizeof report) {
    if (deadline) {
      const auto left =
          std::chrono::duration_cast<std::chrono::microseconds>(*deadline - steady_clock::now());
      if (left.count() <= 0) return std::nullopt;
      pollfd poll{pipe_, POLLIN, 0};
      const timespec time{left.count() / 1'000'000, left.count() % 1'000'000 * 1000};
      if (::ppoll(&poll, 1, &time, nullptr) <= 0) continue;
    }
    const ssize_t n = ::read(pipe_, reinterpret_cast<char*>(&report) + have, sizeof report - have);
    if (n == 0) return std::nullopt;
    if (n < 0 && errno != EINTR) return std::nullopt;
    if (n > 0) have += static_cast<size_t>(n);
  }
  return report;
}

std::vector<Report> Victim::Kill(std::vector<Report> reports) {
  ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
      << "the victim ended by itself, status " << status;
  while (auto report = Read(std::nullopt)) reports.push_back(*report);
  return reports;
}

std::vector<Report> Victim::KillAfterReports(size_t count) {
  std::vector<Report> reports;
  const auto deadline = steady_clock::now() + kPatience;
  while (reports.size() < count) {
    auto report = Read(deadline);
    if (!report) {
      ADD_FAILURE() << "the victim fell silent after " << reports.size() << " reports";
      break;
    }
    reports.push_back(*report);
  }
  return Kill(std::move(reports));
}

std::vector<Report> Victim::KillAfter(std::chrono::microseconds time) {
  std::vector<Report> reports;
  const auto deadline = steady_clock::now() + time;
  while (auto report = Read(deadline)) reports.push_back(*report);
  return Kill(std::move(reports));
}

}  // namespace agentfs::crash
