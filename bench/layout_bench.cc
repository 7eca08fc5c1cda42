// SPDX-License-Identifier: Apache-2.0
//
// Where content should live: files of one size under different thresholds, and a single file's
// chunks of different sizes. The figures behind docs/decisions/0002-content-homes.md.
#include <benchmark/benchmark.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench_volume.h"

namespace agentfs::bench {
namespace {

constexpr uint64_t kTotalBytes = uint64_t{32} << 20;
constexpr uint64_t kOverwritten = 100;  // files at most

// What the directory takes on the disk.
uint64_t DiskBytes(const std::string& directory) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    struct stat status;
    if (::lstat(entry.path().c_str(), &status) == 0) {
      bytes += static_cast<uint64_t>(status.st_blocks) * 512;
    }
  }
  return bytes;
}

std::vector<NodeRef> FilesOf(FileSystem& view, uint64_t count) {
  const NodeRef root = view.Root();
  const NodeRef top = Must(view.Lookup({}, *root, "t")).node;
  std::vector<NodeRef> files;
  NodeRef directory;
  for (uint64_t i = 0; i < count; ++i) {
    if (i % kFilesPerDirectory == 0) {
      directory = Must(view.Lookup({}, *top, "d" + std::to_string(i / kFilesPerDirectory))).node;
    }
    files.push_back(
        Must(view.Lookup({}, *directory, "f" + std::to_string(i % kFilesPerDirectory))).node);
  }
  return files;
}

double ReadAll(FileSystem& view, uint64_t count, uint64_t size) {
  std::string out(size, '\0');
  const Stopwatch watch;
  for (const NodeRef& file : FilesOf(view, count)) {
    if (Must(view.Read(*file, 0, out)) != size) Must(Error(EIO));
  }
  return watch.seconds();
}

// Writes files of one size, syncs; reads them after opening the volume anew; writes one byte into
// each after a snapshot, syncs. write, read, byte: us a file; disk, byte_disk: bytes on the disk
// for each byte written, and KiB more for each byte changed.
void Measure(benchmark::State& state, const BenchVolume::Options& options, uint64_t size) {
  const uint64_t count = std::clamp<uint64_t>(kTotalBytes / size, 8, 4000);
  const uint64_t changed = std::min(count, kOverwritten);
  double write = 0, read = 0, byte = 0, disk = 0, byte_disk = 0;
  for (auto _ : state) {
    BenchVolume bench(options);
    const Stopwatch watch;
    MakeFiles(bench.view(), "t", count, size);
    Must(bench.volume().Flush(Durability::kSynced));
    write = watch.seconds() / static_cast<double>(count);
    state.SetIterationTime(watch.seconds());
    bench.Reopen();
    const uint64_t before = DiskBytes(bench.directory());
    disk = static_cast<double>(before) / static_cast<double>(count * size);
    read = ReadAll(bench.view(), count, size) / static_cast<double>(count);
    Must(bench.volume().CreateSnapshot(kMainBranch, "", "", Durability::kNone));
    bench.Settle();
    {
      std::vector<NodeRef> files = FilesOf(bench.view(), changed);
      const Stopwatch change;
      for (const NodeRef& file : files) {
        Must(bench.view().Write({}, *file, size / 2, std::string_view("y")));
      }
      Must(bench.volume().Flush(Durability::kSynced));
      byte = change.seconds() / static_cast<double>(changed);
    }
    bench.Reopen();
    byte_disk = static_cast<double>(DiskBytes(bench.directory()) - before) /
                static_cast<double>(changed) / 1024;
  }
  state.counters["write"] = write * 1e6;
  state.counters["read"] = read * 1e6;
  state.counters["byte"] = byte * 1e6;
  state.counters["disk"] = disk;
  state.counters["byte_disk"] = byte_disk;
}

void BM_Threshold(benchmark::State& state) {
  const auto limit = static_cast<uint32_t>(state.range(1));
  BenchVolume::Options options{StoreKind::kSqlite, "", {}};
  options.layout = ContentLayout{limit, limit};
  Measure(state, options, static_cast<uint64_t>(state.range(0)));
}

void BM_SingleFileChunk(benchmark::State& state) {
  const auto chunk = static_cast<uint32_t>(state.range(1));
  BenchVolume::Options options{StoreKind::kSqlite, "", {}};
  options.volume.single_file = true;
  options.layout = ContentLayout{chunk, chunk};
  Measure(state, options, static_cast<uint64_t>(state.range(0)));
}

constexpr int64_t kKiB = 1024;

BENCHMARK(BM_Threshold)
    ->ArgNames({"size", "threshold"})
    ->ArgsProduct({{kKiB, 4 * kKiB, 16 * kKiB, 64 * kKiB, 256 * kKiB, 1024 * kKiB, 4096 * kKiB},
                   {4 * kKiB, 16 * kKiB, 64 * kKiB, 256 * kKiB}})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SingleFileChunk)
    ->ArgNames({"size", "chunk"})
    ->ArgsProduct({{16 * kKiB, 256 * kKiB, 4096 * kKiB, 65536 * kKiB},
                   {64 * kKiB, 256 * kKiB, 1024 * kKiB}})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace agentfs::bench

BENCHMARK_MAIN();
