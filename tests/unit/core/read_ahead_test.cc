// SPDX-License-Identifier: Apache-2.0
#include "core/read_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/directory.h"
#include "forwarding_base.h"
#include "scratch.h"

namespace agentfs {
namespace {

using testing::AnyOf;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

// A host directory that remembers which files were opened.
class OpenedBase final : public ForwardingBase {
 public:
  explicit OpenedBase(const std::string& root) : ForwardingBase(OpenHostBase(root).value()) {}

  std::set<std::string> TakeOpened() {
    absl::MutexLock lock(&mu_);
    return std::exchange(opened_, {});
  }
  Result<std::unique_ptr<BaseFile>> Open(std::string_view path) override {
    absl::MutexLock lock(&mu_);
    opened_.emplace(path);
    return ForwardingBase::Open(path);
  }
  bool IsAtHand(std::string_view) override { return at_hand; }

  std::atomic<bool> at_hand = false;

 private:
  absl::Mutex mu_;
  std::set<std::string> opened_ ABSL_GUARDED_BY(mu_);
};

class ReadAheadTest : public testing::Test {
 protected:
  void Directory(const std::string& path) { MakeHostDirectory(scratch_ / path); }
  void File(const std::string& path, size_t size = 10) {
    WriteHostFile(scratch_ / path, std::string(size, 'x'));
  }
  void Files(const std::string& directory, int count) {
    for (int i = 0; i < count; ++i) File(directory + "/f" + std::to_string(i));
  }
  // The paths of a directory's names, as a listing has them.
  std::vector<std::string> InOrder(const std::string& directory) {
    std::vector<BaseEntry> entries = base_.List(directory).value();
    std::sort(entries.begin(), entries.end(), [](const BaseEntry& a, const BaseEntry& b) {
      return NameCursor(a.name) < NameCursor(b.name);
    });
    std::vector<std::string> paths;
    for (const BaseEntry& entry : entries) {
      paths.push_back(directory.empty() ? entry.name : directory + "/" + entry.name);
    }
    return paths;
  }
  void Read(const std::string& path) {
    ahead_.Read(path, base_.Stat(path)->identity);
    ahead_.WaitUntilIdle();
  }
  void List(const std::string& path) {
    ahead_.Listed(path, base_.Stat(path)->identity);
    ahead_.WaitUntilIdle();
  }
  // Goes through a directory as grep does.
  void ReadThrough(const std::string& directory) {
    List(directory);
    for (const std::string& path : InOrder(directory)) {
      if (S_ISDIR(base_.Stat(path)->attr.mode)) {
        ReadThrough(path);
      } else {
        Read(path);
      }
    }
  }
  void ListThrough(const std::string& directory) {
    List(directory);
    for (const std::string& path : InOrder(directory)) {
      if (S_ISDIR(base_.Stat(path)->attr.mode)) ListThrough(path);
    }
  }

  Scratch scratch_;
  OpenedBase base_{scratch_.path()};
  BaseFiles files_{&base_};
  ReadAhead ahead_{&base_, files_};
};

TEST_F(ReadAheadTest, TheNextFilesAreOpenedAfterSomeWereReadInOrder) {
  Directory("d");
  Files("d", 100);
  const std::vector<std::string> order = InOrder("d");
  List("d");
  Read(order[0]);
  EXPECT_EQ(ahead_.counts().walks, 0u);
  Read(order[1]);
  EXPECT_EQ(ahead_.counts().walks, 1u);
  const std::vector<std::string> next(order.begin() + 2, order.begin() + 18);
  EXPECT_THAT(base_.TakeOpened(), UnorderedElementsAreArray(next));
}

TEST_F(ReadAheadTest, WhoReadsByNameIsFollowedToo) {
  for (const std::string directory : {"a", "b", "c", "d"}) {
    Directory(directory);
    Files(directory, 30);
  }
  for (const std::string directory : {"a", "b", "c", "d"}) {
    std::vector<std::string> paths = InOrder(directory);
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) Read(path);
  }
  EXPECT_GE(ahead_.counts().expected, 110u);
}

TEST_F(ReadAheadTest, ASmallDirectoryIsReadAheadForAnyOrder) {
  Directory("d");
  Files("d", 14);
  const std::vector<std::string> order = InOrder("d");
  for (size_t i = order.size(); i-- > 0;) Read(order[i]);
  EXPECT_EQ(ahead_.counts().expected, 11u);
}

TEST_F(ReadAheadTest, ItStaysAheadOfTheReader) {
  Directory("d");
  Files("d", 200);
  ReadThrough("d");
  const ReadAhead::Counts counts = ahead_.counts();
  EXPECT_EQ(counts.walks, 1u);
  EXPECT_EQ(counts.expected, 198u) << "all but those that began it";
  EXPECT_EQ(base_.TakeOpened().size(), 198u);
}

TEST_F(ReadAheadTest, AWalkGoesThroughDirectoriesAndOutOfThem) {
  for (const std::string top : {"a", "b", "c"}) {
    Directory(top);
    for (const std::string below : {"/x", "/y", "/z"}) {
      Directory(top + below);
      Files(top + below, 5);
    }
  }
  ReadThrough("");
  const ReadAhead::Counts counts = ahead_.counts();
  EXPECT_LE(counts.walks, 2u) << "one of names, until a file is read";
  EXPECT_GE(counts.expected, 45u) << "of 45 files and 12 directories";
}

TEST_F(ReadAheadTest, WhatIsNotReadInOrderIsLeftAlone) {
  for (const std::string directory : {"a", "b", "c", "d"}) {
    Directory(directory);
    Files(directory, 10);
  }
  for (int i = 0; i < 10; ++i) {
    for (const std::string directory : {"a/f", "b/f", "c/f", "d/f"}) {
      Read(directory + std::to_string(i));
    }
  }
  EXPECT_EQ(ahead_.counts().walks, 0u);
  EXPECT_THAT(base_.TakeOpened(), IsEmpty());
}

TEST_F(ReadAheadTest, WhoReadsAFewFilesOfEachDirectoryIsSoonLeftAlone) {
  constexpr int kDirectories = 30;
  for (int i = 0; i < kDirectories; ++i) {
    Directory("d" + std::to_string(i));
    Files("d" + std::to_string(i), 20);
  }
  for (int i = 0; i < kDirectories; ++i) {
    for (const std::string name : {"/f3", "/f1", "/f2"}) Read("d" + std::to_string(i) + name);
  }
  EXPECT_EQ(ahead_.counts().walks, 1u);
  EXPECT_LE(base_.TakeOpened().size(), 16u);
}

TEST_F(ReadAheadTest, OnlySmallRegularFilesOfSomeContentAreOpened) {
  Directory("d");
  File("d/a");
  File("d/b");
  File("d/empty", 0);
  File("d/large", 1 << 20);
  MakeHostLink("a", scratch_ / "d/link");
  ASSERT_EQ(::mkfifo((scratch_ / "d/pipe").c_str(), 0600), 0);
  File("first");
  ahead_.Listed("d", base_.Stat("d")->identity);
  ahead_.Read("d/0", 1);  // before all others of the directory, and gone
  ahead_.Read("d/0", 2);
  ahead_.WaitUntilIdle();
  std::set<std::string> opened = base_.TakeOpened();
  for (const std::string& path : opened) {
    EXPECT_THAT(path, AnyOf("d/a", "d/b", "first")) << path;
  }
}

TEST_F(ReadAheadTest, WhoOnlyListsHasNamesLookedAtAndNothingOpened) {
  std::string path = "d";
  for (int i = 0; i < 30; ++i) {
    Directory(path);
    Files(path, 3);
    path += "/d";
  }
  ListThrough("d");
  const ReadAhead::Counts counts = ahead_.counts();
  EXPECT_EQ(counts.walks, 1u);
  EXPECT_GE(counts.expected, 20u);
  EXPECT_LE(base_.TakeOpened().size(), 24u) << "until it was clear that no file is read";
}

TEST_F(ReadAheadTest, NamesThatTheHostHasAtHandAreNotLookedAt) {
  base_.at_hand = true;
  std::string path = "d";
  for (int i = 0; i < 30; ++i) {
    Directory(path);
    path += "/d";
  }
  ListThrough("d");
  EXPECT_LE(ahead_.counts().expected, 12u);
}

TEST_F(ReadAheadTest, AFileThatHasGoneMeanwhileIsNoConcern) {
  Directory("d");
  Files("d", 50);
  const std::vector<std::string> order = InOrder("d");
  for (size_t i = 0; i < 10; ++i) Read(order[i]);
  for (size_t i = 10; i < 50; ++i) ASSERT_EQ(::unlink((scratch_ / order[i]).c_str()), 0);
  ahead_.Read(order[10], 1);
  ahead_.WaitUntilIdle();
}

TEST_F(ReadAheadTest, ItEndsInTheMiddleOfAWalk) {
  Directory("d");
  Files("d", 100);
  const std::vector<std::string> order = InOrder("d");
  ReadAhead other(&base_, files_);
  for (size_t i = 0; i < 50; ++i) other.Read(order[i], base_.Stat(order[i])->identity);
}

TEST(NoReadAheadTest, WithoutABaseNothingHappens) {
  BaseFiles files(nullptr);
  ReadAhead ahead(nullptr, files);
  for (int i = 0; i < 10; ++i) ahead.Read("d/f", 1);
  ahead.WaitUntilIdle();
  EXPECT_EQ(ahead.counts().walks, 0u);
}

}  // namespace
}  // namespace agentfs
