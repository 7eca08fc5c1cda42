// SPDX-License-Identifier: Apache-2.0
//
// The stores under the load of a volume: rows of new files, nearest-version lookups, large blobs.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>

#include "agentfs/stores.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

constexpr uint64_t kFilesPerBatch = 10000;
constexpr uint64_t kFirstNode = 1000;
constexpr size_t kChunk = 65536;

enum Kind : int { kMemory, kSqlite, kLmdb };

// A store in a directory of its own: $AGENTFS_BENCH_DIR or the system's for temporary files.
class Rig {
 public:
  explicit Rig(int kind) : kind_(kind) {
    const char* parent = std::getenv("AGENTFS_BENCH_DIR");
    directory_ = std::string(parent ? parent : std::filesystem::temp_directory_path().c_str()) +
                 "/agentfs-bench-XXXXXX";
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    Open();
  }
  ~Rig() {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }
  void Open() {
    store_.reset();
    const std::string file = directory_ + "/store";
    MemoryStoreOptions memory{.memory_budget = uint64_t{8} << 30, .spill_directory = directory_};
    auto store = kind_ == kMemory   ? OpenMemoryStore(VolumeSchema(), memory)
                 : kind_ == kSqlite ? OpenSqliteStore(file, VolumeSchema())
                                    : OpenLmdbStore(file, VolumeSchema());
    if (!store.ok()) std::abort();
    store_ = std::move(store).value();
  }
  Store& store() { return *store_; }
  const std::string& directory() const { return directory_; }

 private:
  int kind_;
  std::string directory_;
  std::unique_ptr<Store> store_;
};

// The columns as a new file's are: small numbers, times, and mostly nothing.
std::string NodeValue() {
  ValueWriter value;
  size_t at = 0;
  for (const Column& column : VolumeSchema().tables[tables::kNodes].value) {
    if (column.type != ColumnType::kInt) {
      value.Bytes("");
    } else if (column.name.find("time") != std::string_view::npos && at < 14) {
      value.Int(column.name.find("_ns") != std::string_view::npos ? 123'456'789 : 1'700'000'000);
    } else {
      value.Int(at < 6 ? static_cast<int64_t>(at) * 1000 : 0);
    }
    ++at;
  }
  return value.Take();
}

void AddFile(Batch& batch, uint64_t id, const Buffer& content) {
  batch.Put(tables::kNodes, KeyWriter().Int(id).Int(1).Take(), NodeValue());
  const std::string name = "file" + std::to_string(id) + ".txt";
  batch.Put(tables::kEntries, KeyWriter().Int(2 + id / 1000).Bytes(name).Int(1).Take(),
            ValueWriter().Int(static_cast<int64_t>(id)).Int(8).Take());
  batch.Put(tables::kData, KeyWriter().Int(id).Int(0).Int(1).Take(), ValueWriter().Int(1).Take(),
            content);
}

Batch FilesBatch(uint64_t first) {
  Batch batch;
  for (uint64_t id = first; id < first + kFilesPerBatch; ++id) {
    AddFile(batch, id, Buffer::Copy(std::string(1024, static_cast<char>(id))));
  }
  return batch;
}

void MustCommit(Store& store, const Batch& batch, Durability durability) {
  if (!store.Commit(batch, durability).ok()) std::abort();
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Commits of 10,000 new files of 1 KiB each: three rows a file, and two index entries.
void BM_CommitFiles(benchmark::State& state) {
  Rig rig(static_cast<int>(state.range(0)));
  uint64_t next = kFirstNode;
  for (auto _ : state) {
    const Batch batch = FilesBatch(next);
    next += kFilesPerBatch;
    const Stopwatch watch;
    MustCommit(rig.store(), batch, Durability::kNone);
    state.SetIterationTime(watch.seconds());
  }
  state.counters["files/s"] = benchmark::Counter(
      static_cast<double>(state.iterations() * kFilesPerBatch), benchmark::Counter::kIsRate);
}

void BM_CommitOneFileSynced(benchmark::State& state) {
  Rig rig(static_cast<int>(state.range(0)));
  uint64_t next = kFirstNode;
  const Buffer content = Buffer::Copy(std::string(1024, 'x'));
  for (auto _ : state) {
    Batch batch;
    AddFile(batch, next++, content);
    MustCommit(rig.store(), batch, Durability::kSynced);
  }
}

// The nearest version of a random node among 200,000.
void BM_NearestVersion(benchmark::State& state) {
  Rig rig(static_cast<int>(state.range(0)));
  constexpr uint64_t kFiles = 200000;
  for (uint64_t id = 0; id < kFiles; id += kFilesPerBatch) {
    MustCommit(rig.store(), FilesBatch(kFirstNode + id), Durability::kNone);
  }
  if (state.range(0) != kMemory) rig.Open();
  std::mt19937_64 random(1);
  const std::string upper = KeyInt(77);
  uint64_t found = 0;
  for (auto _ : state) {
    const std::string node = KeyInt(kFirstNode + random() % kFiles);
    const ScanRange range{
        .table = tables::kNodes, .prefix = node, .upper = upper, .order = Order::kDescending};
    const auto result = rig.store().Scan(range, [&](const RowView& row) {
      found += row.value.size();
      return Visit::kStop;
    });
    if (!result.ok()) std::abort();
  }
  benchmark::DoNotOptimize(found);
}

// The content of a random file of 1 KiB among 200,000.
void BM_GetContent(benchmark::State& state) {
  Rig rig(static_cast<int>(state.range(0)));
  constexpr uint64_t kFiles = 200000;
  for (uint64_t id = 0; id < kFiles; id += kFilesPerBatch) {
    MustCommit(rig.store(), FilesBatch(kFirstNode + id), Durability::kNone);
  }
  if (state.range(0) != kMemory) rig.Open();
  std::mt19937_64 random(1);
  for (auto _ : state) {
    const uint64_t id = kFirstNode + random() % kFiles;
    auto row = rig.store().Get(tables::kData, KeyWriter().Int(id).Int(0).Int(1).Take());
    if (!row.ok() || !row->has_value()) std::abort();
    benchmark::DoNotOptimize((*row)->blob.data());
  }
}

Batch ChunksBatch(uint64_t first, uint64_t count, const Buffer& chunk) {
  Batch batch;
  for (uint64_t i = first; i < first + count; ++i) {
    batch.Put(tables::kData, KeyWriter().Int(5).Int(i).Int(1).Take(), ValueWriter().Int(1).Take(),
              chunk);
  }
  return batch;
}

constexpr uint64_t kChunks = 8192;         // 512 MiB
constexpr uint64_t kChunksPerBatch = 128;  // 8 MiB

// 512 MiB in chunks of 64 KiB, synced at the end.
void BM_WriteChunks(benchmark::State& state) {
  const Buffer chunk = Buffer::Copy(std::string(kChunk, 'c'));
  for (auto _ : state) {
    Rig rig(static_cast<int>(state.range(0)));
    const Stopwatch watch;
    for (uint64_t i = 0; i < kChunks; i += kChunksPerBatch) {
      MustCommit(rig.store(), ChunksBatch(i, kChunksPerBatch, chunk), Durability::kNone);
    }
    MustCommit(rig.store(), Batch(), Durability::kSynced);
    state.SetIterationTime(watch.seconds());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kChunks * kChunk));
}

void BM_ReadChunks(benchmark::State& state) {
  const Buffer chunk = Buffer::Copy(std::string(kChunk, 'c'));
  Rig rig(static_cast<int>(state.range(0)));
  for (uint64_t i = 0; i < kChunks; i += kChunksPerBatch) {
    MustCommit(rig.store(), ChunksBatch(i, kChunksPerBatch, chunk), Durability::kNone);
  }
  if (state.range(0) != kMemory) rig.Open();
  for (auto _ : state) {
    for (uint64_t i = 0; i < kChunks; ++i) {
      auto row = rig.store().Get(tables::kData, KeyWriter().Int(5).Int(i).Int(1).Take());
      if (!row.ok() || !row->has_value()) std::abort();
      benchmark::DoNotOptimize((*row)->blob.data());
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kChunks * kChunk));
}

// What the above is measured against.
void BM_WritePlainFile(benchmark::State& state) {
  Rig rig(kMemory);
  const std::string chunk(kChunk, 'c');
  const std::string file = rig.directory() + "/plain";
  for (auto _ : state) {
    const int fd = ::open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    const Stopwatch watch;
    for (uint64_t i = 0; i < kChunks; ++i) {
      if (::write(fd, chunk.data(), chunk.size()) != static_cast<ssize_t>(kChunk)) std::abort();
    }
    ::fsync(fd);
    state.SetIterationTime(watch.seconds());
    ::close(fd);
    ::unlink(file.c_str());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kChunks * kChunk));
}

void Stores(benchmark::internal::Benchmark* bench) {
  bench->ArgName("store")->Arg(kMemory)->Arg(kSqlite)->Arg(kLmdb);
}

BENCHMARK(BM_CommitFiles)->Apply(Stores)->UseManualTime()->Iterations(40);
BENCHMARK(BM_CommitOneFileSynced)->Apply(Stores)->UseRealTime()->Iterations(200);
BENCHMARK(BM_NearestVersion)->Apply(Stores)->UseRealTime();
BENCHMARK(BM_GetContent)->Apply(Stores)->UseRealTime();
BENCHMARK(BM_WriteChunks)->Arg(kSqlite)->Arg(kLmdb)->UseManualTime()->Iterations(2);
BENCHMARK(BM_ReadChunks)->Arg(kSqlite)->Arg(kLmdb)->UseRealTime();
BENCHMARK(BM_WritePlainFile)->UseManualTime()->Iterations(2);

}  // namespace
}  // namespace agentfs

BENCHMARK_MAIN();
