// SPDX-License-Identifier: Apache-2.0
//
// Scans, on every store.
#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tests/contract/store_rig.h"

namespace agentfs::test {
namespace {

using Keys = std::vector<std::string>;

class StoreScanTest : public StoreTest {
 protected:
  void PutPairs(const std::vector<std::pair<uint64_t, uint64_t>>& pairs) {
    Batch batch;
    for (const auto& [a, b] : pairs) batch.Put(kPairs, PairKey(a, b), PairValue(1));
    Commit(batch);
  }
};

std::string NameKey(uint64_t parent, std::string_view name, uint64_t layer) {
  return KeyWriter().Int(parent).Bytes(name).Int(layer).Take();
}

TEST_P(StoreScanTest, PrefixGivesItsRowsInOrder) {
  PutPairs({{2, 9}, {1, 5}, {2, 1}, {3, 0}, {2, 255}, {2, 256}});
  const std::string two = KeyInt(2);
  const Keys expected = {PairKey(2, 1), PairKey(2, 9), PairKey(2, 255), PairKey(2, 256)};
  EXPECT_EQ(KeysOf(*store_, {.table = kPairs, .prefix = two}), expected);
  EXPECT_EQ(KeysOf(*store_, {.table = kPairs, .prefix = two, .order = Order::kDescending}),
            Keys(expected.rbegin(), expected.rend()));
  EXPECT_EQ(KeysOf(*store_, {.table = kPairs, .prefix = PairKey(2, 9)}), Keys{PairKey(2, 9)});
}

TEST_P(StoreScanTest, BoundsIncludeBothEnds) {
  PutPairs({{1, 1}, {1, 3}, {1, 5}, {1, 7}, {2, 4}});
  const std::string one = KeyInt(1);
  const auto keys = [&](std::optional<uint64_t> lower, std::optional<uint64_t> upper,
                        Order order = Order::kAscending) {
    const std::string low = KeyInt(lower.value_or(0)), high = KeyInt(upper.value_or(0));
    ScanRange range{.table = kPairs, .prefix = one, .order = order};
    if (lower) range.lower = low;
    if (upper) range.upper = high;
    return KeysOf(*store_, range);
  };
  EXPECT_EQ(keys(3, 5), (Keys{PairKey(1, 3), PairKey(1, 5)}));
  EXPECT_EQ(keys(2, 6), (Keys{PairKey(1, 3), PairKey(1, 5)}));
  EXPECT_EQ(keys(5, std::nullopt), (Keys{PairKey(1, 5), PairKey(1, 7)}));
  EXPECT_EQ(keys(std::nullopt, 3), (Keys{PairKey(1, 1), PairKey(1, 3)}));
  EXPECT_EQ(keys(3, 3), (Keys{PairKey(1, 3)}));
  EXPECT_EQ(keys(4, 4), Keys{});
  EXPECT_EQ(keys(5, 3), Keys{});
  EXPECT_EQ(keys(8, std::nullopt), Keys{});
  EXPECT_EQ(keys(3, 7, Order::kDescending), (Keys{PairKey(1, 7), PairKey(1, 5), PairKey(1, 3)}));
  EXPECT_EQ(keys(5, 3, Order::kDescending), Keys{});
}

TEST_P(StoreScanTest, DescendingFromAnUpperBoundFindsTheNearestVersion) {
  PutPairs({{7, 10}, {7, 20}, {7, 30}, {8, 1}, {6, 99}});
  const auto nearest = [&](uint64_t node, uint64_t layer) {
    const std::string prefix = KeyInt(node), upper = KeyInt(layer);
    std::string found;
    const auto result = store_->Scan(
        {.table = kPairs, .prefix = prefix, .upper = upper, .order = Order::kDescending},
        [&](const RowView& row) {
          found = row.key;
          return Visit::kStop;
        });
    EXPECT_TRUE(result.ok());
    return found;
  };
  EXPECT_EQ(nearest(7, 25), PairKey(7, 20));
  EXPECT_EQ(nearest(7, 30), PairKey(7, 30));
  EXPECT_EQ(nearest(7, 1000), PairKey(7, 30));
  EXPECT_EQ(nearest(7, 9), "");
  EXPECT_EQ(nearest(8, 5), PairKey(8, 1));
  EXPECT_EQ(nearest(9, 5), "");
}

TEST_P(StoreScanTest, StopEndsTheScan) {
  PutPairs({{1, 1}, {1, 2}, {1, 3}});
  int visited = 0;
  const auto result = store_->Scan({.table = kPairs}, [&](const RowView&) {
    return ++visited == 2 ? Visit::kStop : Visit::kContinue;
  });
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(visited, 2);
}

TEST_P(StoreScanTest, ByIndexSortsByThatColumnFirst) {
  PutPairs({{1, 30}, {2, 10}, {3, 20}, {4, 10}, {5, 256}});
  EXPECT_EQ(
      KeysOf(*store_, {.table = kPairs, .by_index = true}),
      (Keys{PairKey(2, 10), PairKey(4, 10), PairKey(3, 20), PairKey(1, 30), PairKey(5, 256)}));
  const std::string ten = KeyInt(10);
  EXPECT_EQ(KeysOf(*store_, {.table = kPairs, .prefix = ten, .by_index = true}),
            (Keys{PairKey(2, 10), PairKey(4, 10)}));
  const std::string three = KeyInt(3);
  EXPECT_EQ(KeysOf(*store_, {.table = kPairs, .prefix = ten, .lower = three, .by_index = true}),
            (Keys{PairKey(4, 10)}));
  const std::string twenty = KeyInt(20);
  EXPECT_EQ(KeysOf(*store_, {.table = kPairs,
                             .lower = ten,
                             .upper = twenty,
                             .order = Order::kDescending,
                             .by_index = true}),
            (Keys{PairKey(3, 20), PairKey(4, 10), PairKey(2, 10)}));
}

TEST_P(StoreScanTest, TextColumnsInTheMiddleOfAKey) {
  Batch batch;
  const std::string long_name(255, '\xff');
  for (const auto& [name, layer] : std::vector<std::pair<std::string, uint64_t>>{
           {"a", 1}, {"a", 3}, {"ab", 2}, {"b", 1}, {"\x01", 1}, {long_name, 2}}) {
    batch.Put(kNames, NameKey(1, name, layer), Number(1));
  }
  batch.Put(kNames, NameKey(2, "a", 1), Number(1));
  Commit(batch);
  const std::string one = KeyInt(1);
  EXPECT_EQ(KeysOf(*store_, {.table = kNames, .prefix = one}),
            (Keys{NameKey(1, "\x01", 1), NameKey(1, "a", 1), NameKey(1, "a", 3),
                  NameKey(1, "ab", 2), NameKey(1, "b", 1), NameKey(1, long_name, 2)}));
  const std::string entry = KeyWriter().Int(1).Bytes("a").Take();
  const std::string two = KeyInt(2);
  EXPECT_EQ(KeysOf(*store_,
                   {.table = kNames, .prefix = entry, .upper = two, .order = Order::kDescending}),
            Keys{NameKey(1, "a", 1)});
  const std::string a = KeyBytes("a"), b = KeyBytes("b");
  EXPECT_EQ(
      KeysOf(*store_, {.table = kNames, .prefix = one, .lower = a, .upper = b}),
      (Keys{NameKey(1, "a", 1), NameKey(1, "a", 3), NameKey(1, "ab", 2), NameKey(1, "b", 1)}));
  EXPECT_EQ(KeysOf(*store_, {.table = kNames, .prefix = two, .by_index = true}),
            (Keys{NameKey(1, "ab", 2), NameKey(1, long_name, 2)}));
}

TEST_P(StoreScanTest, InvalidRangesGiveEinval) {
  const auto visit = [](const RowView&) { return Visit::kContinue; };
  EXPECT_EQ(store_->Scan({.table = 99}, visit).code(), EINVAL);
  EXPECT_EQ(store_->Scan({.table = kBlobs, .by_index = true}, visit).code(), EINVAL);
  EXPECT_EQ(store_->Get(99, KeyInt(1)).code(), EINVAL);
}

// Random rows and random ranges, compared with a sorted list.
TEST_P(StoreScanTest, RandomRangesGiveWhatASortedListGives) {
  std::mt19937_64 random(20240229);
  std::map<std::string, std::tuple<uint64_t, std::string, uint64_t>> rows;
  const auto name = [&] {
    std::string text;
    for (size_t n = random() % 4; n > 0; --n) text += "ab\x01\xfe"[random() % 4];
    return text;
  };
  for (int round = 0; round < 10; ++round) {
    Batch batch;
    for (int i = 0; i < 60; ++i) {
      const auto row = std::tuple(random() % 6, name(), random() % 8);
      const std::string key = NameKey(std::get<0>(row), std::get<1>(row), std::get<2>(row));
      if (random() % 3 == 0) {
        batch.Delete(kNames, key);
        rows.erase(key);
      } else {
        batch.Put(kNames, key, Number(round));
        rows[key] = row;
      }
    }
    Commit(batch);
    for (int i = 0; i < 100; ++i) {
      const bool by_index = random() % 2 == 0;
      const auto order = random() % 2 == 0 ? Order::kAscending : Order::kDescending;
      // The columns in the order of the scan, each encoded.
      const auto columns = [&](const auto& row) {
        const auto& [parent, text, layer] = row;
        Keys list = {KeyInt(parent), KeyBytes(text), KeyInt(layer)};
        if (by_index) std::rotate(list.begin(), list.begin() + 2, list.end());
        return list;
      };
      const Keys wanted = columns(std::tuple(random() % 6, name(), random() % 8));
      const Keys other = columns(std::tuple(random() % 6, name(), random() % 8));
      const size_t fixed = random() % 4;
      std::string prefix;
      for (size_t c = 0; c < fixed; ++c) prefix += wanted[c];
      ScanRange range{.table = kNames, .prefix = prefix, .order = order, .by_index = by_index};
      if (fixed < 3 && random() % 2 == 0) range.lower = wanted[fixed];
      if (fixed < 3 && random() % 2 == 0) range.upper = other[fixed];
      std::vector<std::pair<Keys, std::string>> expected;
      for (const auto& [key, row] : rows) {
        const Keys list = columns(row);
        if (!std::equal(wanted.begin(), wanted.begin() + fixed, list.begin())) continue;
        if (range.lower && list[fixed] < *range.lower) continue;
        if (range.upper && list[fixed] > *range.upper) continue;
        expected.emplace_back(list, key);
      }
      std::sort(expected.begin(), expected.end());
      if (order == Order::kDescending) std::reverse(expected.begin(), expected.end());
      Keys keys;
      for (const auto& [list, key] : expected) keys.push_back(key);
      ASSERT_EQ(KeysOf(*store_, range), keys);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreScanTest,
                         testing::Values(StoreKind::kMemory, StoreKind::kSqlite, StoreKind::kLmdb),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace agentfs::test
