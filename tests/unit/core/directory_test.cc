// SPDX-License-Identifier: Apache-2.0
#include "core/directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace agentfs {
namespace {

std::string NameOf(const Directory::Item& item) {
  return item.entry ? std::string(item.entry->name()) : item.base_entry->name;
}

NameEntry* Add(Directory& directory, const std::string& name, NodeId node = NodeId(5)) {
  NameEntry* entry = directory.Insert(name);
  entry->id = node;
  return entry;
}

std::vector<std::string> ListAll(Directory& directory, size_t step) {
  std::vector<std::string> names;
  uint64_t cursor = 0;
  while (true) {
    const auto items = directory.ListAfter(cursor, step);
    if (items.empty()) return names;
    for (const auto& item : items) {
      EXPECT_GE(item.cursor, cursor);
      names.push_back(NameOf(item));
      cursor = item.cursor;
    }
  }
}

TEST(DirectoryTest, CursorsAreNeverZeroAndFitASignedOffset) {
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t cursor = NameCursor("name" + std::to_string(i));
    EXPECT_NE(cursor, 0u);
    EXPECT_LT(cursor, uint64_t{1} << 63);
  }
  EXPECT_EQ(NameCursor("a"), NameCursor("a"));
}

TEST(DirectoryTest, FindsInsertsAndErases) {
  Directory directory;
  EXPECT_EQ(directory.Find("a"), nullptr);
  NameEntry* a = Add(directory, "a");
  NameEntry* long_one = Add(directory, std::string(255, 'n'));
  EXPECT_EQ(directory.Find("a"), a);
  EXPECT_EQ(directory.Find(std::string(255, 'n')), long_one);
  EXPECT_EQ(long_one->name().size(), 255u);
  directory.Erase(a);
  EXPECT_EQ(directory.Find("a"), nullptr);
  EXPECT_EQ(directory.size(), 1u);
}

TEST(DirectoryTest, ListsEverythingOnceInStepsOfAnySize) {
  for (const size_t step : {size_t{1}, size_t{7}, size_t{1000}}) {
    Directory directory;
    std::vector<BaseEntry> base;
    for (int i = 0; i < 200; ++i) {
      if (i % 2 == 0) Add(directory, std::to_string(i));
      if (i % 3 == 0) base.push_back({std::to_string(i), 0});
    }
    directory.SetBaseListing(base, {});
    std::vector<std::string> names = ListAll(directory, step);
    const std::set<std::string> unique(names.begin(), names.end());
    EXPECT_EQ(unique.size(), names.size()) << "a name was seen twice";
    EXPECT_EQ(names.size(), 100u + 33u);
  }
}

TEST(DirectoryTest, WhiteoutsHideTheBase) {
  Directory directory;
  Add(directory, "gone", NodeId());
  Add(directory, "mine");
  directory.SetBaseListing({{"gone", 0}, {"there", 0}}, {});
  std::vector<std::string> names = ListAll(directory, 1);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"mine", "there"}));
}

TEST(DirectoryTest, AListingHasTheNodesThatWereNotedBefore) {
  Directory directory;
  directory.NoteBaseNode("known", NodeId(7));
  directory.NoteBaseNode("gone", NodeId(8));
  directory.SetBaseListing({{"known", 0}, {"other", 0}}, {});
  for (const Directory::Item& item : directory.ListAfter(0, 10)) {
    EXPECT_EQ(item.base_entry->node, item.base_entry->name == "known" ? NodeId(7) : NodeId());
  }
  directory.DropBaseListing();
  directory.NoteBaseNode("known", NodeId(9));
  directory.DropBaseListing();
  directory.SetBaseListing({{"known", 0}}, {});
  EXPECT_FALSE(directory.ListAfter(0, 10).at(0).base_entry->node);
}

// What stays is seen exactly once, whatever comes and goes meanwhile.
TEST(DirectoryTest, CursorsSurviveChanges) {
  std::mt19937 random(4);
  for (int round = 0; round < 50; ++round) {
    Directory directory;
    for (int i = 0; i < 100; ++i) Add(directory, "stay" + std::to_string(i));
    for (int i = 0; i < 100; ++i) Add(directory, "go" + std::to_string(i));
    std::multiset<std::string> seen;
    uint64_t cursor = 0;
    for (int step = 0;; ++step) {
      const auto items = directory.ListAfter(cursor, 1 + random() % 5);
      if (items.empty()) break;
      for (const auto& item : items) seen.insert(NameOf(item));
      cursor = items.back().cursor;
      for (int i = 0; i < 4; ++i) {
        if (NameEntry* entry = directory.Find("go" + std::to_string(random() % 100))) {
          directory.Erase(entry);
        }
        const std::string fresh = "new" + std::to_string(random() % 50);
        if (directory.Find(fresh) == nullptr) Add(directory, fresh);
      }
    }
    for (int i = 0; i < 100; ++i) EXPECT_EQ(seen.count("stay" + std::to_string(i)), 1u);
    for (const std::string& name : seen) EXPECT_LE(seen.count(name), 1u) << name;
  }
}

TEST(DirectoryTest, TheBaseListingIsOfOneModificationTime) {
  Directory directory;
  directory.SetBaseListing({{"a", 0}}, {5, 6});
  EXPECT_TRUE(directory.HasBaseListing({5, 6}));
  EXPECT_FALSE(directory.HasBaseListing({5, 7}));
  directory.DropBaseListing();
  EXPECT_FALSE(directory.has_base_listing());
  EXPECT_TRUE(directory.ListAfter(0, 10).empty());
}

}  // namespace
}  // namespace agentfs
