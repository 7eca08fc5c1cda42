// SPDX-License-Identifier: Apache-2.0
#include "stores/memory/spill_file.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace agentfs {
namespace {

std::string Directory() { return testing::TempDir(); }

TEST(SpillFileTest, ReadGivesWhatWasWritten) {
  SpillFile file(Directory());
  const auto a = file.Write("first");
  const auto b = file.Write(std::string(100000, 'b'));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(file.Read(*a, 5)->view(), "first");
  EXPECT_EQ(file.Read(*b, 100000)->view(), std::string(100000, 'b'));
  EXPECT_EQ(file.Read(*b + 50000, 100000).code(), EIO);
}

TEST(SpillFileTest, ReleasedSpaceIsUsedAgain) {
  SpillFile file(Directory());
  const uint64_t a = *file.Write(std::string(100, 'a'));
  const uint64_t b = *file.Write(std::string(200, 'b'));
  const uint64_t c = *file.Write(std::string(300, 'c'));
  EXPECT_EQ(file.extent(), 600u);
  file.Release(a, 100);
  file.Release(b, 200);
  EXPECT_EQ(*file.Write(std::string(300, 'd')), a) << "neighbours become one extent";
  file.Release(c, 300);
  EXPECT_EQ(file.extent(), 300u) << "a free end is given back";
  file.Release(a, 300);
  EXPECT_EQ(file.extent(), 0u);
}

TEST(SpillFileTest, RandomWritesAndReleasesKeepTheBytes) {
  SpillFile file(Directory());
  std::mt19937_64 random(11);
  std::map<uint64_t, std::string> held;
  for (int i = 0; i < 3000; ++i) {
    if (held.empty() || random() % 5 < 3) {
      const std::string bytes(1 + random() % 500, static_cast<char>('a' + i % 26));
      const auto offset = file.Write(bytes);
      ASSERT_TRUE(offset.ok());
      ASSERT_TRUE(held.emplace(*offset, bytes).second);
    } else {
      auto it = held.begin();
      std::advance(it, random() % held.size());
      ASSERT_EQ(file.Read(it->first, it->second.size())->view(), it->second);
      file.Release(it->first, it->second.size());
      held.erase(it);
    }
  }
  for (const auto& [offset, bytes] : held) {
    ASSERT_EQ(file.Read(offset, bytes.size())->view(), bytes);
  }
}

TEST(SpillFileTest, AMissingDirectoryIsNamed) {
  SpillFile file("/no/such/directory");
  const auto result = file.Write("x");
  EXPECT_EQ(result.code(), ENOENT);
  EXPECT_NE(result.error().message().find("/no/such/directory"), std::string::npos);
}

}  // namespace
}  // namespace agentfs
