// SPDX-License-Identifier: Apache-2.0
//
// Rows and batches, on every store.
#include <cstdint>
#include <limits>
#include <string>

#include "store/codec.h"
#include "store/schema.h"
#include "tests/contract/store_rig.h"

namespace agentfs::test {
namespace {

constexpr uint64_t kMaxKeyInt = std::numeric_limits<int64_t>::max();

class StoreContractTest : public StoreTest {
 protected:
  Row MustGet(TableId table, const std::string& key) {
    auto row = store_->Get(table, key);
    EXPECT_TRUE(row.ok()) << row.error().message();
    EXPECT_TRUE(row.ok() && row->has_value());
    return row.ok() && row->has_value() ? **row : Row{};
  }
};

TEST_P(StoreContractTest, GetOfAMissingRowGivesNothing) {
  const auto row = store_->Get(kPairs, PairKey(1, 1));
  ASSERT_TRUE(row.ok());
  EXPECT_FALSE(row->has_value());
}

TEST_P(StoreContractTest, PutThenGetGivesTheSameBytes) {
  Batch batch;
  batch.Put(kPairs, PairKey(1, 2), PairValue(-5, "a note"));
  batch.Put(kBlobs, KeyInt(7), Number(3), Buffer::Copy("the blob"));
  Commit(batch);
  const Row pair = MustGet(kPairs, PairKey(1, 2));
  EXPECT_EQ(pair.key, PairKey(1, 2));
  EXPECT_EQ(pair.value, PairValue(-5, "a note"));
  EXPECT_EQ(pair.blob.size(), 0u);
  const Row blob = MustGet(kBlobs, KeyInt(7));
  EXPECT_EQ(blob.value, Number(3));
  EXPECT_EQ(blob.blob.view(), "the blob");
}

// Whatever columns a table has, of the volume's own schema.
std::string AnyKey(const Table& table, uint64_t number) {
  KeyWriter key;
  for (const Column& column : table.key) {
    if (column.type == ColumnType::kInt) {
      key.Int(number);
    } else {
      key.Bytes("it's \"" + std::to_string(number) + "\"\n\xff; DROP TABLE op_rows");
    }
  }
  return key.Take();
}

std::string AnyValue(const Table& table, int64_t number) {
  ValueWriter value;
  for (const Column& column : table.value) {
    if (column.type == ColumnType::kInt) {
      value.Int(number++);
    } else {
      value.Bytes(std::string("a\0b'\xfe", 5) + std::to_string(number));
    }
  }
  return value.Take();
}

TEST_P(StoreContractTest, EveryTableOfAVolumeKeepsItsRows) {
  TempDirectory directory;
  auto opened = OpenStore(GetParam(), directory.path() + "/volume", {}, VolumeSchema());
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  Store& store = **opened;
  const auto tables = VolumeSchema().tables;
  Batch batch;
  for (size_t i = 0; i < tables.size(); ++i) {
    for (uint64_t row : {1, 2, 3}) {
      batch.Put(static_cast<TableId>(i), AnyKey(tables[i], row), AnyValue(tables[i], -2),
                tables[i].blob.empty() ? Buffer() : Buffer::Copy(std::string("\0blob", 5)));
    }
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    const auto table = static_cast<TableId>(i);
    batch.Delete(table, AnyKey(tables[i], 2));
    batch.Put(table, AnyKey(tables[i], 3), AnyValue(tables[i], 1'000'000'000'000));
  }
  ASSERT_TRUE(store.Commit(batch, Durability::kNone).ok());
  for (size_t i = 0; i < tables.size(); ++i) {
    const auto table = static_cast<TableId>(i);
    EXPECT_EQ(KeysOf(store, {.table = table}),
              (std::vector{AnyKey(tables[i], 1), AnyKey(tables[i], 3)}))
        << tables[i].name;
    auto first = store.Get(table, AnyKey(tables[i], 1));
    ASSERT_TRUE(first.ok() && *first) << tables[i].name;
    EXPECT_EQ((*first)->value, AnyValue(tables[i], -2)) << tables[i].name;
    EXPECT_EQ((*first)->blob.size(), tables[i].blob.empty() ? 0u : 5u);
    auto changed = store.Get(table, AnyKey(tables[i], 3));
    ASSERT_TRUE(changed.ok() && *changed) << tables[i].name;
    EXPECT_EQ((*changed)->value, AnyValue(tables[i], 1'000'000'000'000)) << tables[i].name;
  }
}

TEST_P(StoreContractTest, TheLaterOfTwoChangesOfOneKeyWins) {
  Batch batch;
  const std::string key = PairKey(1, 1);
  batch.Put(kPairs, key, PairValue(1));
  batch.Put(kPairs, key, PairValue(2));
  batch.Put(kPairs, PairKey(2, 2), PairValue(1));
  batch.Delete(kPairs, PairKey(2, 2));
  batch.Put(kPairs, PairKey(3, 3), PairValue(1));
  batch.Delete(kPairs, PairKey(3, 3));
  batch.Put(kPairs, PairKey(3, 3), PairValue(3));
  batch.Delete(kPairs, PairKey(4, 4));
  Commit(batch);
  EXPECT_EQ(NumberAt(*store_, kPairs, key), 2);
  EXPECT_EQ(NumberAt(*store_, kPairs, PairKey(2, 2)), -1);
  EXPECT_EQ(NumberAt(*store_, kPairs, PairKey(3, 3)), 3);
  EXPECT_EQ(KeysOf(*store_, {.table = kPairs}).size(), 2u);
  EXPECT_EQ(KeysOf(*store_, {.table = kPairs, .by_index = true}).size(), 2u);
}

TEST_P(StoreContractTest, ALaterBatchReplacesAndDeletes) {
  for (int64_t round = 1; round <= 3; ++round) {
    Batch batch;
    for (uint64_t i = 0; i < 100; ++i) batch.Put(kPairs, PairKey(i, i % 7), PairValue(round));
    Commit(batch);
  }
  Batch batch;
  for (uint64_t i = 0; i < 100; i += 2) batch.Delete(kPairs, PairKey(i, i % 7));
  Commit(batch);
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(NumberAt(*store_, kPairs, PairKey(i, i % 7)), i % 2 == 0 ? -1 : 3);
  }
  EXPECT_EQ(KeysOf(*store_, {.table = kPairs}).size(), 50u);
  EXPECT_EQ(KeysOf(*store_, {.table = kPairs, .by_index = true}).size(), 50u);
}

TEST_P(StoreContractTest, ABatchWithAnInvalidChangeAppliesNothing) {
  Batch good;
  good.Put(kPairs, PairKey(1, 1), PairValue(1));
  Commit(good);
  const auto expect_refused = [&](const Batch& batch, const char* what) {
    EXPECT_EQ(store_->Commit(batch, Durability::kNone).code(), EINVAL) << what;
    EXPECT_EQ(NumberAt(*store_, kPairs, PairKey(1, 1)), 1) << what;
    EXPECT_EQ(NumberAt(*store_, kPairs, PairKey(2, 2)), -1) << what;
  };
  const auto half_good = [] {
    Batch batch;
    batch.Put(kPairs, PairKey(1, 1), PairValue(9));
    batch.Put(kPairs, PairKey(2, 2), PairValue(9));
    return batch;
  };
  Batch batch = half_good();
  batch.Put(200, PairKey(1, 1), PairValue(1));
  expect_refused(batch, "no such table");
  batch = half_good();
  batch.Put(kPairs, KeyInt(1), PairValue(1));
  expect_refused(batch, "short key");
  batch = half_good();
  batch.Delete(kPairs, PairKey(1, 1) + "x");
  expect_refused(batch, "long key");
  batch = half_good();
  batch.Put(kPairs, PairKey(uint64_t{1} << 63, 1), PairValue(1));
  expect_refused(batch, "integer too large");
  batch = half_good();
  const std::string nul("a\0b", 3);
  batch.Put(kNames, KeyWriter().Int(1).Bytes(nul).Int(1).Take(), Number(1));
  expect_refused(batch, "NUL in a text key");
  batch = half_good();
  batch.Put(kPairs, PairKey(3, 3), PairValue(1), Buffer::Copy("x"));
  expect_refused(batch, "blob in a table without");
}

TEST_P(StoreContractTest, IntegersAtTheirLimits) {
  Batch batch;
  constexpr int64_t kValues[] = {0, -1, 1, std::numeric_limits<int64_t>::min(),
                                 std::numeric_limits<int64_t>::max()};
  for (uint64_t i = 0; i < std::size(kValues); ++i) {
    batch.Put(kPairs, PairKey(i, kMaxKeyInt - i), PairValue(kValues[i]));
  }
  batch.Put(kPairs, PairKey(kMaxKeyInt, 0), PairValue(77));
  Commit(batch);
  for (uint64_t i = 0; i < std::size(kValues); ++i) {
    EXPECT_EQ(NumberIn(MustGet(kPairs, PairKey(i, kMaxKeyInt - i)).value), kValues[i]);
  }
  EXPECT_EQ(NumberAt(*store_, kPairs, PairKey(kMaxKeyInt, 0)), 77);
  EXPECT_EQ(KeysOf(*store_, {.table = kPairs}).back(), PairKey(kMaxKeyInt, 0));
}

TEST_P(StoreContractTest, TextValuesMayBeAnyBytes) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  Batch batch;
  batch.Put(kPairs, PairKey(1, 1), PairValue(1, all));
  batch.Put(kPairs, PairKey(1, 2), PairValue(1, "\xff\xfe not UTF-8 \x80"));
  batch.Put(kPairs, PairKey(1, 3), PairValue(1, ""));
  batch.Put(kPairs, PairKey(1, 4), PairValue(1, std::string_view("\0", 1)));
  Commit(batch);
  EXPECT_EQ(MustGet(kPairs, PairKey(1, 1)).value, PairValue(1, all));
  EXPECT_EQ(MustGet(kPairs, PairKey(1, 2)).value, PairValue(1, "\xff\xfe not UTF-8 \x80"));
  EXPECT_EQ(MustGet(kPairs, PairKey(1, 3)).value, PairValue(1, ""));
  EXPECT_EQ(MustGet(kPairs, PairKey(1, 4)).value, PairValue(1, std::string_view("\0", 1)));
}

TEST_P(StoreContractTest, BinaryKeysKeepTheirBytesAndOrder) {
  const std::string keys[] = {std::string(),
                              std::string("\0", 1),
                              std::string("\0\0", 2),
                              std::string("\0\1", 2),
                              std::string("\0\xff", 2),
                              "\1",
                              "a",
                              std::string("a\0", 2),
                              std::string("a\0b", 3),
                              "ab",
                              "\x7f",
                              "\x80",
                              "\xff",
                              std::string("\xff\0", 2),
                              "\xff\xff"};
  Batch batch;
  std::vector<std::string> encoded;
  for (const std::string& key : keys) encoded.push_back(KeyBytes(key));
  for (size_t i = encoded.size(); i-- > 0;) {
    batch.Put(kBinary, encoded[i], Number(static_cast<int64_t>(i)));
  }
  Commit(batch);
  EXPECT_EQ(KeysOf(*store_, {.table = kBinary}), encoded);
  for (size_t i = 0; i < encoded.size(); ++i) {
    EXPECT_EQ(NumberAt(*store_, kBinary, encoded[i]), static_cast<int64_t>(i));
  }
  const std::string lower = KeyBytes(std::string("\0\1", 2));
  const std::string upper = KeyBytes("ab");
  EXPECT_EQ(KeysOf(*store_, {.table = kBinary, .lower = lower, .upper = upper}),
            std::vector<std::string>(encoded.begin() + 3, encoded.begin() + 10));
}

TEST_P(StoreContractTest, LargeAndEmptyBlobs) {
  std::string large(1 << 20, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 + i / 4096);
  Batch batch;
  batch.Put(kBlobs, KeyInt(1), Number(1), Buffer::Copy(large));
  batch.Put(kBlobs, KeyInt(2), Number(2), Buffer::Copy(""));
  batch.Put(kBlobs, KeyInt(3), Number(3));
  batch.Put(kRuns, PairKey(1, 1), "", Buffer::Copy(large));
  batch.Put(kRuns, PairKey(1, 2), "", {});
  batch.Put(kPairs, PairKey(1, 1), PairValue(1, large));
  Commit(batch);
  EXPECT_EQ(MustGet(kBlobs, KeyInt(1)).blob.view(), large);
  EXPECT_EQ(MustGet(kBlobs, KeyInt(2)).blob.size(), 0u);
  EXPECT_EQ(MustGet(kBlobs, KeyInt(3)).blob.size(), 0u);
  EXPECT_EQ(MustGet(kRuns, PairKey(1, 1)).blob.view(), large);
  EXPECT_EQ(MustGet(kRuns, PairKey(1, 2)).blob.size(), 0u);
  EXPECT_EQ(MustGet(kPairs, PairKey(1, 1)).value, PairValue(1, large));
  size_t seen = 0;
  const auto scanned = store_->Scan({.table = kRuns}, [&](const RowView& row) {
    seen += row.blob.size();
    EXPECT_EQ(row.TakeBlob().view(), row.blob);
    return Visit::kContinue;
  });
  ASSERT_TRUE(scanned.ok());
  EXPECT_EQ(seen, large.size());
}

TEST_P(StoreContractTest, BlobsCanBeReadInPieces) {
  std::string large(300'000, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 + i / 4096);
  Batch batch;
  for (uint64_t part = 1; part <= 3; ++part) {
    batch.Put(kRuns, PairKey(1, part), "", Buffer::Copy(part == 2 ? "" : large));
  }
  batch.Put(kBlobs, KeyInt(1), Number(7), Buffer::Copy(large));
  Commit(batch);
  const auto read = [&](TableId table) {
    size_t seen = 0;
    const ScanRange range{.table = table, .blobs = BlobAccess::kInPieces};
    const auto scanned = store_->Scan(range, [&](const RowView& row) {
      std::string part(row.BlobSize() / 2, '\0');
      const size_t offset = row.BlobSize() / 3;
      EXPECT_TRUE(row.ReadBlob(offset, part).ok());
      EXPECT_EQ(part, std::string_view(large).substr(offset, part.size()));
      seen += row.BlobSize();
      return Visit::kContinue;
    });
    EXPECT_TRUE(scanned.ok());
    return seen;
  };
  EXPECT_EQ(read(kRuns), 2 * large.size());
  EXPECT_EQ(read(kBlobs), large.size());
  // What is committed later is seen, too.
  large[150'000] = 'x';
  Batch change;
  change.Put(kBlobs, KeyInt(1), Number(8), Buffer::Copy(large));
  Commit(change);
  EXPECT_EQ(read(kBlobs), large.size());
  const ScanRange without{.table = kPairs, .blobs = BlobAccess::kInPieces};
  EXPECT_TRUE(KeysOf(*store_, without).empty());
}

TEST_P(StoreContractTest, RowsWithoutValues) {
  Batch batch;
  batch.Put(kBare, KeyInt(5), "");
  batch.Put(kBare, KeyInt(5), "");
  batch.Put(kBare, KeyInt(6), "");
  Commit(batch);
  EXPECT_EQ(MustGet(kBare, KeyInt(5)).value, "");
  EXPECT_EQ(KeysOf(*store_, {.table = kBare}), (std::vector<std::string>{KeyInt(5), KeyInt(6)}));
}

TEST_P(StoreContractTest, AnEmptyBatchChangesNothing) {
  Batch batch;
  Commit(batch, Durability::kNone);
  Commit(batch, Durability::kSynced);
  EXPECT_TRUE(KeysOf(*store_, {.table = kPairs}).empty());
}

TEST_P(StoreContractTest, RowsSurviveReopening) {
  Batch batch;
  for (uint64_t i = 0; i < 1000; ++i) {
    batch.Put(kPairs, PairKey(i, i), PairValue(static_cast<int64_t>(i)));
    batch.Put(kBlobs, KeyInt(i), Number(1), Buffer::Copy(std::string(i, 'b')));
  }
  Commit(batch);
  if (!durable()) GTEST_SKIP() << "the memory store keeps nothing";
  Reopen();
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(NumberAt(*store_, kPairs, PairKey(i, i)), static_cast<int64_t>(i));
    EXPECT_EQ(MustGet(kBlobs, KeyInt(i)).blob.view(), std::string(i, 'b'));
  }
  Batch deletes;
  for (uint64_t i = 0; i < 1000; ++i) deletes.Delete(kPairs, PairKey(i, i));
  Commit(deletes);
  Reopen();
  EXPECT_TRUE(KeysOf(*store_, {.table = kPairs}).empty());
  EXPECT_TRUE(KeysOf(*store_, {.table = kPairs, .by_index = true}).empty());
}

TEST_P(StoreContractTest, CallsAfterCloseGiveEbadf) {
  ASSERT_TRUE(store_->Close().ok());
  ASSERT_TRUE(store_->Close().ok());
  EXPECT_EQ(store_->Get(kPairs, PairKey(1, 1)).code(), EBADF);
  EXPECT_EQ(store_->Scan({.table = kPairs}, [](const RowView&) { return Visit::kStop; }).code(),
            EBADF);
  Batch batch;
  batch.Put(kPairs, PairKey(1, 1), PairValue(1));
  EXPECT_EQ(store_->Commit(batch, Durability::kSynced).code(), EBADF);
  EXPECT_EQ(store_->GetUsage().code(), EBADF);
}

TEST_P(StoreContractTest, CapabilitiesAndUsageSayWhatTheStoreIs) {
  const StoreCapabilities capabilities = store_->capabilities();
  EXPECT_EQ(capabilities.durable, durable());
  EXPECT_EQ(capabilities.sql, GetParam() == StoreKind::kSqlite);
  Batch batch;
  batch.Put(kBlobs, KeyInt(1), Number(1), Buffer::Copy(std::string(100000, 'x')));
  Commit(batch);
  const auto usage = store_->GetUsage();
  ASSERT_TRUE(usage.ok());
  EXPECT_GE(usage->memory_bytes + usage->file_bytes, 100000u);
  EXPECT_EQ(usage->spilled_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreContractTest,
                         testing::Values(StoreKind::kMemory, StoreKind::kSqlite, StoreKind::kLmdb),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace agentfs::test
