// SPDX-License-Identifier: Apache-2.0
#include "core_rig.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "agentfs/base_fs.h"
#include "agentfs/blob_store.h"
#include "agentfs/stores.h"
#include "view_subject.h"

namespace agentfs {

// Counts the rows that pass, and does something while a commit is under way.
class CoreTest::CountingStore : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;
  Result<void> Commit(const Batch& batch, Durability durability) override {
    rows += batch.mutations.size();
    if (auto work = std::exchange(during_commit, nullptr)) work();
    return FaultyStore::Commit(batch, durability);
  }
  std::atomic<uint64_t> rows{0};
  std::function<void()> during_commit;
};

CoreTest::CoreTest() {
  scratch_ = std::filesystem::temp_directory_path() / "agentfs-core.XXXXXX";
  if (::mkdtemp(scratch_.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << scratch_;
  std::filesystem::create_directory(scratch_ + "/base");
  std::filesystem::create_directory(state());
  options_.commit_interval_ms = 5;
}

CoreTest::~CoreTest() {
  volume_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(scratch_, ignored);
}

void CoreTest::BaseFile(const std::string& path, std::string_view content) {
  std::ofstream out(base(path), std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  EXPECT_TRUE(out.good()) << path;
}

void CoreTest::BaseDirectory(const std::string& path) {
  std::filesystem::create_directories(base(path));
}

void CoreTest::Open(Backing backing) {
  backing_ = backing;
  over_base_ = false;
  OpenVolume();
}

void CoreTest::OpenOverBase(Backing backing) {
  backing_ = backing;
  over_base_ = true;
  OpenVolume();
}

void CoreTest::OpenVolume() {
  const bool memory = backing_ == Backing::kMemory;
  MemoryStoreOptions memory_options;
  memory_options.spill_directory = state();
  memory_options.memory_budget = memory_budget_;
  const StoreOptions in_file{.large_rows = options_.single_file};
  auto store = Get(memory ? OpenMemoryStore(VolumeSchema(), memory_options)
                          : OpenSqliteStore(state() + "/volume.sqlite", VolumeSchema(), in_file));
  auto counting = std::make_unique<CountingStore>(std::move(store));
  store_ = counting_ = counting.get();
  std::unique_ptr<BlobStore> blobs;
  if (!options_.single_file) {
    blobs = std::make_unique<FaultyBlobs>(
        Get(memory ? OpenTemporaryBlobStore(state()) : OpenHostBlobStore(state() + "/objects")),
        sectors_);
  }
  std::unique_ptr<BaseFs> host;
  if (over_base_) host = Get(OpenHostBase(scratch_ + "/base", {".agentfs"}));
  volume_ = Get(Volume::Open(std::move(counting), std::move(blobs), std::move(host), options_));
}

void CoreTest::Close() {
  Get(volume_->Close());
  volume_.reset();
}

void CoreTest::Reopen() {
  ASSERT_EQ(backing_, Backing::kSqlite) << "memory does not survive";
  Close();
  OpenVolume();
}

void CoreTest::AbandonAndReopen() {
  ASSERT_EQ(backing_, Backing::kSqlite) << "memory does not survive";
  store_->FailCommits(EIO);
  volume_.reset();
  OpenVolume();
}

std::unique_ptr<posix::Subject> CoreTest::Branch(std::string_view name) {
  auto subject = posix::MakeViewSubject(Get(volume_->OpenBranch(name)));
  subject->Become(posix::kRoot);
  return subject;
}

std::unique_ptr<posix::Subject> CoreTest::Snapshot(std::string_view ref) {
  auto subject = posix::MakeViewSubject(Get(volume_->OpenSnapshot(ref)));
  subject->Become(posix::kRoot);
  return subject;
}

// Twice: a batch lets go of nodes, whose rows the next one removes.
void CoreTest::Flush() {
  for (int i = 0; i < 3; ++i) Get(volume_->Flush(Durability::kSynced));
}

size_t CoreTest::Rows(TableId table) {
  Flush();
  size_t count = 0;
  Get(store_->Scan(ScanRange{table}, [&](const RowView&) {
    ++count;
    return Visit::kContinue;
  }));
  return count;
}

size_t CoreTest::AllRows() {
  size_t count = 0;
  for (size_t i = 0; i < VolumeSchema().tables.size(); ++i) count += Rows(static_cast<TableId>(i));
  return count;
}

void CoreTest::DuringNextCommit(std::function<void()> work) {
  counting_->during_commit = std::move(work);
}

uint64_t CoreTest::RowsWritten(const std::function<void()>& work) {
  Flush();
  const uint64_t before = counting_->rows;
  work();
  Flush();
  return counting_->rows - before;
}

size_t CoreTest::Objects() {
  Flush();
  size_t count = 0;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(state() + "/objects", ignored)) {
    count += entry.is_regular_file() ? 1 : 0;
  }
  return count;
}

void CoreTest::ExpectClean() {
  Flush();
  for (const FsckProblem& problem : Get(volume_->Check(false)).problems) {
    ADD_FAILURE() << "fsck: " << problem.what;
  }
}

}  // namespace agentfs
