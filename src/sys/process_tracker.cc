// SPDX-License-Identifier: Apache-2.0
#include "sys/process_tracker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "sys/small_file.h"

namespace agentfs {
namespace {

namespace fs = std::filesystem;

constexpr size_t kRememberedNodes = 4096;
constexpr int kMaxAncestors = 1000;
constexpr size_t kMaxNamespaces = 64;  // each is a descriptor
// Sooner after its last request a thread cannot have become another program: an execve alone takes
// longer.
constexpr int64_t kSurelySameNs = 50'000;

thread_local std::shared_ptr<const OpProcess> acting_process;

int64_t Monotonic() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

std::string InProc(uint32_t pid, std::string_view file) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(file);
}

// Empty: it has gone.
std::string ReadName(int comm) {
  char text[64];
  ssize_t size = ::pread(comm, text, sizeof text, 0);
  if (size > 0 && text[size - 1] == '\n') --size;
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : std::string();
}

std::string NameOfProcess(uint32_t pid) {
  const Fd comm(::open(InProc(pid, "comm").c_str(), O_RDONLY | O_CLOEXEC));
  return comm ? ReadName(comm.get()) : std::string();
}

struct Status {
  uint32_t process = 0, parent = 0;
};

// Of a thread; 0: it has gone.
Status ReadStatus(uint32_t thread) {
  Status status;
  std::ifstream file(InProc(thread, "status"));
  for (std::string line; std::getline(file, line);) {
    uint32_t* out = line.starts_with("Tgid:")   ? &status.process
                    : line.starts_with("PPid:") ? &status.parent
                                                : nullptr;
    if (out == nullptr) continue;
    const size_t at = line.find_first_of("0123456789");
    if (at != line.npos) std::from_chars(line.data() + at, line.data() + line.size(), *out);
    if (out == &status.parent) break;
  }
  return status;
}

uint64_t NamespaceOf(uint32_t pid) {
  struct stat st;
  return ::stat(InProc(pid, "ns/pid").c_str(), &st) == 0 ? st.st_ino : 0;
}

// The exec that its environment names; 0: none. Only of processes that no sandboxed one controls.
uint64_t ExecInEnvironment(uint32_t pid) {
  constexpr std::string_view kVariable = "AGENTFS_EXEC=";
  std::ifstream file(InProc(pid, "environ"));
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (!variable.starts_with(kVariable)) continue;
    uint64_t id = 0;
    std::from_chars(variable.data() + kVariable.size(), variable.data() + variable.size(), id);
    return id;
  }
  return 0;
}

// Whether the process maps the file with this inode number shared. The filesystem is not compared:
// only our numbers are that large, and those that are not belong to files that the exec uses.
bool Maps(uint32_t pid, uint64_t inode) {
  std::ifstream maps(InProc(pid, "maps"));
  const std::string mark = " " + std::to_string(inode) + " ";
  for (std::string line; std::getline(maps, line);) {
    const size_t permissions = line.find(' ');
    if (permissions == line.npos || line.size() < permissions + 5) continue;
    if (line[permissions + 4] == 's' && line.find(mark) != line.npos) return true;
  }
  return false;
}

}  // namespace

ProcessTracker::ProcessTracker(AuditLevel level)
    : level_(level),
      self_(std::make_shared<const OpProcess>(
          OpProcess{.pid = static_cast<uint32_t>(::getpid()),
                    .ppid = static_cast<uint32_t>(::getppid()),
                    .uid = ::geteuid(),
                    .comm = NameOfProcess(static_cast<uint32_t>(::getpid())),
                    .level = level})),
      own_namespace_(NamespaceOf(static_cast<uint32_t>(::getpid()))) {}

// ---- threads

bool ProcessTracker::IsStill(Known& known, int64_t now) const {
  if (now - known.seen_ns >= kSurelySameNs && ReadName(known.comm.get()) != known.name)
    return false;
  known.seen_ns = now;
  return true;
}

void ProcessTracker::ActAs(std::shared_ptr<const OpProcess> process) {
  acting_process = std::move(process);
}

std::shared_ptr<const OpProcess> ProcessTracker::Identify(const Caller& caller,
                                                          std::string_view branch, NodeId node) {
  if (acting_process) return acting_process;
  if (caller.pid == 0) return caller.written_back ? WriterOf(branch, node) : self_;
  const int64_t now = Monotonic();
  Shard& shard = shards_[caller.pid % kShards];
  absl::MutexLock lock(&shard.mu);
  auto it = shard.threads.find(caller.pid);
  if (it == shard.threads.end() || !IsStill(it->second, now)) {
    Known known = Look(caller.pid, caller.uid, now);
    if (caller.written_back && !known.comm) return WriterOf(branch, node);
    if (it == shard.threads.end() && shard.threads.size() >= threads_per_shard_) {
      shard.threads.erase(std::min_element(
          shard.threads.begin(), shard.threads.end(),
          [](const auto& a, const auto& b) { return a.second.seen_ns < b.second.seen_ns; }));
    }
    it = shard.threads.insert_or_assign(caller.pid, std::move(known)).first;
  }
  if (node && it->second.process->exec != 0 && several_execs_.load(std::memory_order_relaxed)) {
    Remember(node, it->second.process->exec);
  }
  return it->second.process;
}

ProcessTracker::Known ProcessTracker::Look(uint32_t thread, uint32_t uid, int64_t now) {
  Known known;
  known.comm = Fd(::open(InProc(thread, "comm").c_str(), O_RDONLY | O_CLOEXEC));
  known.name = known.comm ? ReadName(known.comm.get()) : std::string();
  known.seen_ns = now;
  const Status status = ReadStatus(thread);
  OpProcess process;
  process.pid = status.process != 0 ? status.process : thread;
  process.ppid = status.parent;
  process.uid = uid;
  process.comm = process.pid == thread ? known.name : NameOfProcess(process.pid);
  process.exec = ExecOf(thread);
  process.level = LevelOf(process.exec);
  known.process = std::make_shared<const OpProcess>(std::move(process));
  return known;
}

// ---- execs

void ProcessTracker::AddExec(Exec exec) {
  absl::MutexLock lock(&execs_mu_);
  execs_.push_back(std::move(exec));
  several_execs_ = execs_.size() > 1;
}

void ProcessTracker::EndExec(uint64_t id) {
  {
    absl::MutexLock lock(&execs_mu_);
    std::erase_if(execs_, [&](const Exec& exec) { return exec.id == id; });
    std::erase_if(namespaces_, [&](const Namespace& each) { return each.exec == id; });
    mappers_.erase(id);
    if (execs_.empty()) last_exec_.clear();
    several_execs_ = execs_.size() > 1;
  }
  // Numbers of its threads may be given to others, who are looked at anew then.
  for (Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    absl::erase_if(shard.threads,
                   [&](const auto& each) { return each.second.process->exec == id; });
  }
}

const ProcessTracker::Exec* ProcessTracker::FindLive(uint64_t id) const {
  for (const Exec& exec : execs_) {
    if (exec.id == id) return &exec;
  }
  return nullptr;
}

AuditLevel ProcessTracker::LevelOf(uint64_t id) const {
  absl::MutexLock lock(&execs_mu_);
  const Exec* exec = id == 0 ? nullptr : FindLive(id);
  return exec == nullptr ? level_ : exec->level;
}

uint64_t ProcessTracker::ExecOf(uint32_t thread) {
  const uint64_t inode = NamespaceOf(thread);
  absl::MutexLock lock(&execs_mu_);
  if (execs_.empty() || (inode != 0 && inode == own_namespace_)) return 0;
  for (const Namespace& each : namespaces_) {
    if (inode != 0 && each.inode == inode) return each.exec;
  }
  const uint64_t exec = FindExec(thread, inode);
  if (exec == 0 || inode == 0) return exec;
  // One that is forgotten is found anew by who started it.
  if (namespaces_.size() >= kMaxNamespaces) namespaces_.erase(namespaces_.begin());
  Fd file(::open(InProc(thread, "ns/pid").c_str(), O_RDONLY | O_CLOEXEC));
  if (file) namespaces_.push_back({std::move(file), inode, exec});
  return exec;
}

// Up to the first process that is outside of the namespace, which the sandboxed ones have no hold
// on, and on to the exec's client.
uint64_t ProcessTracker::FindExec(uint32_t thread, uint64_t inode) const {
  uint32_t pid = thread;
  for (int i = 0; i < kMaxAncestors && pid > 1; ++i) {
    const uint64_t space = NamespaceOf(pid);
    const bool outside = inode != 0 && space == own_namespace_;
    for (const Namespace& each : namespaces_) {
      if (space != 0 && each.inode == space) return each.exec;  // one within an exec's
    }
    if (outside) {
      const Exec* exec = FindLive(ExecInEnvironment(pid));
      if (exec != nullptr) return exec->id;
    }
    const auto client = std::find_if(execs_.begin(), execs_.end(),
                                     [&](const Exec& exec) { return exec.client == pid; });
    if (client != execs_.end()) return client->id;
    pid = ReadStatus(pid).parent;
  }
  return 0;
}

// ---- what the kernel writes by itself

void ProcessTracker::Remember(NodeId node, uint64_t exec) {
  absl::MutexLock lock(&execs_mu_);
  if (last_exec_.size() >= kRememberedNodes) last_exec_.clear();
  last_exec_[node.value] = exec;
}

std::shared_ptr<const OpProcess> ProcessTracker::WriterOf(std::string_view branch, NodeId node) {
  std::vector<uint64_t> candidates;
  uint64_t last = 0;
  {
    absl::MutexLock lock(&execs_mu_);
    for (const Exec& exec : execs_) {
      if (exec.branch == branch) candidates.push_back(exec.id);
    }
    const auto it = last_exec_.find(node.value);
    if (it != last_exec_.end()) last = it->second;
  }
  uint64_t exec = candidates.size() == 1 ? candidates.front() : 0;
  if (candidates.size() > 1) {
    exec = FindMapper(node, candidates);
    if (exec == 0 && std::count(candidates.begin(), candidates.end(), last) > 0) exec = last;
  }
  const AuditLevel level = LevelOf(exec);
  absl::MutexLock lock(&execs_mu_);
  auto& process = mappers_[exec];
  if (process == nullptr) {
    process = std::make_shared<const OpProcess>(OpProcess{.exec = exec, .level = level});
  }
  return process;
}

uint64_t ProcessTracker::FindMapper(NodeId node, const std::vector<uint64_t>& execs) {
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    uint32_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc()) continue;
    if (NamespaceOf(pid) == own_namespace_ || !Maps(pid, node.value)) continue;
    const uint64_t exec = ExecOf(pid);
    if (std::count(execs.begin(), execs.end(), exec) > 0) return exec;
  }
  return 0;
}

}  // namespace agentfs
