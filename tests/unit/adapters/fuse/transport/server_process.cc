// SPDX-License-Identifier: Apache-2.0
#include "server_process.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "memory_handler.h"

namespace agentfs::fuse::test {
namespace {

constexpr uid_t kNobodyId = 65534;

int CountSockets() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    count += std::filesystem::read_symlink(entry.path(), gone).string().starts_with("socket:");
  }
  return count;
}

bool WriteText(const char* file, const std::string& text) {
  auto fd = OpenAt(AT_FDCWD, file, O_WRONLY);
  return fd.ok() &&
         ::write(fd->get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool Become(As who) {
  if (who == As::kRoot) return true;
  if (::setgroups(0, nullptr) != 0 || ::setgid(kNobodyId) != 0 || ::setuid(kNobodyId) != 0) {
    return false;
  }
  ::prctl(PR_SET_DUMPABLE, 1);  // /proc/self stays ours
  if (who == As::kNobody) return true;
  const std::string map = "0 " + std::to_string(kNobodyId) + " 1";
  return ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && WriteText("/proc/self/setgroups", "deny") &&
         WriteText("/proc/self/uid_map", map) && WriteText("/proc/self/gid_map", map);
}

class Server {
 public:
  Server(std::string root, ServedOptions options)
      : root_(std::move(root)), options_(std::move(options)) {}

  std::string Start() {
    const int before = CountSockets();
    auto point = MountPoint::Mount(root_, options_.mount);
    if (!point.ok()) {
      return point.error().message() + " | " + std::string(point.error().remedy());
    }
    point_.emplace(std::move(point).value());
    auto capabilities = Negotiate(point_->device(), options_.wanted);
    if (!capabilities.ok()) return capabilities.error().message();
    handler_.Put("file", "content");
    auto transport = StartTransport(point_->device(), *capabilities, handler_);
    if (!transport.ok()) return transport.error().message();
    transport_ = std::move(transport).value();
    auto content = ReadWhole(root_ + "/file");
    if (!content.ok()) return content.error().message();
    const int children = ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD ? 0 : 1;
    return "read " + *content + ", left " + std::to_string(CountSockets() - before) +
           " sockets and " + std::to_string(children) + " children";
  }

  bool Leave() {
    if (!point_ || !point_->Unmount(UnmountMode::kPlain).ok()) return false;
    transport_->Wait();
    return true;
  }

 private:
  std::string root_;
  ServedOptions options_;
  MemoryHandler handler_;
  std::optional<MountPoint> point_;
  std::unique_ptr<Transport> transport_;
};

[[noreturn]] void Run(As who, const std::string& root, const ServedOptions& options, int report,
                      int leave) {
  auto server = std::make_unique<Server>(root, options);
  const std::string text = Become(who) ? server->Start() : "cannot become that user";
  if (::write(report, text.data(), text.size()) < 0) ::_exit(2);
  ::close(report);
  char byte;
  while (::read(leave, &byte, 1) < 0 && errno == EINTR) {
  }
  const bool left = server->Leave();
  server.reset();  // its threads have ended; joined they are no leak either
  ::_exit(left ? 0 : 1);
}

std::string ReadToEnd(int fd) {
  std::string text;
  char part[256];
  ssize_t got;
  while ((got = ::read(fd, part, sizeof(part))) > 0) text.append(part, static_cast<size_t>(got));
  return text;
}

}  // namespace

ServerProcess::ServerProcess(As who, const ServedOptions& options) {
  if (who != As::kRoot && ::chown(root().c_str(), kNobodyId, kNobodyId) != 0) std::abort();
  int report[2], leave[2];
  if (::pipe2(report, O_CLOEXEC) != 0 || ::pipe2(leave, O_CLOEXEC) != 0) std::abort();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(report[0]);
    ::close(leave[1]);
    Run(who, root(), options, report[1], leave[0]);
  }
  ::close(report[1]);
  ::close(leave[0]);
  leave_ = Fd(leave[1]);
  watchdog_.emplace(root());
  report_ = ReadToEnd(report[0]);
  ::close(report[0]);
}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) Kill();
}

bool ServerProcess::WaitForEnd() {
  int status = -1;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status == 0;
}

void ServerProcess::Kill() {
  ::kill(pid_, SIGKILL);
  WaitForEnd();
}

bool ServerProcess::Leave() {
  leave_.Reset();
  return WaitForEnd();
}

}  // namespace agentfs::fuse::test
