// SPDX-License-Identifier: Apache-2.0
//
// What the contract tests of the stores share: a schema with a table for each shape of key, a
// temporary directory, and the stores to test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/store.h"
#include "agentfs/stores.h"
#include "store/codec.h"

namespace agentfs::test {

inline constexpr TableId kPairs = 0;   // (a, b) → (number, note), index b
inline constexpr TableId kNames = 1;   // (parent, name, layer) → (node), index layer
inline constexpr TableId kBlobs = 2;   // (id) → (number), blob
inline constexpr TableId kBinary = 3;  // (key: bytes) → (number)
inline constexpr TableId kBare = 4;    // (id) → nothing
inline constexpr TableId kRuns = 5;    // (id, part) → blob only
const Schema& TestSchema();
// The same tables, one version later.
const Schema& NewerTestSchema();
// That, with one more table, and able to read what the first version wrote.
const Schema& GrownTestSchema();
inline constexpr TableId kAdded = 6;  // (a, b) → (number, note), index b

enum class StoreKind { kMemory, kSqlite, kLmdb };
std::string NameOf(StoreKind kind);

// A directory that is removed with all in it.
class TempDirectory {
 public:
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Result<std::unique_ptr<Store>> OpenStore(StoreKind kind, const std::string& file,
                                         const StoreOptions& options = {},
                                         const Schema& schema = TestSchema());

std::string ReadFile(const std::string& file);
void WriteFile(const std::string& file, std::string_view bytes);

std::string PairKey(uint64_t a, uint64_t b);
std::string PairValue(int64_t number, std::string_view note = "");
std::string Number(int64_t number);  // a value of one integer
int64_t NumberIn(std::string_view value);

// The keys of a range; the test fails if the scan does.
std::vector<std::string> KeysOf(Store& store, const ScanRange& range);
// The number in the value of `key`, or -1 if there is no such row.
int64_t NumberAt(Store& store, TableId table, std::string_view key);

// One store, open on a file in a directory of its own.
class StoreTest : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override { Reopen(); }
  bool durable() const { return GetParam() != StoreKind::kMemory; }
  // Closes the store, if there is one, and opens the file again.
  void Reopen();
  void Commit(const Batch& batch, Durability durability = Durability::kNone);

  TempDirectory directory_;
  std::string file_ = directory_.path() + "/store";
  std::unique_ptr<Store> store_;
};

// The same for the stores that keep files.
class FileStoreTest : public StoreTest {};

}  // namespace agentfs::test
