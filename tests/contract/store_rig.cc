// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/store_rig.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace agentfs::test {
namespace {

constexpr auto kInt = ColumnType::kInt;
constexpr auto kText = ColumnType::kText;
constexpr auto kBytes = ColumnType::kBlob;

constexpr Column kPairsKey[] = {{"a", kInt}, {"b", kInt}};
constexpr Column kPairsValue[] = {{"number", kInt}, {"note", kText}};
constexpr Column kNamesKey[] = {{"parent", kInt}, {"name", kText}, {"layer", kInt}};
constexpr Column kNamesValue[] = {{"node", kInt}};
constexpr Column kIdKey[] = {{"id", kInt}};
constexpr Column kNumberValue[] = {{"number", kInt}};
constexpr Column kBinaryKey[] = {{"key", kBytes}};
constexpr Column kRunsKey[] = {{"id", kInt}, {"part", kInt}};

constexpr Table kTables[] = {
    {"pairs", kPairsKey, kPairsValue, "", "b"},
    {"names", kNamesKey, kNamesValue, "", "layer"},
    {"blobs", kIdKey, kNumberValue, "bytes", ""},
    {"binary", kBinaryKey, kNumberValue, "", ""},
    {"bare", kIdKey, {}, "", ""},
    {"runs", kRunsKey, {}, "runs", ""},
};
constexpr Schema kSchema = {kTables, 1};
constexpr Schema kNewerSchema = {kTables, 2};

constexpr Table kGrownTables[] = {
    kTables[0],
    kTables[1],
    kTables[2],
    kTables[3],
    kTables[4],
    kTables[5],
    {"added", kPairsKey, kPairsValue, "", "b", 2},
};
constexpr Schema kGrownSchema = {kGrownTables, 2, 1};

}  // namespace

const Schema& GrownTestSchema() { return kGrownSchema; }
const Schema& TestSchema() { return kSchema; }
const Schema& NewerTestSchema() { return kNewerSchema; }

std::string NameOf(StoreKind kind) {
  switch (kind) {
    case StoreKind::kMemory:
      return "Memory";
    case StoreKind::kSqlite:
      return "Sqlite";
    case StoreKind::kLmdb:
      return "Lmdb";
  }
  return "";
}

TempDirectory::TempDirectory() {
  path_ = (std::filesystem::temp_directory_path() / "agentfs-test-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) std::abort();
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Result<std::unique_ptr<Store>> OpenStore(StoreKind kind, const std::string& file,
                                         const StoreOptions& options, const Schema& schema) {
  switch (kind) {
    case StoreKind::kMemory:
      return OpenMemoryStore(schema);
    case StoreKind::kSqlite:
      return OpenSqliteStore(file, schema, options);
    case StoreKind::kLmdb:
      return OpenLmdbStore(file, schema, options);
  }
  return Error(EINVAL);
}

std::string ReadFile(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void WriteFile(const std::string& file, std::string_view bytes) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(out.flush().good()) << file;
}

std::string PairKey(uint64_t a, uint64_t b) { return KeyWriter().Int(a).Int(b).Take(); }

std::string PairValue(int64_t number, std::string_view note) {
  return ValueWriter().Int(number).Bytes(note).Take();
}

std::string Number(int64_t number) { return ValueWriter().Int(number).Take(); }

int64_t NumberIn(std::string_view value) { return ValueReader(value).Int(); }

std::vector<std::string> KeysOf(Store& store, const ScanRange& range) {
  std::vector<std::string> keys;
  const auto result = store.Scan(range, [&](const RowView& row) {
    keys.emplace_back(row.key);
    return Visit::kContinue;
  });
  EXPECT_TRUE(result.ok()) << result.error().message();
  return keys;
}

int64_t NumberAt(Store& store, TableId table, std::string_view key) {
  const auto row = store.Get(table, key);
  EXPECT_TRUE(row.ok()) << row.error().message();
  return row.ok() && row->has_value() ? NumberIn((*row)->value) : -1;
}

void StoreTest::Reopen() {
  if (store_) {
    ASSERT_TRUE(store_->Close().ok());
    store_.reset();
  }
  auto store = OpenStore(GetParam(), file_);
  ASSERT_TRUE(store.ok()) << store.error().message();
  store_ = std::move(store).value();
}

void StoreTest::Commit(const Batch& batch, Durability durability) {
  const auto result = store_->Commit(batch, durability);
  ASSERT_TRUE(result.ok()) << result.error().message();
}

}  // namespace agentfs::test
