// SPDX-License-Identifier: Apache-2.0
//
// Many small files: making them, finding them by path, reading them from a cold start, and two
// threads against one.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench_volume.h"

namespace agentfs::bench {
namespace {

constexpr size_t kFileBytes = 1024;

// Many options of a volume matter only over time; here nothing may be evicted meanwhile.
BenchVolume::Options Roomy(StoreKind store) {
  BenchVolume::Options options{store, "", {}};
  options.volume.content_cache_bytes = uint64_t{4} << 30;
  return options;
}

// files/s: what the caller sees; cpu: the same in its processor time. committed/s: until the
// committer has caught up. Each iteration fills a new volume.
void BM_CreateWrite(benchmark::State& state) {
  const auto store = static_cast<StoreKind>(state.range(0));
  const auto count = static_cast<uint64_t>(state.range(1));
  double calling = 0, computing = 0, total = 0;
  for (auto _ : state) {
    BenchVolume bench(Roomy(store));
    bench.Settle();
    const Stopwatch watch;
    const ThreadTime time;
    MakeFiles(bench.view(), "t", count, kFileBytes);
    computing += time.seconds();
    calling += watch.seconds();
    bench.Settle();
    const double seconds = watch.seconds();
    total += seconds;
    state.SetIterationTime(seconds);
  }
  const double files = static_cast<double>(state.iterations()) * static_cast<double>(count);
  state.counters["files/s"] = files / calling;
  state.counters["cpu_files/s"] = files / computing;
  state.counters["committed/s"] = files / total;
  const std::string name = "create" + std::to_string(state.range(0));
  if (count == 1000) {
    Remember(name, files / calling);
    Remember(name + "cpu", files / computing);
  } else if (store == StoreKind::kMemory) {
    state.counters["slower"] = Recall(name) / (files / calling);
    state.counters["cpu_slower"] = Recall(name + "cpu") / (files / computing);
  }
}

// The volume with so many files; it stays for the next repetition.
BenchVolume& Filled(StoreKind store, uint64_t count) {
  static std::unique_ptr<BenchVolume> bench;
  static uint64_t filled = 0;
  if (filled != count) {
    bench.reset();
    bench = std::make_unique<BenchVolume>(Roomy(store));
    MakeFiles(bench->view(), "t", count, 0);
    bench->Settle();
    filled = count;
  }
  return *bench;
}

// By path of three components; in random order, or a directory after the other.
void BM_GetAttrByPath(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  BenchVolume& bench = Filled(StoreKind::kMemory, count);
  const Files files(bench.shared_view());
  std::vector<std::string> paths = ShuffledPaths("t", count);
  if (state.range(1) == 0) std::sort(paths.begin(), paths.end());
  uint64_t sum = 0, done = 0;
  const Stopwatch watch;
  const ThreadTime time;
  for (auto _ : state) {
    for (const std::string& path : paths) sum += Must(files.Resolve(path)).attr.mtime.nsec;
    done += count;
  }
  benchmark::DoNotOptimize(sum);
  const double rate = static_cast<double>(done) / watch.seconds();
  const double cpu_rate = static_cast<double>(done) / time.seconds();
  state.counters["getattr/s"] = rate;
  state.counters["cpu_getattr/s"] = cpu_rate;
  if (count == 1000) {
    Remember("getattr", rate);
    Remember("getattr-cpu", cpu_rate);
  } else {
    state.counters["slower"] = Recall("getattr") / rate;
    state.counters["cpu_slower"] = Recall("getattr-cpu") / cpu_rate;
  }
}

// A volume opened anew: nothing is in memory but what the host's page cache has.
void BM_ColdRead(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  static std::unique_ptr<BenchVolume> bench;
  if (bench == nullptr) {
    bench = std::make_unique<BenchVolume>(Roomy(StoreKind::kSqlite));
    MakeFiles(bench->view(), "t", count, kFileBytes);
  }
  std::string out(kFileBytes, '\0');
  double total = 0, computing = 0;
  for (auto _ : state) {
    bench->Reopen();
    const Files files(bench->shared_view());
    const Stopwatch watch;
    const ThreadTime time;
    for (uint64_t d = 0; d < count / kFilesPerDirectory; ++d) {
      NodeRef directory = Must(files.Resolve("/t/d" + std::to_string(d))).node;
      for (uint64_t f = 0; f < kFilesPerDirectory; ++f) {
        NodeRef file = Must(bench->view().Lookup({}, *directory, "f" + std::to_string(f))).node;
        if (Must(bench->view().Read(*file, 0, out)) != kFileBytes) Must(Error(EIO));
      }
    }
    state.SetIterationTime(watch.seconds());
    total += watch.seconds();
    computing += time.seconds();
  }
  const auto done = static_cast<double>(state.iterations() * count);
  state.counters["files/s"] = done / total;
  state.counters["cpu_files/s"] = done / computing;
}

// What `threads` threads at once need for `operations` each.
struct ThreadsTime {
  double seconds = 0;    // by the clock, all of them
  double computing = 0;  // processor time, the mean of the threads
};

template <typename Work>
ThreadsTime InThreads(int threads, const Work& work) {
  std::vector<std::thread> running;
  std::vector<double> computing(static_cast<size_t>(threads));
  const auto run = [&](int i) {
    const ThreadTime time;
    work(i);
    computing[static_cast<size_t>(i)] = time.seconds();
  };
  const Stopwatch watch;
  for (int i = 1; i < threads; ++i) running.emplace_back([&run, i] { run(i); });
  run(0);
  for (std::thread& thread : running) thread.join();
  ThreadsTime result{watch.seconds(), 0};
  for (double one : computing) result.computing += one / threads;
  return result;
}

// speedup: by the clock; it needs as many idle processors as threads, and one for the committer.
// cpu_speedup: what it would be if no thread had to wait for a processor.
void ReportThreads(benchmark::State& state, const std::string& name, uint64_t operations,
                   const ThreadsTime& time) {
  const double all = static_cast<double>(operations) * static_cast<double>(state.range(0));
  const double rate = all / time.seconds, cpu_rate = all / time.computing;
  state.counters["ops/s"] = rate;
  if (state.range(0) == 1) {
    Remember(name, rate);
    Remember(name + "cpu", cpu_rate);
  } else {
    state.counters["speedup"] = rate / Recall(name);
    state.counters["cpu_speedup"] = cpu_rate / Recall(name + "cpu");
  }
}

// Each thread in a directory of its own.
void BM_CreateWriteThreads(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(0));
  constexpr uint64_t kFiles = 50000;
  ThreadsTime total;
  for (auto _ : state) {
    BenchVolume bench(Roomy(StoreKind::kMemory));
    const ThreadsTime time = InThreads(threads, [&](int i) {
      MakeFiles(bench.view(), "t" + std::to_string(i), kFiles, kFileBytes);
    });
    state.SetIterationTime(time.seconds);
    total.seconds += time.seconds;
    total.computing += time.computing;
  }
  ReportThreads(state, "threads/create", state.iterations() * kFiles, total);
}

void BM_GetAttrThreads(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(0));
  constexpr uint64_t kFiles = 1000, kRounds = 1000;
  static std::unique_ptr<BenchVolume> bench;
  if (bench == nullptr) {
    bench = std::make_unique<BenchVolume>(StoreKind::kMemory);
    for (const char* top : {"t0", "t1"}) MakeFiles(bench->view(), top, kFiles, 0);
    bench->Settle();
  }
  const Files files(bench->shared_view());
  const std::vector<std::string> paths[] = {ShuffledPaths("t0", kFiles),
                                            ShuffledPaths("t1", kFiles)};
  ThreadsTime total;
  for (auto _ : state) {
    const ThreadsTime time = InThreads(threads, [&](int i) {
      for (uint64_t round = 0; round < kRounds; ++round) {
        for (const std::string& path : paths[i]) Must(files.Resolve(path));
      }
    });
    state.SetIterationTime(time.seconds);
    total.seconds += time.seconds;
    total.computing += time.computing;
  }
  ReportThreads(state, "threads/getattr", state.iterations() * kFiles * kRounds, total);
}

// Names in a directory that is already known, each thread in its own.
void BM_LookupThreads(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(0));
  constexpr uint64_t kRounds = 4000;
  BenchVolume bench(StoreKind::kMemory);
  const Files files(bench.shared_view());
  NodeRef directories[2];
  for (int i = 0; i < 2; ++i) {
    const std::string top = "t" + std::to_string(i);
    MakeFiles(bench.view(), top, kFilesPerDirectory, 0);
    directories[i] = Must(files.Resolve("/" + top + "/d0")).node;
  }
  bench.Settle();
  std::vector<std::string> names;
  for (uint64_t i = 0; i < kFilesPerDirectory; ++i) names.push_back("f" + std::to_string(i));
  ThreadsTime total;
  for (auto _ : state) {
    const ThreadsTime time = InThreads(threads, [&](int i) {
      for (uint64_t round = 0; round < kRounds; ++round) {
        for (const std::string& name : names) Must(bench.view().Lookup({}, *directories[i], name));
      }
    });
    state.SetIterationTime(time.seconds);
    total.seconds += time.seconds;
    total.computing += time.computing;
  }
  ReportThreads(state, "threads/lookup", state.iterations() * kFilesPerDirectory * kRounds, total);
}

// Nodes that are already known, as a mount does it: no path to walk from a common root.
void BM_GetAttrNodesThreads(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(0));
  constexpr uint64_t kFiles = 1000, kRounds = 10000;
  BenchVolume bench(StoreKind::kMemory);
  const Files files(bench.shared_view());
  std::vector<NodeRef> nodes[2];
  for (int i = 0; i < 2; ++i) {
    const std::string top = "t" + std::to_string(i);
    MakeFiles(bench.view(), top, kFiles, 0);
    for (const std::string& path : ShuffledPaths(top, kFiles)) {
      nodes[i].push_back(Must(files.Resolve(path)).node);
    }
  }
  bench.Settle();
  ThreadsTime total;
  for (auto _ : state) {
    const ThreadsTime time = InThreads(threads, [&](int i) {
      for (uint64_t round = 0; round < kRounds; ++round) {
        for (const NodeRef& node : nodes[i]) Must(bench.view().GetAttr(*node));
      }
    });
    state.SetIterationTime(time.seconds);
    total.seconds += time.seconds;
    total.computing += time.computing;
  }
  ReportThreads(state, "threads/getattr-nodes", state.iterations() * kFiles * kRounds, total);
}

constexpr int kMemory = static_cast<int>(StoreKind::kMemory);
constexpr int kSqlite = static_cast<int>(StoreKind::kSqlite);

BENCHMARK(BM_CreateWrite)
    ->ArgNames({"store", "files"})
    ->Args({kMemory, 1000})
    ->UseManualTime()
    ->Iterations(200)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CreateWrite)
    ->ArgNames({"store", "files"})
    ->Args({kMemory, 1000000})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CreateWrite)
    ->ArgNames({"store", "files"})
    ->Args({kSqlite, 200000})
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_GetAttrByPath)
    ->ArgNames({"files", "shuffled"})
    ->Args({1000, 1})
    ->Iterations(1000)
    ->UseRealTime();
BENCHMARK(BM_GetAttrByPath)
    ->ArgNames({"files", "shuffled"})
    ->Args({1000000, 0})
    ->Args({1000000, 1})
    ->Iterations(2)
    ->UseRealTime();
BENCHMARK(BM_ColdRead)
    ->ArgName("files")
    ->Arg(100000)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CreateWriteThreads)
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->UseManualTime()
    ->Iterations(4);
BENCHMARK(BM_LookupThreads)->ArgName("threads")->Arg(1)->Arg(2)->UseManualTime()->Iterations(2);
BENCHMARK(BM_GetAttrThreads)->ArgName("threads")->Arg(1)->Arg(2)->UseManualTime()->Iterations(2);
BENCHMARK(BM_GetAttrNodesThreads)
    ->ArgName("threads")
    ->Arg(1)
    ->Arg(2)
    ->UseManualTime()
    ->Iterations(2);

}  // namespace
}  // namespace agentfs::bench

BENCHMARK_MAIN();
