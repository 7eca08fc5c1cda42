// SPDX-License-Identifier: Apache-2.0
//
// A volume to test, with a look at the rows beneath it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "agentfs/volume.h"
#include "faulty_blobs.h"
#include "store/faulty_store.h"
#include "store/schema.h"
#include "subject.h"

namespace agentfs {

enum class Backing : uint8_t { kMemory, kSqlite };  // kSqlite survives Reopen

// A scratch directory holds base/, state/ and, on SQLite, the database.
class CoreTest : public testing::Test {
 protected:
  CoreTest();
  ~CoreTest() override;

  // Host files of the base; before Open, or later to let the base change.
  void BaseFile(const std::string& path, std::string_view content);
  void BaseDirectory(const std::string& path);
  std::string base(const std::string& path) const { return scratch_ + "/base/" + path; }
  std::string state() const { return scratch_ + "/state"; }

  void Open(Backing backing = Backing::kMemory);  // without a base
  void OpenOverBase(Backing backing = Backing::kMemory);
  void Close();  // everything that uses the volume must be gone
  void Reopen();
  // As after a crash: nothing more is committed.
  void AbandonAndReopen();

  Volume& volume() { return *volume_; }
  FaultyStore& store() { return *store_; }
  BadSectors& sectors() { return sectors_; }
  // The view of a branch, as root.
  std::unique_ptr<posix::Subject> Branch(std::string_view name = "main");
  std::unique_ptr<posix::Subject> Snapshot(std::string_view ref);
  void Flush();

  // Rows in the store, after everything is committed.
  size_t Rows(TableId table);
  size_t AllRows();
  // Rows put or deleted while `work` runs.
  uint64_t RowsWritten(const std::function<void()>& work);
  // Once, on the committer's thread; what it changes is in the batch after that.
  void DuringNextCommit(std::function<void()> work);
  size_t Objects();
  void ExpectClean();

  VolumeOptions options_;  // set before Open
  uint64_t memory_budget_ = uint64_t{1} << 30;

 private:
  void OpenVolume();

  class CountingStore;
  std::string scratch_;
  Backing backing_ = Backing::kMemory;
  bool over_base_ = false;
  BadSectors sectors_;
  std::unique_ptr<Volume> volume_;
  FaultyStore* store_ = nullptr;
  CountingStore* counting_ = nullptr;
};

// The value; without one the test ends here, with the error's text.
template <typename T>
T Get(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message());
  return std::move(*result);
}

inline void Get(const Result<void>& result) {
  if (!result.ok()) throw std::runtime_error(result.error().message());
}

}  // namespace agentfs
