// SPDX-License-Identifier: Apache-2.0
#include "sys/shared_mappings.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace agentfs {
namespace {

// "START-END PERMS OFFSET MAJOR:MINOR INODE PATH"
struct Mapping {
  std::string range;
  char permissions[5] = {};
  unsigned major = 0, minor = 0;
  uint64_t inode = 0;
  std::string path;
};

bool Parse(const std::string& line, Mapping& out) {
  unsigned long start = 0, end = 0;
  int path = 0;
  unsigned long inode = 0;
  if (std::sscanf(line.c_str(), "%lx-%lx %4s %*x %x:%x %lu %n", &start, &end, out.permissions,
                  &out.major, &out.minor, &inode, &path) < 6) {
    return false;
  }
  out.range = fmt::format("{:x}-{:x}", start, end);
  out.inode = inode;
  out.path = path > 0 ? line.substr(static_cast<size_t>(path)) : "";
  return true;
}

// By the mapping itself where that is allowed, else by its path, here or where the process sees it.
Fd OpenMapping(const std::string& process, const Mapping& mapping, dev_t device) {
  for (const std::string& path :
       {process + "/map_files/" + mapping.range, mapping.path, process + "/root" + mapping.path}) {
    auto fd = OpenAt(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!fd.ok()) continue;
    auto st = StatFd(fd->get());
    if (st.ok() && st->st_dev == device && st->st_ino == mapping.inode) {
      return std::move(fd).value();
    }
  }
  return Fd();
}

// Without the text of all mappings, which takes long; Linux 6.11.
struct MappingQuery {
  uint64_t size = sizeof(MappingQuery);
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t start = 0, end = 0, mapping_flags = 0, page_size = 0, offset = 0, inode = 0;
  uint32_t major = 0, minor = 0;
  uint32_t name_size = 0, build_id_size = 0;
  uint64_t name = 0, build_id = 0;
};
constexpr unsigned long kQueryMapping = _IOWR('f', 17, MappingQuery);
constexpr uint64_t kQueryShared = 0x08, kQueryNext = 0x10, kQueryFile = 0x20;

enum class SharedUse : uint8_t { kNone, kNoMemory, kPerhaps };

// Whether a process has a file of the filesystem mapped shared, by its open table of mappings.
// Perhaps also where the kernel cannot be asked.
SharedUse AskMaps(int maps, dev_t device) {
  MappingQuery query;
  query.flags = kQueryShared | kQueryNext | kQueryFile;
  while (::ioctl(maps, kQueryMapping, &query) == 0) {
    if (query.major == major(device) && query.minor == minor(device)) return SharedUse::kPerhaps;
    query.address = query.end;
  }
  if (errno == ESRCH) return SharedUse::kNoMemory;
  return errno == ENOENT ? SharedUse::kNone : SharedUse::kPerhaps;
}

SharedUse AskMaps(const std::string& process, dev_t device) {
  auto maps = OpenAt(AT_FDCWD, process + "/maps", O_RDONLY);
  if (!maps.ok()) return maps.code() == ESRCH ? SharedUse::kNoMemory : SharedUse::kNone;
  return AskMaps(maps->get(), device);
}

// Processes, told apart by their directory's inode, that have no memory and so will never have any:
// threads of the kernel and the dead. They are half of all, so that it pays not to ask again.
class WithoutMemory {
 public:
  using Process = std::pair<std::string, ino_t>;

  std::set<Process> Known() ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    return known_;
  }
  void Replace(std::set<Process> known) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    known_ = std::move(known);
  }

 private:
  absl::Mutex mu_;
  std::set<Process> known_ ABSL_GUARDED_BY(mu_);
};

// The processes that may have files of the filesystem mapped shared.
std::vector<std::string> FindCandidates(dev_t device) {
  static WithoutMemory without_memory;
  const auto known = without_memory.Known();
  std::set<WithoutMemory::Process> found;
  std::vector<std::string> candidates;
  const std::unique_ptr<DIR, void (*)(DIR*)> list(::opendir("/proc"),
                                                  [](DIR* open) { ::closedir(open); });
  while (const dirent* entry = list ? ::readdir(list.get()) : nullptr) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    WithoutMemory::Process process(entry->d_name, entry->d_ino);
    if (known.contains(process)) {
      found.insert(std::move(process));
      continue;
    }
    const std::string directory = "/proc/" + process.first;
    const SharedUse maps = AskMaps(directory, device);
    if (maps == SharedUse::kPerhaps) candidates.push_back(directory);
    if (maps == SharedUse::kNoMemory) found.insert(std::move(process));
  }
  without_memory.Replace(std::move(found));
  return candidates;
}

}  // namespace

std::vector<Fd> OpenSharedMappings(dev_t device) {
  // Most lines are of other filesystems: they are told by this text before they are parsed.
  const std::string mark = fmt::format(" {:02x}:{:02x} ", major(device), minor(device));
  std::vector<Fd> files;
  std::set<uint64_t> seen;
  for (const std::string& process : FindCandidates(device)) {
    std::ifstream maps(process + "/maps");
    for (std::string line; std::getline(maps, line);) {
      Mapping mapping;
      if (line.find(mark) == std::string::npos || !Parse(line, mapping)) continue;
      if (mapping.permissions[3] != 's' || seen.contains(mapping.inode)) continue;
      Fd file = OpenMapping(process, mapping, device);
      if (!file) continue;
      seen.insert(mapping.inode);
      files.push_back(std::move(file));
    }
  }
  return files;
}

}  // namespace agentfs
