// SPDX-License-Identifier: Apache-2.0
#include "disk.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

namespace agentfs::crash {
namespace {

constexpr size_t kPage = 4096;

// The functions below are called from anywhere, also before main: no constructors, no allocation
// until a Disk exists.
std::recursive_mutex& Mutex() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

struct DiskState {
  std::string directory;
  std::map<std::string, std::string> synced;  // by path
  std::map<std::string, uint64_t> syncs;
  uint64_t calls = 0;
  uint64_t cut_at = 0;
  std::function<void()> cut;
};
DiskState* g_state = nullptr;  // guarded by Mutex()
thread_local bool g_own_work = false;

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// The path of the file, if it is below the directory; else empty.
std::string PathOf(int fd) {
  char link[64], path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link, path, sizeof path);
  if (length <= 0) return "";
  std::string found(path, static_cast<size_t>(length));
  return found.starts_with(g_state->directory + "/") ? found : "";
}

std::string ReadWhole(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  struct stat status {};
  std::string bytes;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    bytes.resize(static_cast<size_t>(status.st_size));
    size_t have = 0;
    while (have < bytes.size()) {
      const ssize_t n =
          ::pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
      if (n <= 0) break;
      have += static_cast<size_t>(n);
    }
    bytes.resize(have);
  }
  ::close(fd);
  return bytes;
}

// Calls `call` as one of the calls that a cut can fall before.
template <typename Call>
auto Counted(const Call& call) {
  if (g_own_work) return call();
  std::lock_guard lock(Mutex());
  if (g_state != nullptr && ++g_state->calls == g_state->cut_at) {
    g_own_work = true;
    std::exchange(g_state->cut, nullptr)();
    g_own_work = false;
  }
  return call();
}

int Sync(const char* name, int fd) {
  return Counted([&] {
    if (g_state != nullptr && !g_own_work) {
      if (const std::string path = PathOf(fd); !path.empty()) {
        g_state->synced[path] = ReadWhole(path);
        ++g_state->syncs[path];
      }
    }
    return Next<int (*)(int)>(name)(fd);
  });
}

// A write through a descriptor that was opened to sync each one.
void AfterWrite(int fd, const void* data, ssize_t written, off_t offset) {
  if (g_state == nullptr || g_own_work || written <= 0) return;
  if ((::fcntl(fd, F_GETFL) & O_DSYNC) == 0) return;
  const std::string path = PathOf(fd);
  if (path.empty()) return;
  std::string& bytes = g_state->synced[path];
  const size_t end = static_cast<size_t>(offset) + static_cast<size_t>(written);
  if (bytes.size() < end) bytes.resize(end);
  bytes.replace(static_cast<size_t>(offset), static_cast<size_t>(written),
                static_cast<const char*>(data), static_cast<size_t>(written));
  ++g_state->syncs[path];
}

ssize_t WriteAt(const char* name, int fd, const void* data, size_t size, off_t offset) {
  return Counted([&] {
    const ssize_t written =
        Next<ssize_t (*)(int, const void*, size_t, off_t)>(name)(fd, data, size, offset);
    AfterWrite(fd, data, written, offset);
    return written;
  });
}

std::string Mixed(const std::string& synced, const std::string& now, std::mt19937_64& random) {
  std::string bytes = random() % 2 == 0 ? synced : now;  // the length, too, is a matter of chance
  for (size_t at = 0; at < bytes.size(); at += kPage) {
    const std::string& from = random() % 2 == 0 ? synced : now;
    for (size_t i = at; i < std::min(at + kPage, bytes.size()); ++i) {
      bytes[i] = i < from.size() ? from[i] : '\0';
    }
  }
  return bytes;
}

void WriteWhole(const std::string& path, const std::string& bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) std::abort();
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n <= 0) std::abort();
    done += static_cast<size_t>(n);
  }
  ::close(fd);
}

// Shared memory and locks are no part of what is kept.
bool IsKept(const std::string& path) {
  return !path.ends_with("-shm") && !path.ends_with("-lock") && !path.ends_with(".lock");
}

}  // namespace

Disk::Disk(std::string directory) {
  std::lock_guard lock(Mutex());
  g_state = new DiskState;
  g_state->directory = std::filesystem::canonical(directory);
}

Disk::~Disk() {
  std::lock_guard lock(Mutex());
  delete g_state;
  g_state = nullptr;
}

void Disk::Cut(const std::string& image, Unsynced unsynced, std::mt19937_64& random) {
  std::lock_guard lock(Mutex());
  const bool before = std::exchange(g_own_work, true);
  namespace fs = std::filesystem;
  fs::create_directories(image);
  for (const auto& entry : fs::recursive_directory_iterator(g_state->directory)) {
    const std::string path = entry.path();
    const std::string target = image + path.substr(g_state->directory.size());
    if (entry.is_directory()) {
      fs::create_directories(target);
      continue;
    }
    if (!entry.is_regular_file() || !IsKept(path)) continue;
    const auto synced = g_state->synced.find(path);
    const std::string old = synced == g_state->synced.end() ? "" : synced->second;
    const bool object = path.find("/objects/") != std::string::npos;
    if (unsynced == Unsynced::kThere || (unsynced == Unsynced::kObjectsLost && !object)) {
      WriteWhole(target, ReadWhole(path));
    } else if (unsynced == Unsynced::kByChance) {
      WriteWhole(target, Mixed(old, ReadWhole(path), random));
    } else if (synced != g_state->synced.end()) {
      WriteWhole(target, old);
    }
  }
  g_own_work = before;
}

void Disk::AtCall(uint64_t nth, std::function<void()> cut) {
  std::lock_guard lock(Mutex());
  g_state->cut_at = g_state->calls + nth;
  g_state->cut = std::move(cut);
}

uint64_t Disk::Syncs(const std::string& part) const {
  std::lock_guard lock(Mutex());
  uint64_t count = 0;
  for (const auto& [path, syncs] : g_state->syncs) {
    if (path.find(part) != std::string::npos) count += syncs;
  }
  return count;
}

}  // namespace agentfs::crash

using agentfs::crash::AfterWrite;
using agentfs::crash::Counted;
using agentfs::crash::Next;

extern "C" {

int fsync(int fd) { return agentfs::crash::Sync("fsync", fd); }
int fdatasync(int fd) { return agentfs::crash::Sync("fdatasync", fd); }

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  return agentfs::crash::WriteAt("pwrite", fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off_t offset) {
  return agentfs::crash::WriteAt("pwrite64", fd, data, size, offset);
}
ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return Counted([&] {
    return Next<ssize_t (*)(int, const iovec*, int, off_t)>("pwritev")(fd, parts, count, offset);
  });
}
ssize_t pwritev64(int fd, const iovec* parts, int count, off_t offset) {
  return Counted([&] {
    return Next<ssize_t (*)(int, const iovec*, int, off_t)>("pwritev64")(fd, parts, count, offset);
  });
}
ssize_t writev(int fd, const iovec* parts, int count) {
  return Counted(
      [&] { return Next<ssize_t (*)(int, const iovec*, int)>("writev")(fd, parts, count); });
}
int ftruncate(int fd, off_t size) noexcept {
  return Counted([&] { return Next<int (*)(int, off_t)>("ftruncate")(fd, size); });
}
int ftruncate64(int fd, off_t size) noexcept {
  return Counted([&] { return Next<int (*)(int, off_t)>("ftruncate64")(fd, size); });
}
int fallocate(int fd, int mode, off_t offset, off_t length) {
  return Counted(
      [&] { return Next<int (*)(int, int, off_t, off_t)>("fallocate")(fd, mode, offset, length); });
}

}  // extern "C"
