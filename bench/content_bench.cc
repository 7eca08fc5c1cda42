// SPDX-License-Identifier: Apache-2.0
//
// Large files against plain files of the host, and small changes of them.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench_volume.h"

namespace agentfs::bench {
namespace {

constexpr uint64_t kSize = uint64_t{1} << 30;
constexpr size_t kPiece = size_t{1} << 20;

int MustOpen(const std::string& file, int flags) {
  const int fd = ::open(file.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) Must(Error(errno, "cannot open " + file));
  return fd;
}

// Written and synced; gives the seconds.
double WritePlain(const std::string& file) {
  const std::string piece(kPiece, 'x');
  const int fd = MustOpen(file, O_CREAT | O_TRUNC | O_WRONLY);
  const Stopwatch watch;
  for (uint64_t at = 0; at < kSize; at += kPiece) {
    if (::write(fd, piece.data(), kPiece) != static_cast<ssize_t>(kPiece)) Must(Error(errno));
  }
  if (::fsync(fd) != 0) Must(Error(errno));
  const double seconds = watch.seconds();
  ::close(fd);
  return seconds;
}

double ReadPlain(const std::string& file) {
  std::string piece(kPiece, '\0');
  const int fd = MustOpen(file, O_RDONLY);
  const Stopwatch watch;
  for (uint64_t at = 0; at < kSize; at += kPiece) {
    if (::read(fd, piece.data(), kPiece) != static_cast<ssize_t>(kPiece)) Must(Error(errno));
  }
  const double seconds = watch.seconds();
  ::close(fd);
  return seconds;
}

double ReadView(FileSystem& view) {
  std::string piece(kPiece, '\0');
  const Stopwatch watch;
  const NodeRef root = view.Root();
  const NodeRef file = Must(view.Lookup({}, *root, "large")).node;
  for (uint64_t at = 0; at < kSize; at += kPiece) {
    if (Must(view.Read(*file, at, piece)) != kPiece) Must(Error(EIO));
  }
  return watch.seconds();
}

BenchVolume::Options Options(bool single_file) {
  BenchVolume::Options options{StoreKind::kSqlite, "", {}};
  options.volume.single_file = single_file;
  return options;
}

// Each iteration writes and reads a plain file, the volume's, and the plain one again: the plain
// file from the page cache, the volume's after opening it anew. write and read are ratios of the
// best times: 1 is a plain file's speed.
void BM_Sequential(benchmark::State& state) {
  double plain_write = 1e9, plain_read = 1e9, write = 1e9, read = 1e9;
  for (auto _ : state) {
    BenchVolume bench(Options(state.range(0) != 0));
    const std::string plain = bench.directory() + "/plain";
    const auto measure_plain = [&] {
      plain_write = std::min(plain_write, WritePlain(plain));
      plain_read = std::min(plain_read, ReadPlain(plain));
      ::unlink(plain.c_str());
    };
    measure_plain();
    {
      const Stopwatch watch;
      const NodeRef file = MakeLargeFile(bench.view(), "large", kSize);
      Must(bench.view().Sync(*file));
      write = std::min(write, watch.seconds());
      state.SetIterationTime(watch.seconds());
    }
    bench.Reopen();
    read = std::min(read, ReadView(bench.view()));
    measure_plain();
  }
  const double megabytes = static_cast<double>(kSize >> 20);
  state.counters["plain_write_MiB/s"] = megabytes / plain_write;
  state.counters["plain_read_MiB/s"] = megabytes / plain_read;
  state.counters["write"] = plain_write / write;
  state.counters["read"] = plain_read / read;
}

double Median(std::vector<double>& times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

// One byte in the middle of a large file, each time after a snapshot, each time at another place.
void BM_OneByteAfterSnapshot(benchmark::State& state) {
  BenchVolume bench(Options(state.range(0) != 0));
  NodeRef file = MakeLargeFile(bench.view(), "large", kSize);
  bench.Settle();
  uint64_t at = kSize / 2 + 1;
  std::vector<double> times;
  for (auto _ : state) {
    Must(bench.volume().CreateSnapshot(kMainBranch, "", "", Durability::kNone));
    bench.Settle();
    const Stopwatch watch;
    Must(bench.view().Write({}, *file, at, std::string_view("y")));
    times.push_back(watch.seconds());
    state.SetIterationTime(times.back());
    at = (at + 10'000'019) % kSize;
  }
  file = NodeRef();
  state.counters["us"] = Median(times) * 1e6;
}

// One byte appended to a file of the base that the volume has never seen.
void BM_AppendToBaseFile(benchmark::State& state) {
  Directory base;
  const int fd = MustOpen(base.path() + "/large", O_CREAT | O_WRONLY);
  if (::ftruncate(fd, static_cast<off_t>(kSize)) != 0) Must(Error(errno));
  ::close(fd);
  std::vector<double> times;
  for (auto _ : state) {
    BenchVolume::Options options = Options(state.range(0) != 0);
    options.base = base.path();
    BenchVolume bench(options);
    const Stopwatch watch;
    const NodeRef root = bench.view().Root();
    const NodeRef file = Must(bench.view().Lookup({}, *root, "large")).node;
    Must(bench.view().Append({}, *file, std::string_view("y")));
    times.push_back(watch.seconds());
    state.SetIterationTime(times.back());
  }
  state.counters["us"] = Median(times) * 1e6;
}

BENCHMARK(BM_Sequential)
    ->ArgName("single_file")
    ->Arg(0)
    ->Arg(1)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_OneByteAfterSnapshot)
    ->ArgName("single_file")
    ->Arg(0)
    ->Arg(1)
    ->UseManualTime()
    ->Iterations(50);
BENCHMARK(BM_AppendToBaseFile)
    ->ArgName("single_file")
    ->Arg(0)
    ->Arg(1)
    ->UseManualTime()
    ->Iterations(20);

}  // namespace
}  // namespace agentfs::bench

BENCHMARK_MAIN();
