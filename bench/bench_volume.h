// SPDX-License-Identifier: Apache-2.0
//
// What the benchmarks of volumes share: a volume in a directory of its own, trees to measure on,
// and ratios between cases of one run.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/files.h"
#include "agentfs/volume.h"
#include "core/content_layout.h"

namespace agentfs::bench {

enum class StoreKind : int { kMemory, kSqlite };

// Ends the program with what failed: a benchmark that does not do its work has no time.
void Must(const Result<void>& result);
template <typename T>
T Must(Result<T> result) {
  if (!result.ok()) Must(Result<void>(result.error()));
  return std::move(result).value();
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The processor time of this thread: steadier than the clock on a machine that does other things.
class ThreadTime {
 public:
  double seconds() const { return Now() - start_; }

 private:
  static double Now();
  double start_ = Now();
};

// A directory that goes with it, in $AGENTFS_BENCH_DIR or the system's for temporary files.
class Directory {
 public:
  Directory();
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A volume and the view of its main branch.
class BenchVolume {
 public:
  struct Options {
    StoreKind store = StoreKind::kMemory;
    std::string base;  // a host directory; empty: none
    VolumeOptions volume;
    std::optional<ContentLayout> layout = std::nullopt;  // other than the volume's own choice
  };
  explicit BenchVolume(Options options);
  explicit BenchVolume(StoreKind store) : BenchVolume(Options{store, "", {}}) {}
  ~BenchVolume();

  Volume& volume() { return *volume_; }
  FileSystem& view() { return *view_; }
  const std::shared_ptr<FileSystem>& shared_view() const { return view_; }
  const std::string& directory() const { return directory_.path(); }

  // Closes everything and opens it again (not with a memory store): nothing is in memory.
  void Reopen();
  // Waits until the committer has nothing left to do.
  void Settle() { Must(volume_->Flush(Durability::kNone)); }

 private:
  void Open();

  const Options options_;
  Directory directory_;
  std::unique_ptr<Volume> volume_;
  std::shared_ptr<FileSystem> view_;
};

inline constexpr uint64_t kFilesPerDirectory = 1000;

// The tree of `count` files that most cases use: /<top>/d<i>/f<j>, a thousand to a directory.
// With bytes > 0 each file gets that much content.
void MakeFiles(FileSystem& view, std::string_view top, uint64_t count, size_t bytes);
// The files' paths in an order that visits them at random.
std::vector<std::string> ShuffledPaths(std::string_view top, uint64_t count);
// A file written in calls of 1 MiB.
NodeRef MakeLargeFile(FileSystem& view, std::string_view name, uint64_t size);

// Keeps the figures of this run by name, and gives the median of one: what later cases are
// compared with. 0 if there is none (the case was filtered out).
void Remember(const std::string& name, double figure);
double Recall(const std::string& name);

}  // namespace agentfs::bench
