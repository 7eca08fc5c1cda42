// SPDX-License-Identifier: Apache-2.0
//
// Memory: of cached nodes and of branches. The figures are bytes, not times.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bench_volume.h"

namespace agentfs::bench {
namespace {

// Bytes of memory that the program occupies, without what the allocator keeps for later.
double Occupied() {
  ::malloc_trim(0);
  std::ifstream statm("/proc/self/statm");
  uint64_t total = 0, resident = 0, shared = 0;
  statm >> total >> resident >> shared;
  return static_cast<double>((resident - shared) * static_cast<uint64_t>(::getpagesize()));
}

// Files that are there before the first measurement: by then SQLite's caches, which are bounded,
// are full.
constexpr uint64_t kWarm = 200000;

// A SQLite volume: the rows are in its file, so that what is in memory is the nodes.
void BM_BytesPerNode(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  static std::unique_ptr<BenchVolume> bench;
  if (bench == nullptr) {
    bench = std::make_unique<BenchVolume>(StoreKind::kSqlite);
    MakeFiles(bench->view(), "warm", kWarm, 0);
    MakeFiles(bench->view(), "t", count, 0);
  }
  for (auto _ : state) {
    bench->Reopen();
    const Files files(bench->shared_view());
    const auto walk = [&](std::string_view path) {
      Must(files.Walk(path, [&](const FileEntry&) { return Visit::kContinue; }));
      bench->Settle();
      return static_cast<double>(Must(bench->volume().GetStats()).cached_nodes);
    };
    const double warm = walk("/warm");
    const double before = Occupied();
    const double cached = walk("/t") - warm;
    state.counters["bytes/node"] = (Occupied() - before) / cached;
    state.counters["cached_nodes"] = cached;
  }
}

// The same nodes, just made: what was pending is committed, and the content is not counted.
void BM_BytesPerNewNode(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  for (auto _ : state) {
    BenchVolume bench(StoreKind::kSqlite);
    MakeFiles(bench.view(), "warm", kWarm, 0);
    bench.Settle();
    const double before = Occupied();
    MakeFiles(bench.view(), "t", count, 0);
    bench.Settle();
    state.counters["bytes/node"] = (Occupied() - before) / static_cast<double>(count);
  }
}

void BM_BytesPerBranch(benchmark::State& state) {
  const int count = 10000;
  for (auto _ : state) {
    BenchVolume bench(StoreKind::kSqlite);
    MakeFiles(bench.view(), "t", 1000, 0);
    Must(bench.volume().CreateSnapshot(kMainBranch, "origin", "", Durability::kNone));
    bench.Settle();
    const double before = Occupied();
    for (int i = 0; i < count; ++i) {
      Must(bench.volume().CreateBranch("branch" + std::to_string(i), "origin"));
    }
    bench.Settle();
    state.counters["bytes/branch"] = (Occupied() - before) / count;
    // With a view of each, opened and looked at.
    const double closed = Occupied();
    std::vector<std::shared_ptr<FileSystem>> views;
    for (int i = 0; i < 1000; ++i) {
      views.push_back(Must(bench.volume().OpenBranch("branch" + std::to_string(i))));
      Must(views.back()->GetAttr(*views.back()->Root()));
    }
    state.counters["bytes/view"] = (Occupied() - closed) / 1000;
  }
}

BENCHMARK(BM_BytesPerNode)->ArgName("nodes")->Arg(1000000)->Iterations(1);
BENCHMARK(BM_BytesPerNewNode)->ArgName("nodes")->Arg(1000000)->Iterations(1);
BENCHMARK(BM_BytesPerBranch)->Iterations(1);

}  // namespace
}  // namespace agentfs::bench

BENCHMARK_MAIN();
