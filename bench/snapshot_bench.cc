// SPDX-License-Identifier: Apache-2.0
//
// Snapshots and forks by the size of the tree; reading with and without a long history.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench_volume.h"

namespace agentfs::bench {
namespace {

constexpr uint64_t kSnapshots = 10000;
constexpr int kCommittedCalls = 100;

// A volume with so many nodes; it stays for the next case of the same size.
BenchVolume& Filled(const benchmark::State& state) {
  static std::unique_ptr<BenchVolume> bench;
  static std::pair<int64_t, int64_t> filled;
  if (const auto wanted = std::pair(state.range(0), state.range(1)); filled != wanted) {
    bench.reset();
    bench = std::make_unique<BenchVolume>(static_cast<StoreKind>(state.range(0)));
    MakeFiles(bench->view(), "t", static_cast<uint64_t>(state.range(1)), 0);
    bench->Settle();
    filled = wanted;
  }
  return *bench;
}

// A snapshot of an unchanged branch is its last one: change something first.
void Touch(BenchVolume& bench, Node& node) {
  AttrChange change;
  change.mtime_now = true;
  Must(bench.view().SetAttr({}, node, change));
}

// us: the call itself, its median over the iterations. committed_us: until it is in the store,
// unsynced.
class CallTimes {
 public:
  void AddCall(double seconds) { calls_.push_back(seconds); }
  void AddCommitted(double seconds) { committed_.push_back(seconds); }
  void Report(benchmark::State& state, const std::string& name) {
    const double call = Median(calls_), committed = Median(committed_);
    state.counters["us"] = call * 1e6;
    state.counters["committed_us"] = committed * 1e6;
    const std::string key = name + std::to_string(state.range(0));
    if (state.range(1) == 1000) {
      Remember(key, call);
      Remember(key + "committed", committed);
      return;
    }
    state.counters["slower"] = call / Recall(key);
    state.counters["committed_slower"] = committed / Recall(key + "committed");
  }

 private:
  static double Median(std::vector<double>& times) {
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    return times[times.size() / 2];
  }
  std::vector<double> calls_, committed_;
};

template <typename Call>
void Measure(benchmark::State& state, const std::string& name, const Call& call) {
  BenchVolume& bench = Filled(state);
  const NodeRef node = Must(Files(bench.shared_view()).Resolve("/t/d0/f0")).node;
  CallTimes times;
  // One after the other: the committer is awake, or the call would at times pay for waking it.
  for (auto _ : state) {
    Touch(bench, *node);
    const Stopwatch watch;
    call(bench.volume());
    const double seconds = watch.seconds();
    times.AddCall(seconds);
    state.SetIterationTime(seconds);
  }
  for (int i = 0; i < kCommittedCalls; ++i) {
    Touch(bench, *node);
    bench.Settle();
    const Stopwatch watch;
    call(bench.volume());
    bench.Settle();
    times.AddCommitted(watch.seconds());
  }
  times.Report(state, name);
}

void BM_Snapshot(benchmark::State& state) {
  Measure(state, "snapshot", [](Volume& volume) {
    Must(volume.CreateSnapshot(kMainBranch, "", "", Durability::kNone));
  });
}

std::string NextName() {
  static uint64_t next = 0;
  return "branch" + std::to_string(next++);
}

void BM_Fork(benchmark::State& state) {
  Measure(state, "fork",
          [](Volume& volume) { Must(volume.CreateBranch(NextName(), kMainBranch)); });
}

// ---- history

constexpr uint64_t kHistoryFiles = 1000;

// With `snapshots` behind it, in each of which one file was changed: in turn, so that each file has
// versions in many layers.
std::unique_ptr<BenchVolume> WithHistory(StoreKind store, uint64_t snapshots) {
  auto bench = std::make_unique<BenchVolume>(store);
  MakeFiles(bench->view(), "t", kHistoryFiles, 1024);
  const Files files(bench->shared_view());
  const std::vector<std::string> paths = ShuffledPaths("t", kHistoryFiles);
  for (uint64_t i = 0; i < snapshots; ++i) {
    NodeRef node = Must(files.Resolve(paths[i % paths.size()])).node;
    Must(bench->view().Write({}, *node, i % 1024, std::string_view("y")));
    Must(bench->volume().CreateSnapshot(kMainBranch, "", "", Durability::kNone));
  }
  bench->Settle();
  return bench;
}

struct Histories {
  std::unique_ptr<BenchVolume> none, deep;
  BenchVolume& with(int64_t snapshots) { return snapshots == 0 ? *none : *deep; }
};

Histories& Of(StoreKind store) {
  static Histories histories[2];
  Histories& mine = histories[static_cast<int>(store)];
  if (mine.none == nullptr) {
    mine.none = WithHistory(store, 0);
    mine.deep = WithHistory(store, kSnapshots);
  }
  return mine;
}

void ReportHistory(benchmark::State& state, const std::string& name, double seconds) {
  state.counters["ns/op"] = seconds * 1e9;
  if (state.range(1) == 0) Remember(name, seconds);
  if (state.range(1) != 0) state.counters["slower"] = seconds / Recall(name);
}

enum class What : int { kLookup, kGetAttr, kRead };

double RunOnce(FileSystem& view, What what, const std::vector<std::string>& paths,
               const std::vector<NodeRef>& nodes, const Files& files) {
  char out[1024];
  const Stopwatch watch;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (what == What::kLookup) Must(files.Resolve(paths[i]));
    if (what == What::kGetAttr) Must(view.GetAttr(*nodes[i]));
    if (what == What::kRead) Must(view.Read(*nodes[i], 0, out));
  }
  return watch.seconds();
}

// Everything is in memory.
void BM_WarmWithHistory(benchmark::State& state) {
  BenchVolume& bench = Of(static_cast<StoreKind>(state.range(0))).with(state.range(1));
  const auto what = static_cast<What>(state.range(2));
  const Files files(bench.shared_view());
  const std::vector<std::string> paths = ShuffledPaths("t", kHistoryFiles);
  std::vector<NodeRef> nodes;
  for (const std::string& path : paths) nodes.push_back(Must(files.Resolve(path)).node);
  RunOnce(bench.view(), What::kRead, paths, nodes, files);
  double total = 0;
  for (auto _ : state) {
    const double seconds = RunOnce(bench.view(), what, paths, nodes, files);
    state.SetIterationTime(seconds);
    total += seconds;
  }
  ReportHistory(state, "warm" + std::to_string(state.range(0)) + std::to_string(state.range(2)),
                total / static_cast<double>(state.iterations() * kHistoryFiles));
}

// A fork that was just opened: everything comes from the store. Lookup and read of each file.
void BM_ColdWithHistory(benchmark::State& state) {
  BenchVolume& bench = Of(static_cast<StoreKind>(state.range(0))).with(state.range(1));
  const std::vector<std::string> paths = ShuffledPaths("t", kHistoryFiles);
  char out[1024];
  double total = 0;
  for (auto _ : state) {
    const std::string branch = NextName();
    Must(bench.volume().CreateBranch(branch, kMainBranch));
    bench.Settle();
    {
      auto view = Must(bench.volume().OpenBranch(branch));
      const Files files(view);
      const Stopwatch watch;
      for (const std::string& path : paths) {
        Must(view->Read(*Must(files.Resolve(path)).node, 0, out));
      }
      state.SetIterationTime(watch.seconds());
      total += watch.seconds();
    }
    Must(bench.volume().DeleteBranch(branch));
  }
  ReportHistory(state, "cold" + std::to_string(state.range(0)),
                total / static_cast<double>(state.iterations() * kHistoryFiles));
}

void Sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"store", "nodes"})->UseManualTime()->Iterations(200);
}

void Warm(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"store", "snapshots", "op"})->UseManualTime()->Iterations(300);
  for (int what = 0; what < 3; ++what) {
    for (int64_t snapshots : {uint64_t{0}, kSnapshots}) bench->Args({0, snapshots, what});
  }
}

void Cold(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"store", "snapshots"})->UseManualTime()->Iterations(20);
  for (int store = 0; store < 2; ++store) {
    for (int64_t snapshots : {uint64_t{0}, kSnapshots}) bench->Args({store, snapshots});
  }
}

#define SIZE_CASE(store, nodes)                               \
  BENCHMARK(BM_Snapshot)->Apply(Sizes)->Args({store, nodes}); \
  BENCHMARK(BM_Fork)->Apply(Sizes)->Args({store, nodes})

SIZE_CASE(0, 1000);
SIZE_CASE(0, 100000);
SIZE_CASE(0, 1000000);
SIZE_CASE(1, 1000);
SIZE_CASE(1, 100000);
SIZE_CASE(1, 1000000);
BENCHMARK(BM_WarmWithHistory)->Apply(Warm);
BENCHMARK(BM_ColdWithHistory)->Apply(Cold);

}  // namespace
}  // namespace agentfs::bench

BENCHMARK_MAIN();
