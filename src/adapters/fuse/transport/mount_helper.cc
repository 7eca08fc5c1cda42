// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/mount_helper.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

extern char** environ;

namespace agentfs::fuse {
namespace {

constexpr char kHelper[] = "fusermount3";
constexpr int kChannelInHelper = 3;
constexpr char kChannelVariable[] = "_FUSE_COMMFD=3";

struct Pair {
  Fd ours;
  Fd helpers;
};

// Out of the way of the numbers that the helper's descriptors get.
Result<Fd> MovedUp(int fd) {
  const Fd owner(fd);
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, 10);
  if (moved < 0) return ErrnoError();
  return Fd(moved);
}

Result<Pair> MakeChannel() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoError();
  Fd ours(ends[0]);
  AGENTFS_ASSIGN(Fd helpers, MovedUp(ends[1]));
  return Pair{std::move(ours), std::move(helpers)};
}

Result<Pair> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoError();
  Fd ours(ends[0]);
  AGENTFS_ASSIGN(Fd helpers, MovedUp(ends[1]));
  return Pair{std::move(ours), std::move(helpers)};
}

// A helper that runs, and what it says.
struct Running {
  pid_t pid;
  Fd words;
};

class SpawnPlan {
 public:
  SpawnPlan(int words, int channel) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, words, 1);
    posix_spawn_file_actions_adddup2(&actions_, words, 2);
    if (channel >= 0) posix_spawn_file_actions_adddup2(&actions_, channel, kChannelInHelper);
    sigset_t signals;
    posix_spawnattr_init(&attributes_);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGCHLD);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  Result<pid_t> Run(const std::vector<std::string>& arguments) const {
    std::vector<char*> argv;
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.data()));
    argv.push_back(nullptr);
    std::vector<char*> environment{const_cast<char*>(kChannelVariable),
                                   const_cast<char*>("LC_ALL=C")};
    for (char** variable = environ; *variable != nullptr; ++variable) {
      environment.push_back(*variable);
    }
    environment.push_back(nullptr);
    pid_t pid = 0;
    const int failed =
        ::posix_spawnp(&pid, kHelper, &actions_, &attributes_, argv.data(), environment.data());
    if (failed == ENOENT) {
      return Error(ENOENT, "fusermount3 is not installed, and only it can mount without privilege",
                   "install the package fuse3");
    }
    if (failed != 0) return Error(failed, fmt::format("cannot run {}", kHelper));
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

Result<Running> Run(const std::vector<std::string>& arguments, Fd channel) {
  AGENTFS_ASSIGN(Pair words, MakePipe());
  const SpawnPlan plan(words.helpers.get(), channel ? channel.get() : -1);
  AGENTFS_ASSIGN(const pid_t pid, plan.Run(arguments));
  return Running{pid, std::move(words.ours)};
}

std::string ReadAll(const Fd& fd) {
  std::string text;
  char part[512];
  for (;;) {
    const ssize_t got = ::read(fd.get(), part, sizeof(part));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(part, static_cast<size_t>(got));
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

int CodeOf(std::string_view words) {
  for (int code : {EBUSY, EACCES, EPERM, ENOENT, ENODEV, ENOTCONN, EINVAL}) {
    if (words.find(::strerrordesc_np(code)) != std::string_view::npos) return code;
  }
  return EPERM;
}

std::string RemedyFor(std::string_view words) {
  if (words.find("user_allow_other") != std::string_view::npos) {
    return "write the line user_allow_other into /etc/fuse.conf, or mount without allow_other";
  }
  if (words.find("/dev/fuse") != std::string_view::npos) {
    return "let users open /dev/fuse: chmod 666 /dev/fuse; if there is none: modprobe fuse";
  }
  if (CodeOf(words) == EBUSY) return "end the programs that use it, or unmount it lazily";
  return "mount at a directory that is yours";
}

// Until it has ended; its words are the error if it failed.
Result<void> Finish(Running helper) {
  const std::string words = ReadAll(helper.words);
  int status = 0;
  while (::waitpid(helper.pid, &status, 0) < 0) {
    if (errno == EINTR) continue;
    status = words.empty() ? 0 : 1;  // a process that ignores SIGCHLD cannot ask
    break;
  }
  if (status == 0) return Ok();
  if (words.empty()) return Error(EIO, fmt::format("{} failed without a word", kHelper));
  return Error(CodeOf(words), words, RemedyFor(words));
}

Fd ReceiveDescriptor(const Fd& channel) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got;
  do {
    got = ::recvmsg(channel.get(), &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return {};
  const cmsghdr* part = CMSG_FIRSTHDR(&message);
  if (part == nullptr || part->cmsg_type != SCM_RIGHTS) return {};
  int fd;
  std::memcpy(&fd, CMSG_DATA(part), sizeof(fd));
  return Fd(fd);
}

std::string OptionsFor(const MountOptions& options) {
  std::string source;
  for (char c : options.source) {
    if (c == ',' || c == '\\') source += '\\';
    source += c;
  }
  std::string text = fmt::format("fsname={},subtype=agentfs,nosuid,nodev,noatime,max_read={}",
                                 source, options.max_read);
  if (options.read_only) text += ",ro";
  if (options.default_permissions) text += ",default_permissions";
  if (options.allow_other) text += ",allow_other";
  return text;
}

}  // namespace

bool HasMountHelper() {
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable ? variable : "/usr/bin:/bin";
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const std::string program = std::string(rest.substr(0, end)) + "/" + kHelper;
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (::access(program.c_str(), X_OK) == 0) return true;
  }
  return false;
}

Result<Fd> MountWithHelper(const std::string& target, const MountOptions& options) {
  AGENTFS_ASSIGN(Pair channel, MakeChannel());
  AGENTFS_ASSIGN(Running helper, Run({kHelper, "-o", OptionsFor(options), "--", target},
                                     std::move(channel.helpers)));
  Fd device = ReceiveDescriptor(channel.ours);
  AGENTFS_TRY(Finish(std::move(helper)));
  if (!device) return Error(EIO, fmt::format("{} gave no descriptor", kHelper));
  return device;
}

Result<void> UnmountWithHelper(const std::string& target, UnmountMode mode) {
  std::vector<std::string> arguments{kHelper, "-u"};
  if (mode != UnmountMode::kPlain) arguments.push_back("-z");
  arguments.insert(arguments.end(), {"--", target});
  AGENTFS_ASSIGN(Running helper, Run(arguments, {}));
  return Finish(std::move(helper));
}

}  // namespace agentfs::fuse
