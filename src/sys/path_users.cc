// SPDX-License-Identifier: Apache-2.0
#include "sys/path_users.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace agentfs {
namespace {

namespace fs = std::filesystem;

bool IsAtOrBelow(std::string_view path, std::string_view top) {
  return path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/');
}

// readlink(2) only: following the link would ask the filesystem that may be stuck.
bool LinkLeadsTo(const std::string& link, const std::string& top) {
  char target[PATH_MAX];
  const ssize_t size = ::readlink(link.c_str(), target, sizeof(target));
  return size > 0 && IsAtOrBelow({target, static_cast<size_t>(size)}, top);
}

bool HasOpen(const std::string& process, const std::string& top) {
  std::error_code error;
  for (fs::directory_iterator it(process + "/fd", error), end; !error && it != end;
       it.increment(error)) {
    if (LinkLeadsTo(it->path(), top)) return true;
  }
  return false;
}

bool HasMapped(const std::string& process, const std::string& top) {
  std::ifstream maps(process + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path != std::string::npos && IsAtOrBelow(std::string_view(line).substr(path), top)) {
      return true;
    }
  }
  return false;
}

bool Uses(const std::string& process, const std::string& top) {
  for (const char* link : {"/cwd", "/root", "/exe"}) {
    if (LinkLeadsTo(process + link, top)) return true;
  }
  return HasOpen(process, top) || HasMapped(process, top);
}

}  // namespace

std::vector<PathUser> FindPathUsers(const std::string& path) {
  std::vector<PathUser> users;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      continue;
    }
    const auto pid = static_cast<uint32_t>(std::strtoul(name.c_str(), nullptr, 10));
    if (pid == static_cast<uint32_t>(::getpid()) || !Uses(it->path(), path)) continue;
    PathUser user{pid, ""};
    std::ifstream comm(it->path() / "comm");
    std::getline(comm, user.name);
    users.push_back(std::move(user));
  }
  std::sort(users.begin(), users.end(),
            [](const PathUser& a, const PathUser& b) { return a.pid < b.pid; });
  return users;
}

}  // namespace agentfs
