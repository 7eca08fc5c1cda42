// SPDX-License-Identifier: Apache-2.0
//
// The round trip of a FUSE request: fstat of a file whose attributes are never cached, answered by
// a server process from memory. Needs root.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "adapters/fuse/transport/connection.h"
#include "adapters/fuse/transport/mount_point.h"
#include "adapters/fuse/transport/negotiate.h"
#include "adapters/fuse/transport/transport.h"

namespace agentfs::fuse {
namespace {

enum Way : int64_t { kDevice = 0, kUring = 1 };

// A root directory whose every name is a file.
class Echo : public Handler {
 public:
  void Handle(Exchange& exchange) noexcept override {
    switch (exchange.header().opcode) {
      case FUSE_LOOKUP: {
        fuse_entry_out entry{};
        entry.nodeid = 2;
        entry.entry_valid = 3600;
        entry.attr.ino = 2;
        entry.attr.mode = S_IFREG | 0644;
        entry.attr.nlink = 1;
        return exchange.AnswerWith(entry);
      }
      case FUSE_GETATTR: {
        fuse_attr_out out{};
        out.attr.ino = exchange.header().nodeid;
        out.attr.mode = out.attr.ino == FUSE_ROOT_ID ? (S_IFDIR | 0755) : (S_IFREG | 0644);
        out.attr.nlink = 1;
        return exchange.AnswerWith(out);
      }
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT:
        return exchange.NoAnswer();
      default:
        return exchange.Fail(ENOSYS);
    }
  }
};

// In a process of its own, as a server is: clients in the same one would share its memory map.
class ServerProcess {
 public:
  ServerProcess(Way way, size_t threads) {
    std::string name = std::filesystem::temp_directory_path().string() + "/agentfs-bench-XXXXXX";
    root_ = ::mkdtemp(name.data());
    int ready[2];
    if (::pipe(ready) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ready[0]);
      Serve(way, threads, ready[1]);
    }
    ::close(ready[1]);
    char byte = 0;
    started_ = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
  }
  ~ServerProcess() {
    ::umount2(root_.c_str(), MNT_FORCE | MNT_DETACH | UMOUNT_NOFOLLOW);
    ::waitpid(pid_, nullptr, 0);
    std::filesystem::remove(root_);
  }
  bool started() const { return started_; }
  std::string file() const { return root_ + "/file"; }

 private:
  [[noreturn]] void Serve(Way way, size_t threads, int ready) {
    Wanted wanted;
    if (way == kUring) wanted.features = wanted.features.With(Feature::kOverIoUring);
    auto made = Connect(root_, {}, wanted);
    if (!made.ok()) ::_exit(1);
    Echo echo;
    auto transport = StartTransport(made->point.device(), made->agreed, echo, {threads});
    if (!transport.ok() || ((*transport)->name() == "io_uring") != (way == kUring)) ::_exit(1);
    if (::write(ready, "", 1) != 1) ::_exit(1);
    (*transport)->Wait();
    ::_exit(0);
  }

  std::string root_;
  pid_t pid_ = -1;
  bool started_ = false;
};

std::unique_ptr<ServerProcess> server;

void StartServer(const benchmark::State& state) {
  const auto way = static_cast<Way>(state.range(0));
  if (::geteuid() != 0) return;
  server = std::make_unique<ServerProcess>(way, static_cast<size_t>(state.range(1)));
}

void StopServer(const benchmark::State&) { server.reset(); }

void BM_FuseRoundTrip(benchmark::State& state) {
  if (server == nullptr || !server->started()) {
    state.SkipWithError("needs root, and for io_uring Linux 6.14");
    return;
  }
  const int file = ::open(server->file().c_str(), O_RDONLY | O_PATH);
  struct stat attributes;
  for (auto _ : state) {
    if (::fstat(file, &attributes) != 0) state.SkipWithError("fstat failed");
  }
  ::close(file);
}

// threads: of the device; of each processor for io_uring. 0: as the server chooses.
BENCHMARK(BM_FuseRoundTrip)
    ->ArgNames({"uring", "threads"})
    ->Args({kDevice, 1})
    ->Args({kDevice, 2})
    ->Args({kDevice, 0})
    ->Args({kUring, 1})
    ->Args({kUring, 0})
    ->Threads(1)
    ->Threads(2)
    ->Setup(StartServer)
    ->Teardown(StopServer)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace agentfs::fuse

BENCHMARK_MAIN();
