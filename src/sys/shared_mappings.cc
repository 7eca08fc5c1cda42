// SPDX-License-Identifier: Apache-2.0
#include "sys/shared_mappings.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>

namespace agentfs {
namespace {

namespace fs = std::filesystem;

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

// Whether a process has a file of the filesystem mapped shared, by its open table of mappings. True
// also where the kernel cannot be asked.
bool MayMap(int maps, dev_t device) {
  MappingQuery query;
  query.flags = kQueryShared | kQueryNext | kQueryFile;
  while (::ioctl(maps, kQueryMapping, &query) == 0) {
    if (query.major == major(device) && query.minor == minor(device)) return true;
    query.address = query.end;
  }
  return errno != ENOENT && errno != ESRCH;
}

bool MayMap(const std::string& process, dev_t device) {
  auto maps = OpenAt(AT_FDCWD, process + "/maps", O_RDONLY);
  return maps.ok() && MayMap(maps->get(), device);
}

}  // namespace

std::vector<Fd> OpenSharedMappings(dev_t device) {
  // Most lines are of other filesystems: they are told by this text before they are parsed.
  const std::string mark = fmt::format(" {:02x}:{:02x} ", major(device), minor(device));
  std::vector<Fd> files;
  std::set<uint64_t> seen;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string process = it->path();
    if (const char first = it->path().filename().native()[0]; first < '0' || first > '9') continue;
    if (!MayMap(process, device)) continue;
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
