// SPDX-License-Identifier: Apache-2.0
//
// Memory: of cached nodes and of branches. The figures are bytes, not times.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <memory>
#include <string>

#include "bench_volume.h"

namespace agentfs::bench {
namespace {

// Bytes that the program has allocated and not freed.
double Allocated() {
  const struct mallinfo2 info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

// A SQLite volume: the rows are in its file, so that what is in memory is the nodes. SQLite's own
// cache is bounded, and there before the first measurement.
void BM_BytesPerNode(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  static std::unique_ptr<BenchVolume> bench;
  if (bench == nullptr) {
    bench = std::make_unique<BenchVolume>(StoreKind::kSqlite);
    MakeFiles(bench->view(), "t", count, 0);
  }
  for (auto _ : state) {
    bench->Reopen();
    const Files files(bench->shared_view());
    const Found first = Must(files.Resolve("/t"));
    const double before = Allocated();
    uint64_t nodes = 0;
    Must(files.Walk("/t", [&](const FileEntry&) {
      ++nodes;
      return Visit::kContinue;
    }));
    bench->Settle();
    const double cached = static_cast<double>(Must(bench->volume().GetStats()).cached_nodes);
    state.counters["bytes/node"] = (Allocated() - before) / cached;
    state.counters["cached_nodes"] = cached;
  }
}

// The same nodes, just made: what was pending is committed, and the content is not counted.
void BM_BytesPerNewNode(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  for (auto _ : state) {
    BenchVolume bench(StoreKind::kSqlite);
    MakeFiles(bench.view(), "warm", 1000, 0);
    bench.Settle();
    const double before = Allocated();
    MakeFiles(bench.view(), "t", count, 0);
    bench.Settle();
    state.counters["bytes/node"] = (Allocated() - before) / static_cast<double>(count);
  }
}

void BM_BytesPerBranch(benchmark::State& state) {
  const int count = 10000;
  for (auto _ : state) {
    BenchVolume bench(StoreKind::kSqlite);
    MakeFiles(bench.view(), "t", 1000, 0);
    Must(bench.volume().CreateSnapshot(kMainBranch, "origin", "", Durability::kNone));
    bench.Settle();
    const double before = Allocated();
    for (int i = 0; i < count; ++i) {
      Must(bench.volume().CreateBranch("branch" + std::to_string(i), "origin"));
    }
    bench.Settle();
    state.counters["bytes/branch"] = (Allocated() - before) / count;
    // With a view of each, opened and looked at.
    const double closed = Allocated();
    std::vector<std::shared_ptr<FileSystem>> views;
    for (int i = 0; i < 1000; ++i) {
      views.push_back(Must(bench.volume().OpenBranch("branch" + std::to_string(i))));
      Must(views.back()->GetAttr(*views.back()->Root()));
    }
    state.counters["bytes/view"] = (Allocated() - closed) / 1000;
  }
}

BENCHMARK(BM_BytesPerNode)->ArgName("nodes")->Arg(1000000)->Iterations(1);
BENCHMARK(BM_BytesPerNewNode)->ArgName("nodes")->Arg(1000000)->Iterations(1);
BENCHMARK(BM_BytesPerBranch)->Iterations(1);

}  // namespace
}  // namespace agentfs::bench

BENCHMARK_MAIN();
