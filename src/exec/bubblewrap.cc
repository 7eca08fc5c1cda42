// SPDX-License-Identifier: Apache-2.0
#include "exec/bubblewrap.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "sys/fd.h"

namespace agentfs {
namespace {

using What = SandboxMount::What;

// What root needs to install packages and hand files to other users. None of them concerns
// mounts, devices, the kernel, or processes outside.
constexpr std::array<const char*, 11> kKeptCapabilities = {
    "CAP_CHOWN",   "CAP_DAC_OVERRIDE",     "CAP_FOWNER",    "CAP_FSETID",
    "CAP_KILL",    "CAP_SETGID",           "CAP_SETUID",    "CAP_SETPCAP",
    "CAP_SETFCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT"};

class Arguments {
 public:
  void Add(std::initializer_list<std::string> words) { all_.insert(all_.end(), words); }
  void AddMount(const SandboxMount& mount, bool read_only);
  void AddParents(const SandboxMount& mount, const std::string& top);
  std::vector<std::string> Take() { return std::move(all_); }

 private:
  std::vector<std::string> all_;
};

void Arguments::AddMount(const SandboxMount& mount, bool read_only) {
  switch (mount.what) {
    case What::kReadOnly:
      // An entry of a directory may have gone since it was listed.
      return Add({mount.path == "/" ? "--ro-bind" : "--ro-bind-try", mount.source, mount.path});
    case What::kReal:
    case What::kWorkspace:
    case What::kCow:
      return Add({read_only ? "--ro-bind" : "--bind", mount.source, mount.path});
    case What::kHidden:
      // A device that may not be used as one cannot be opened.
      if (mount.kind == PathKind::kFile) return Add({"--ro-bind", "/dev/null", mount.path});
      return Add({"--perms", "0000", "--tmpfs", mount.path});
    case What::kPartial:
      // The root is bubblewrap's own, and empty.
      if (mount.path == "/") return;
      return Add({"--perms", "0755", "--tmpfs", mount.path});
    case What::kLink:
      return Add({"--symlink", mount.source, mount.path});
    case What::kPrivate:
      return Add({"--perms", fmt::format("{:04o}", mount.mode), "--tmpfs", mount.path});
    case What::kProc:
      return Add({"--proc", mount.path});
    case What::kDev:
      return Add({"--dev", mount.path});
  }
}

// Bubblewrap makes what is missing for its own user alone.
void Arguments::AddParents(const SandboxMount& mount, const std::string& top) {
  for (size_t at = top.size() + 1; (at = mount.path.find('/', at)) != std::string::npos; ++at) {
    Add({"--perms", "0755", "--dir", mount.path.substr(0, at)});
  }
}

std::string ReadToEnd(int fd) {
  std::string text;
  char piece[512];
  for (ssize_t n; (n = ::read(fd, piece, sizeof(piece))) > 0;) text.append(piece, n);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

Result<std::string> FindBubblewrap() {
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable ? variable : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(':'), rest.size());
    std::string program = std::string(rest.substr(0, end)) + "/bwrap";
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (program.front() == '/' && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return Error(EOPNOTSUPP, "bubblewrap is not installed, and nothing is run without a sandbox",
               "install it: apt-get install bubblewrap");
}

std::vector<std::string> BubblewrapArguments(const SandboxPlan& plan) {
  Arguments arguments;
  arguments.Add({"--die-with-parent", "--as-pid-1", "--unshare-pid", "--unshare-ipc"});
  if (!plan.network) arguments.Add({"--unshare-net"});
  if (plan.is_root) {
    arguments.Add({"--cap-drop", "ALL"});
    for (const char* capability : kKeptCapabilities) arguments.Add({"--cap-add", capability});
  } else {
    arguments.Add({"--unshare-user"});
  }
  const SandboxMount* fresh = nullptr;
  for (const SandboxMount& mount : plan.mounts) {
    if (fresh != nullptr && mount.path.starts_with(fresh->path + "/")) {
      arguments.AddParents(mount, fresh->path);
    }
    arguments.AddMount(mount, plan.read_only);
    if (mount.what == What::kPrivate) fresh = &mount;
  }
  // After what may have been mounted in them.
  for (const SandboxMount& mount : plan.mounts) {
    const bool hidden = mount.what == What::kHidden && mount.kind == PathKind::kDirectory;
    if (hidden || mount.what == What::kPartial) {
      arguments.Add({"--remount-ro", mount.path});
    }
  }
  return arguments.Take();
}

std::string RemedyForBubblewrap(const std::string& words) {
  if (words.find("uid map") != std::string::npos ||
      words.find("RTM_NEWADDR") != std::string::npos) {
    return "AppArmor restricts user namespaces here: as root, "
           "sysctl kernel.apparmor_restrict_unprivileged_userns=0";
  }
  if (words.find("namespace") != std::string::npos) {
    return "let users make namespaces: as root, sysctl kernel.unprivileged_userns_clone=1 "
           "user.max_user_namespaces=10000; in a container: --security-opt seccomp=unconfined "
           "--cap-add SYS_ADMIN";
  }
  return "'agentfs doctor' says what this machine lacks";
}

Result<void> TryBubblewrap(const std::string& program) {
  SandboxPlan plan;
  plan.is_root = ::geteuid() == 0;
  plan.mounts = {{What::kReadOnly, "/", "/"}, {What::kDev, "/dev", ""}, {What::kProc, "/proc", ""}};
  std::vector<std::string> words = BubblewrapArguments(plan);
  words.insert(words.begin(), program);
  words.insert(words.end(), {"--", "/bin/true"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoError();
  Fd said(ends[0]), write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDERR_FILENO);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return Error(failed).WithContext("cannot run " + program);
  write_end.Reset();
  const std::string text = ReadToEnd(said.get());
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return Ok();
  return Error(EPERM, text.empty() ? "bubblewrap failed without a word" : text,
               RemedyForBubblewrap(text));
}

}  // namespace agentfs
