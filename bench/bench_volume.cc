// SPDX-License-Identifier: Apache-2.0
#include "bench_volume.h"

#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <random>
#include <utility>

#include "agentfs/base_fs.h"
#include "agentfs/blob_store.h"
#include "agentfs/stores.h"
#include "core/volume_impl.h"

namespace agentfs::bench {
namespace {

std::map<std::string, std::vector<double>>& Figures() {
  static std::map<std::string, std::vector<double>> figures;
  return figures;
}

std::string DirectoryName(uint64_t i) { return "d" + std::to_string(i); }
std::string FileName(uint64_t i) { return "f" + std::to_string(i); }

}  // namespace

void Must(const Result<void>& result) {
  if (result.ok()) return;
  std::fprintf(stderr, "benchmark: %s\n", result.error().message().c_str());
  std::exit(1);
}

double ThreadTime::Now() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Directory::Directory() {
  const char* parent = std::getenv("AGENTFS_BENCH_DIR");
  path_ = std::string(parent ? parent : std::filesystem::temp_directory_path().c_str()) +
          "/agentfs-bench-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) Must(Error(errno, "cannot make " + path_));
}

Directory::~Directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

BenchVolume::BenchVolume(Options options) : options_(std::move(options)) { Open(); }

BenchVolume::~BenchVolume() = default;

void BenchVolume::Open() {
  const std::string& directory = directory_.path();
  const bool memory = options_.store == StoreKind::kMemory;
  MemoryStoreOptions in_memory{.memory_budget = uint64_t{8} << 30, .spill_directory = directory};
  const StoreOptions in_file{.large_rows = options_.volume.single_file};
  auto store =
      Must(memory ? OpenMemoryStore(VolumeSchema(), in_memory)
                  : OpenSqliteStore(directory + "/volume.sqlite", VolumeSchema(), in_file));
  std::unique_ptr<BlobStore> blobs;
  if (!options_.volume.single_file) {
    blobs = Must(memory ? OpenTemporaryBlobStore(directory)
                        : OpenHostBlobStore(directory + "/objects"));
  }
  std::unique_ptr<BaseFs> base;
  if (!options_.base.empty()) base = Must(OpenHostBase(options_.base));
  const ContentLayout layout = options_.layout.value_or(ContentLayout::For(options_.volume));
  volume_ = Must(VolumeImpl::Open(std::move(store), std::move(blobs), std::move(base),
                                  options_.volume, layout));
  view_ = Must(volume_->OpenBranch(kMainBranch));
}

void BenchVolume::Reopen() {
  view_.reset();
  Must(volume_->Close());
  volume_.reset();
  Open();
}

void MakeFiles(FileSystem& view, std::string_view top, uint64_t count, size_t bytes) {
  const Caller caller;
  const std::string content(bytes, 'x');
  NodeRef root = view.Root();
  NodeRef parent = Must(view.MakeDirectory(caller, *root, top, 0755)).node;
  NodeRef directory;
  for (uint64_t i = 0; i < count; ++i) {
    if (i % kFilesPerDirectory == 0) {
      const std::string name = DirectoryName(i / kFilesPerDirectory);
      directory = Must(view.MakeDirectory(caller, *parent, name, 0755)).node;
    }
    const std::string name = FileName(i % kFilesPerDirectory);
    NodeRef file = Must(view.Create(caller, *directory, name, 0644)).node;
    if (bytes > 0) Must(view.Write(caller, *file, 0, content));
  }
}

std::vector<std::string> ShuffledPaths(std::string_view top, uint64_t count) {
  std::vector<uint64_t> order(count);
  for (uint64_t i = 0; i < count; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  std::vector<std::string> paths;
  paths.reserve(count);
  for (uint64_t i : order) {
    paths.push_back("/" + std::string(top) + "/" + DirectoryName(i / kFilesPerDirectory) + "/" +
                    FileName(i % kFilesPerDirectory));
  }
  return paths;
}

NodeRef MakeLargeFile(FileSystem& view, std::string_view name, uint64_t size) {
  const Caller caller;
  const std::string piece(size_t{1} << 20, 'x');
  NodeRef root = view.Root();
  NodeRef file = Must(view.Create(caller, *root, name, 0644)).node;
  for (uint64_t at = 0; at < size; at += piece.size()) {
    const size_t length = std::min<uint64_t>(piece.size(), size - at);
    Must(view.Write(caller, *file, at, std::string_view(piece).substr(0, length)));
  }
  return file;
}

void Remember(const std::string& name, double figure) { Figures()[name].push_back(figure); }

double Recall(const std::string& name) {
  auto it = Figures().find(name);
  if (it == Figures().end()) return 0;
  std::vector<double> figures = it->second;
  std::nth_element(figures.begin(), figures.begin() + figures.size() / 2, figures.end());
  return figures[figures.size() / 2];
}

}  // namespace agentfs::bench
