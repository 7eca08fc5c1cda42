// SPDX-License-Identifier: Apache-2.0
#include "store/key_layout.h"

#include <gtest/gtest.h>

#include "store/codec.h"

namespace agentfs {
namespace {

constexpr Column kEntryKey[] = {
    {"parent", ColumnType::kInt}, {"name", ColumnType::kText}, {"layer", ColumnType::kInt}};
constexpr Table kEntries = {"entries", kEntryKey, {}, "", "layer"};

TEST(KeyLayoutTest, CompleteKeysPassAndGiveTheIndexOffset) {
  const KeyLayout layout(kEntries);
  EXPECT_TRUE(layout.has_index());
  const auto offset = layout.Check(KeyWriter().Int(1).Bytes("name").Int(2).Take());
  ASSERT_TRUE(offset.ok());
  EXPECT_EQ(*offset, 8u + 4 + 2);
}

TEST(KeyLayoutTest, OtherBytesGiveEinval) {
  const KeyLayout layout(kEntries);
  const std::string key = KeyWriter().Int(1).Bytes("name").Int(2).Take();
  for (size_t cut = 0; cut < key.size(); ++cut) {
    EXPECT_EQ(layout.Check(std::string_view(key).substr(0, cut)).code(), EINVAL) << cut;
  }
  EXPECT_EQ(layout.Check(key + "x").code(), EINVAL);
  const std::string_view nul("a\0b", 3);
  EXPECT_EQ(layout.Check(KeyWriter().Int(1).Bytes(nul).Int(2).Take()).code(), EINVAL);
  EXPECT_EQ(layout.Check(KeyWriter().Int(uint64_t{1} << 63).Bytes("a").Int(2).Take()).code(),
            EINVAL);
}

TEST(KeyLayoutTest, IndexKeyPutsTheColumnFirst) {
  const std::string key = KeyWriter().Int(1).Bytes("name").Int(2).Take();
  EXPECT_EQ(KeyLayout::IndexKey(key, 14), KeyWriter().Int(2).Int(1).Bytes("name").Take());
}

TEST(KeyBoundsTest, TheEndIsPastAllKeysWithThePrefix) {
  const std::string prefix = KeyInt(255);
  const KeyBounds bounds = BoundsOf({.prefix = prefix});
  EXPECT_EQ(bounds.begin, prefix);
  ASSERT_TRUE(bounds.end.has_value());
  EXPECT_GT(*bounds.end, prefix + std::string(20, '\xff'));
  EXPECT_LE(*bounds.end, KeyInt(256));
  EXPECT_FALSE(BoundsOf({}).end.has_value());
}

}  // namespace
}  // namespace agentfs
