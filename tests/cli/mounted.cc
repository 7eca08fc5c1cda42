// SPDX-License-Identifier: Apache-2.0
#include "mounted.h"

#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "sys/mount_table.h"

namespace agentfs {
namespace {

namespace fs = std::filesystem;

// A test that hangs is ended by taking its server away.
constexpr auto kMaxDuration = std::chrono::seconds(90);

std::string CommandLine(const fs::path& process) {
  std::ifstream in(process / "cmdline", std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();  // a process that ends meanwhile cannot be read
  return text.str();
}

// Servers of workspaces below `directory`.
std::vector<pid_t> ServersOf(const std::string& directory) {
  std::vector<pid_t> pids;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string line = CommandLine(it->path());
    if (line.find(std::string("serve") + '\0') == std::string::npos ||
        line.find(directory + "/") == std::string::npos) {
      continue;
    }
    pids.push_back(std::atoi(it->path().filename().c_str()));
  }
  return pids;
}

}  // namespace

MountCliTest::MountCliTest() {
  watchdog_ = std::thread([this] {
    std::unique_lock lock(mu_);
    if (done_.wait_for(lock, kMaxDuration, [this] { return ended_; })) return;
    ADD_FAILURE() << "took too long";
    CleanUp();
  });
}

MountCliTest::~MountCliTest() {
  {
    std::lock_guard lock(mu_);
    ended_ = true;
  }
  done_.notify_all();
  watchdog_.join();
  CleanUp();
}

void MountCliTest::CleanUp() {
  const std::string scratch = At("");
  for (pid_t pid : ServersOf(At("").substr(0, scratch.size() - 1))) ::kill(pid, SIGKILL);
  auto table = ReadMountTable();
  for (const MountEntry& entry : *table) {
    // A session with all branches is mounted elsewhere.
    if (entry.point.starts_with(scratch) || (entry.source + "/").starts_with(scratch)) {
      ::umount2(entry.point.c_str(), MNT_DETACH);
      ::rmdir(entry.point.c_str());
    }
  }
}

void MountCliTest::SetUp() {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, who becomes others too";
  if (::access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "there is no /dev/fuse here";
  MakeHostDirectory("base");
  MakeHostDirectory("base/src");
  MakeHostDirectory("mnt");
  WriteHost("base/README", "read me\n");
  WriteHost("base/src/a.c", "int a;\n");
  if (user_ != 0) {
    for (const char* name : {"", "base", "base/src", "base/README", "base/src/a.c", "mnt"}) {
      ASSERT_EQ(::chown(At(name).c_str(), user_, user_), 0);
    }
  }
  RunOptions options;
  options.user = user_;
  Outcome init = Run({"init", At("base"), "--state", state()}, options);
  ASSERT_EQ(init.status, 0) << init.err;
}

Outcome MountCliTest::Try(std::vector<std::string> arguments, const std::string& input) {
  arguments.insert(arguments.begin(), {"--workspace", state()});
  RunOptions options;
  options.user = user_;
  options.input = input;
  options.environment = environment_;
  options.directory = directory_;
  return Run(arguments, options);
}

Outcome MountCliTest::Do(std::vector<std::string> arguments, const std::string& input) {
  const std::string name = testing::PrintToString(arguments);
  Outcome outcome = Try(std::move(arguments), input);
  EXPECT_EQ(outcome.status, 0) << name << outcome.err << outcome.out;
  return outcome;
}

void MountCliTest::Write(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out << content;
  out.close();
  EXPECT_TRUE(out.good()) << path;
}

std::string MountCliTest::Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

bool MountCliTest::IsMounted(const std::string& point) {
  auto table = ReadMountTable();
  for (const MountEntry& entry : *table) {
    if (entry.point == point && entry.type == "fuse.agentfs") return true;
  }
  return false;
}

pid_t MountCliTest::ServerPid() const {
  const auto pids = ServersOf(state().substr(0, state().rfind('/')));
  return pids.empty() ? 0 : pids.front();
}

void MountCliTest::WaitForEnd(pid_t pid) {
  // It may stay as a zombie for whoever has taken it over: that has no command line.
  const fs::path process = "/proc/" + std::to_string(pid);
  while (!CommandLine(process).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void MountCliTest::WaitForNoServer() const {
  while (ServerPid() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void MountCliTest::KillServer() {
  const pid_t pid = ServerPid();
  ASSERT_GT(pid, 0);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
}

}  // namespace agentfs
