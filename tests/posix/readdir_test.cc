// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>

#include "posix_test.h"

namespace agentfs::posix {
namespace {

class ReadDirectoryTest : public PosixTest {
 protected:
  static std::string Number(int i) { return "entry-" + std::to_string(i); }
  void Fill(const std::string& directory, int count) {
    Value(setup().MakeDirectory(directory));
    for (int i = 0; i < count; ++i) Value(setup().WriteFile(directory + "/" + Number(i), ""));
  }
  // Lists in steps of `step` entries; after each, `between` may change the directory.
  template <typename Between>
  std::map<std::string, int> ListInSteps(const std::string& path, size_t step, Between between) {
    std::map<std::string, int> seen;
    auto directory = Open(path, O_RDONLY);
    for (uint64_t cursor = 0;;) {
      const std::vector<Entry> entries = Value(directory->List(cursor, step));
      if (entries.empty()) return seen;
      for (const Entry& entry : entries) ++seen[entry.name];
      cursor = entries.back().cursor;
      between(entries);
    }
  }
};
AGENTFS_FOR_ALL_SUBJECTS(ReadDirectoryTest);

TEST_P(ReadDirectoryTest, GivesTypesAndNodes) {
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/file", ""));
  Value(setup().MakeDirectory("d/directory"));
  Value(setup().MakeSymlink("x", "d/link"));
  Value(setup().MakeNode("d/fifo", S_IFIFO | 0644, 0));
  Value(fs().WriteFile("d/new", ""));
  EXPECT_THAT(Names("d"), testing::ElementsAre("directory", "fifo", "file", "link", "new"));
  for (const Entry& entry : Value(fs().List("d"))) {
    const Attr attr = Stat("d/" + entry.name);
    EXPECT_EQ(entry.node, attr.node.value) << entry.name;
    if (entry.type != 0) {
      EXPECT_EQ(entry.type, attr.mode & S_IFMT) << entry.name;
    }
  }
}

TEST_P(ReadDirectoryTest, EmptyDirectory) {
  Value(setup().MakeDirectory("d"));
  EXPECT_TRUE(Value(fs().List("d")).empty());
}

TEST_P(ReadDirectoryTest, StepsOfAnySizeSeeEverythingOnce) {
  Fill("d", 300);
  for (size_t step : {1ul, 7ul, 100ul, 1000ul}) {
    const auto seen = ListInSteps("d", step, [](const auto&) {});
    EXPECT_EQ(seen.size(), 300u) << step;
    for (const auto& [name, count] : seen) EXPECT_EQ(count, 1) << name;
  }
}

TEST_P(ReadDirectoryTest, ChangesAreSeen) {
  Fill("d", 10);
  EXPECT_OK(fs().Unlink("d/" + Number(3)));
  EXPECT_OK(fs().Rename("d/" + Number(4), "d/renamed"));
  EXPECT_OK(fs().MakeDirectory("d/made"));
  EXPECT_OK(fs().Unlink("d/" + Number(5)));
  Value(fs().WriteFile("d/" + Number(5), "again"));
  std::vector<std::string> expected = {"made", "renamed"};
  for (int i : {0, 1, 2, 5, 6, 7, 8, 9}) expected.push_back(Number(i));
  EXPECT_THAT(Names("d"), testing::UnorderedElementsAreArray(expected));
}

TEST_P(ReadDirectoryTest, RemovingWhatWasSeenMissesNothing) {
  Fill("d", 400);
  const auto seen = ListInSteps("d", 30, [&](const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) EXPECT_OK(fs().Unlink("d/" + entry.name));
  });
  EXPECT_EQ(seen.size(), 400u);
  EXPECT_TRUE(Names("d").empty());
  EXPECT_OK(fs().RemoveDirectory("d"));
}

TEST_P(ReadDirectoryTest, WhatStaysIsSeenExactlyOnce) {
  Fill("d", 200);
  int next = 1000, step = 0;
  std::set<std::string> gone;
  const auto seen = ListInSteps("d", 9, [&](const std::vector<Entry>&) {
    if (++step > 40) return;
    Value(fs().WriteFile("d/" + Number(next++), ""));
    const std::string victim = Number(step * 3);
    EXPECT_OK(fs().Unlink("d/" + victim));
    gone.insert(victim);
    const std::string moved = Number(150 + step % 10);
    if (gone.count(moved) == 0 && fs().Rename("d/" + moved, "d/moved-" + moved).ok()) {
      gone.insert(moved);
    }
  });
  for (int i = 0; i < 200; ++i) {
    if (gone.count(Number(i)) != 0) continue;
    const auto found = seen.find(Number(i));
    ASSERT_NE(found, seen.end()) << Number(i) << " was missed";
    EXPECT_EQ(found->second, 1) << Number(i);
  }
  for (const auto& [name, count] : seen) EXPECT_EQ(count, 1) << name;
}

TEST_P(ReadDirectoryTest, ACursorCanBeUsedAgain) {
  Fill("d", 50);
  auto directory = Open("d", O_RDONLY);
  const auto first = Value(directory->List(0, 20));
  const auto rest = Value(directory->List(first.back().cursor, 100));
  EXPECT_EQ(rest.size(), 30u);
  const auto again = Value(directory->List(first[4].cursor, 15));
  ASSERT_EQ(again.size(), 15u);
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ(again[i].name, first[5 + i].name);
  EXPECT_TRUE(Value(directory->List(rest.back().cursor, 10)).empty());
}

TEST_P(ReadDirectoryTest, NeedsReadPermission) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("d"));
  Value(setup().WriteFile("d/f", "x"));
  Value(setup().Chmod("d", 0711));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().Open("d", O_RDONLY), EACCES);
  EXPECT_EQ(Content("d/f"), "x");
}

TEST_P(ReadDirectoryTest, OnlyDirectories) {
  Value(setup().WriteFile("f", ""));
  EXPECT_ERRNO(Open("f", O_RDONLY)->List(0, 10), ENOTDIR);
}

}  // namespace
}  // namespace agentfs::posix
