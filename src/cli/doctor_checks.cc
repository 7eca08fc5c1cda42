// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_checks.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "adapters/fuse/mount.h"
#include "adapters/fuse/transport/mount_helper.h"
#include "adapters/fuse/transport/uring_switch.h"
#include "agentfs/stores.h"
#include "exec/bubblewrap.h"
#include "sys/fd.h"

namespace agentfs::cli {
namespace {

using State = Finding::State;

std::string FirstLine(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

Finding Lacking(std::string name, const Error& error) {
  return {std::move(name), State::kMissing, std::string(error.message()),
          std::string(error.remedy())};
}

// An empty directory, removed with what is in it.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& parent)
      : path_(parent + "/.agentfs-doctor.XXXXXX") {
    made_ = ::mkdtemp(path_.data()) != nullptr;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (made_) std::filesystem::remove_all(path_, ignored);
  }
  bool made() const { return made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

// What `unshare` says in a child of its own.
int TryUnshare(int flags) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unshare(flags) == 0 ? 0 : errno);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) < 0) return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

Finding CheckKernel() {
  struct utsname name = {};
  ::uname(&name);
  int major = 0, minor = 0;
  std::sscanf(name.release, "%d.%d", &major, &minor);
  Finding finding{"kernel", State::kGood, name.release, ""};
  if (major < 5 || (major == 5 && minor < 6)) {
    finding.state = State::kMissing;  // openat2
    finding.remedy = "Linux 5.6 or newer is needed";
  }
  return finding;
}

Finding CheckNamespaces() {
  const bool root = ::geteuid() == 0;
  const int flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | (root ? 0 : CLONE_NEWUSER);
  const int failed = TryUnshare(flags);
  Finding finding{"namespaces", State::kGood, root ? "mount, pid, ipc" : "user, mount, pid, ipc",
                  ""};
  if (failed == 0) return finding;
  finding.state = State::kMissing;
  finding.detail = fmt::format("unshare: {}", Error(failed).message());
  finding.remedy = RemedyForBubblewrap("namespace");
  return finding;
}

Finding CheckAppArmor() {
  const std::string value = FirstLine("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  if (value != "1") return {"AppArmor", State::kGood, "does not restrict user namespaces", ""};
  if (::geteuid() == 0) return {"AppArmor", State::kGood, "restricts users, not root", ""};
  return {"AppArmor", State::kLess, "restricts user namespaces of programs without a profile",
          "if bubblewrap below fails, as root: sysctl "
          "kernel.apparmor_restrict_unprivileged_userns=0"};
}

Finding CheckBubblewrap() {
  auto program = FindBubblewrap();
  if (!program.ok()) return Lacking("bubblewrap", program.error());
  auto tried = TryBubblewrap(*program);
  if (!tried.ok()) return Lacking("bubblewrap", tried.error());
  return {"bubblewrap", State::kGood, *program + " made a sandbox", ""};
}

Finding CheckDevice() {
  auto device = OpenAt(AT_FDCWD, "/dev/fuse", O_RDWR);
  if (device.ok()) return {"/dev/fuse", State::kGood, "can be opened", ""};
  const bool denied = device.code() == EACCES || device.code() == EPERM;
  return {"/dev/fuse", State::kMissing, device.error().message(),
          denied ? "let users open it, as is usual: chmod 666 /dev/fuse"
                 : "modprobe fuse; in a container: --device /dev/fuse"};
}

// An empty volume, mounted in a directory of its own while it lives.
class TrialMount {
 public:
  static Result<std::unique_ptr<TrialMount>> Start(fuse::Profile profile) {
    std::unique_ptr<TrialMount> trial(new TrialMount);
    if (!trial->directory_.made()) return ErrnoError().WithContext("making a mount point");
    MemoryStoreOptions memory;
    memory.spill_directory = trial->directory_.path();
    AGENTFS_ASSIGN(auto store, OpenMemoryStore(VolumeSchema(), memory));
    AGENTFS_ASSIGN(trial->volume_,
                   Volume::Open(std::move(store), nullptr, nullptr, VolumeOptions()));
    fuse::MountSource source;
    AGENTFS_ASSIGN(source.view, trial->volume_->OpenBranch(kMainBranch));
    fuse::ServeOptions options;
    options.mount_point = trial->directory_.path();
    options.mount.source = "agentfs-doctor";
    options.profile = profile;
    AGENTFS_ASSIGN(trial->mount_, fuse::Mount::Start(std::move(source), std::move(options)));
    return trial;
  }
  const fuse::Mount& mount() const { return *mount_; }

 private:
  TrialMount() : directory_(std::filesystem::temp_directory_path()) {}

  TemporaryDirectory directory_;
  std::unique_ptr<Volume> volume_;
  std::unique_ptr<fuse::Mount> mount_;
};

Finding CheckRing(const fuse::Mount& mount) {
  const char* const name = "FUSE over io_uring";
  const std::string enabled = FirstLine(fuse::UringSwitch::kParameter);
  if (mount.transport() == "io_uring") {
    return {name, State::kGood, enabled == "Y" ? "used" : "used (turned on while mounting)", ""};
  }
  std::string remedy;
  if (enabled.empty()) remedy = "needs Linux 6.14";
  if (enabled == "N") remedy = std::string("as root: echo Y > ") + fuse::UringSwitch::kParameter;
  return {name, State::kLess, "not used", remedy};
}

void AddMountFindings(std::vector<Finding>& findings) {
  auto trial = TrialMount::Start(fuse::Profile::kDefault);
  if (!trial.ok()) {
    findings.push_back(Lacking("FUSE mount", trial.error()));
    // Then it is done in a namespace of the server's own.
    if (!fuse::HasMountHelper()) findings.back().state = State::kLess;
    return;
  }
  const fuse::Mount& mount = (*trial)->mount();
  std::string features;
  for (fuse::Feature feature : fuse::AllFeatures()) {
    if (!mount.capabilities().features.Has(feature)) continue;
    features += (features.empty() ? "" : " ") + std::string(fuse::NameOf(feature));
  }
  findings.push_back({"FUSE mount", State::kGood, "works: " + features, ""});
  findings.push_back(CheckRing(mount));
}

Finding CheckPassthrough() {
  auto trial = TrialMount::Start(fuse::Profile::kBulk);
  if (trial.ok()) return {"passthrough", State::kGood, "mount --profile bulk works", ""};
  return {"passthrough", State::kLess, std::string(trial.error().message()), ""};
}

Finding CheckHelper() {
  if (fuse::HasMountHelper()) return {"fusermount3", State::kGood, "installed", ""};
  return {"fusermount3", State::kLess, "not installed: users can run commands, and mount nothing",
          "install it: apt-get install fuse3"};
}

Finding CheckReflink(const std::string& state) {
  TemporaryDirectory directory(state);
  if (!directory.made()) {
    return {"reflink", State::kLess, "cannot write in " + state, ""};
  }
  auto from = OpenAt(AT_FDCWD, directory.path() + "/a", O_RDWR | O_CREAT, 0600);
  auto to = OpenAt(AT_FDCWD, directory.path() + "/b", O_RDWR | O_CREAT, 0600);
  if (from.ok() && to.ok() && WriteAt(from->get(), 0, std::string(4096, 'x')).ok() &&
      ::ioctl(to->get(), FICLONE, from->get()) == 0) {
    return {"reflink", State::kGood, "copies share their blocks in " + state, ""};
  }
  return {"reflink", State::kLess, "none in " + state + ": copies of large files take space",
          "keep the state on btrfs or XFS: agentfs init --state DIR"};
}

Finding CheckWatches() {
  constexpr unsigned long kEnough = 65536;
  const std::string watches = FirstLine("/proc/sys/fs/inotify/max_user_watches");
  Finding finding{"inotify", State::kGood, watches + " watches", ""};
  if (std::strtoul(watches.c_str(), nullptr, 10) < kEnough) {
    finding.state = State::kLess;
    finding.detail += ": changes of a large base are seen after a second";
    finding.remedy = "as root: sysctl fs.inotify.max_user_watches=524288";
  }
  return finding;
}

}  // namespace

std::vector<Finding> CheckMachine(const std::string& state_directory) {
  std::vector<Finding> findings = {CheckKernel(),     CheckNamespaces(), CheckAppArmor(),
                                   CheckBubblewrap(), CheckDevice(),     CheckHelper()};
  AddMountFindings(findings);
  findings.push_back(CheckPassthrough());
  findings.push_back(CheckReflink(state_directory));
  findings.push_back(CheckWatches());
  return findings;
}

}  // namespace agentfs::cli
