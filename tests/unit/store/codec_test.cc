// SPDX-License-Identifier: Apache-2.0
#include "store/codec.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace agentfs {
namespace {

TEST(CodecTest, KeyColumnsComeBack) {
  const std::string binary("a\0\xff\1\0", 5);
  const std::string key = KeyWriter().Int(7).Bytes(binary).Bytes("").Int(~uint64_t{0}).Take();
  KeyReader reader(key);
  EXPECT_EQ(reader.Int(), 7u);
  EXPECT_EQ(reader.Bytes(), binary);
  EXPECT_EQ(reader.Bytes(), "");
  EXPECT_EQ(reader.Int(), ~uint64_t{0});
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.AtEnd());
}

TEST(CodecTest, KeysCompareAsTheirColumns) {
  std::mt19937_64 random(3);
  const auto bytes = [&] {
    std::string text;
    for (size_t n = random() % 4; n > 0; --n) text += std::string("\0\1\xfe\xff", 4)[random() % 4];
    return text;
  };
  for (int i = 0; i < 20000; ++i) {
    const auto a = std::tuple(bytes(), random() % 3, bytes());
    const auto b = std::tuple(bytes(), random() % 3, bytes());
    const auto key = [](const auto& row) {
      const auto& [first, number, second] = row;
      return KeyWriter().Bytes(first).Int(number).Bytes(second).Take();
    };
    ASSERT_EQ(a < b, key(a) < key(b));
    ASSERT_EQ(a == b, key(a) == key(b));
  }
}

TEST(CodecTest, ValueColumnsComeBack) {
  constexpr int64_t kNumbers[] = {0,
                                  1,
                                  -1,
                                  63,
                                  64,
                                  -64,
                                  -65,
                                  1 << 20,
                                  -(1 << 20),
                                  std::numeric_limits<int64_t>::max(),
                                  std::numeric_limits<int64_t>::min()};
  ValueWriter writer;
  for (const int64_t number : kNumbers) writer.Int(number);
  const std::string value = writer.Take();
  ValueReader reader(value);
  for (const int64_t number : kNumbers) EXPECT_EQ(reader.Int(), number);
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.AtEnd());
}

TEST(CodecTest, ValuesOfAnyLengthComeBack) {
  for (const size_t size : {0, 1, 63, 64, 200, 213, 214, 215, 223, 224, 225, 400, 100000}) {
    const std::string bytes(size, 'q');
    const std::string value = ValueWriter().Int(-3).Bytes(bytes).Int(9).Bytes(bytes).Int(1).Take();
    ValueReader reader(value);
    EXPECT_EQ(reader.Int(), -3);
    EXPECT_EQ(reader.Bytes(), bytes);
    EXPECT_EQ(reader.Int(), 9);
    EXPECT_EQ(reader.Bytes(), bytes);
    EXPECT_EQ(reader.Int(), 1);
    EXPECT_TRUE(reader.ok() && reader.AtEnd()) << size;
  }
}

TEST(CodecTest, SmallNumbersTakeOneByte) {
  EXPECT_EQ(ValueWriter().Int(0).Int(63).Int(-64).Take().size(), 3u);
  EXPECT_EQ(ValueWriter().Int(64).Take().size(), 2u);
}

TEST(CodecTest, MalformedInputIsNoticedAndGivesNothing) {
  const std::string key = KeyWriter().Int(1).Bytes("ab").Take();
  for (size_t cut = 0; cut < key.size(); ++cut) {
    KeyReader reader(std::string_view(key).substr(0, cut));
    const uint64_t number = reader.Int();
    EXPECT_EQ(number, cut < 8 ? 0u : 1u);
    EXPECT_EQ(reader.Bytes(), "");
    EXPECT_FALSE(reader.ok());
    EXPECT_EQ(reader.Int(), 0u);
  }
  KeyReader bad(std::string_view("a\0\x02", 3));
  EXPECT_EQ(bad.Bytes(), "");
  EXPECT_FALSE(bad.ok());

  const std::string value = ValueWriter().Int(1 << 20).Bytes("abcdef").Take();
  for (size_t cut = 0; cut < value.size(); ++cut) {
    ValueReader reader(std::string_view(value).substr(0, cut));
    reader.Int();
    EXPECT_EQ(reader.Bytes(), "");
    EXPECT_FALSE(reader.ok());
  }
  ValueReader endless(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11));
  EXPECT_EQ(endless.Int(), 0);
  EXPECT_FALSE(endless.ok());
  ValueReader negative_size(std::string_view("\x01xyz", 4));
  EXPECT_EQ(negative_size.Bytes(), "");
  EXPECT_FALSE(negative_size.ok());
}

TEST(BatchTest, CountsTheBytesThatItHolds) {
  Batch batch;
  EXPECT_TRUE(batch.empty());
  batch.Put(1, "key", "value", Buffer::Copy("blob"));
  const Mutation& deleted = batch.Delete(2, "key");
  EXPECT_EQ(deleted.kind, Mutation::Kind::kDelete);
  EXPECT_EQ(deleted.table, 2);
  EXPECT_GE(batch.bytes, 15u);
  EXPECT_EQ(batch.mutations.size(), 2u);
}

}  // namespace
}  // namespace agentfs
