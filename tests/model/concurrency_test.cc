// SPDX-License-Identifier: Apache-2.0
//
// Threads on one view: what they do in directories of their own is what a real directory would
// have done; what they do to the same names keeps its invariants.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "agentfs/volume.h"
#include "generator.h"
#include "native_subject.h"
#include "tree.h"
#include "view_subject.h"
#include "volume_rig.h"
#include "world.h"

namespace agentfs::model {
namespace {

using posix::OpenFile;
using posix::StoreKind;
using posix::Subject;

constexpr int kThreads = 4;

struct Setting {
  const char* name;
  StoreKind store;
  bool tiny_caches = false;
};

class ConcurrencyTest : public testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    posix::RigOptions options;
    options.store = GetParam().store;
    options.state = temp_.Make("state");
    if (GetParam().tiny_caches) {
      options.volume.content_cache_bytes = 128 * 1024;
      options.volume.cached_nodes = 8;
      options.volume.max_pending_bytes = 64 * 1024;
      options.volume.commit_interval_ms = 1;
    }
    auto rig = posix::VolumeRig::Open(std::move(options));
    ASSERT_TRUE(rig.ok()) << rig.error().message();
    rig_ = std::move(*rig);
    auto fs = rig_->volume().OpenBranch(kMainBranch);
    ASSERT_TRUE(fs.ok()) << fs.error().message();
    fs_ = std::move(*fs);
  }
  void TearDown() override {
    fs_.reset();
    if (!rig_) return;
    const auto report = rig_->volume().Check(false);
    ASSERT_TRUE(report.ok()) << report.error().message();
    for (const FsckProblem& problem : report->problems) ADD_FAILURE() << problem.what;
  }

  // Subjects are for one thread each; the view below is one.
  std::unique_ptr<Subject> NewSubject() { return posix::MakeViewSubject(fs_); }

  // Runs `work(i)` on kThreads threads at once; `meanwhile` again and again until they are done.
  template <typename Work, typename Meanwhile>
  void Together(Work work, Meanwhile meanwhile) {
    std::atomic<int> running{kThreads};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        work(i);
        --running;
      });
    }
    while (running > 0) meanwhile();
    for (std::thread& thread : threads) thread.join();
  }

  posix::TempDirectory temp_;
  std::unique_ptr<posix::VolumeRig> rig_;
  std::shared_ptr<FileSystem> fs_;
};

std::vector<Operation> InDirectory(const std::string& directory, std::vector<Operation> steps) {
  // Whether a truncation to the same size counts as a change is left open.
  std::erase_if(steps, [](const Operation& step) { return step.kind == Kind::kTruncate; });
  for (Operation& step : steps) {
    step.path = directory + "/" + step.path;
    if (step.kind == Kind::kRename || step.kind == Kind::kLink) step.to = directory + "/" + step.to;
  }
  return steps;
}

TEST_P(ConcurrencyTest, DirectoriesOfTheirOwn) {
  std::array<std::vector<Operation>, kThreads> steps;
  std::array<std::vector<int>, kThreads> codes;
  auto setup = NewSubject();
  for (int i = 0; i < kThreads; ++i) {
    const std::string directory = fmt::format("thread-{}", i);
    ASSERT_TRUE(setup->MakeDirectory(directory).ok());
    steps[i] = InDirectory(directory, Generator(77 + i).Blind(250));
  }
  int snapshots = 0;
  Together(
      [&](int i) {
        auto subject = NewSubject();
        for (const Operation& step : steps[i]) codes[i].push_back(Apply(*subject, step).code());
      },
      [&] {
        // Seals layers and cleans up under their feet.
        EXPECT_TRUE(rig_->volume().GetStats().ok());
        if (snapshots >= 20) return;
        const auto taken = rig_->volume().CreateSnapshot(kMainBranch, "", "", Durability::kNone);
        ASSERT_TRUE(taken.ok()) << taken.error().message();
        if (++snapshots % 4 != 0) return;
        EXPECT_TRUE(rig_->volume().DeleteSnapshot(taken->name).ok());
        EXPECT_TRUE(rig_->volume().CollectGarbage().ok());
      });
  const std::string real = temp_.Make("real");
  auto oracle = posix::OpenNativeSubject(real);
  ASSERT_TRUE(oracle.ok());
  ComparisonRules rules;
  rules.clock_start = ::time(nullptr) - 600;
  for (int i = 0; i < kThreads; ++i) {
    ASSERT_TRUE((*oracle)->MakeDirectory(fmt::format("thread-{}", i)).ok());
    for (size_t n = 0; n < steps[i].size(); ++n) {
      ASSERT_EQ(Apply(**oracle, steps[i][n]).code(), codes[i][n])
          << "step " << n << " " << ToString(steps[i][n]);
    }
  }
  EXPECT_EQ(CompareTrees(**oracle, *setup, rules), "");
}

TEST_P(ConcurrencyTest, AppendsToOneFileStayWhole) {
  constexpr int kRecords = 200;
  auto setup = NewSubject();
  ASSERT_TRUE(setup->WriteFile("log", "").ok());
  Together(
      [&](int i) {
        auto subject = NewSubject();
        auto file = subject->Open("log", O_WRONLY | O_APPEND);
        for (int n = 0; n < kRecords; ++n) {
          const auto appended = (*file)->Append(fmt::format("{:4} {:10}\n", i, n));
          ASSERT_TRUE(appended.ok());
          EXPECT_EQ(*appended % 16, 0u);
        }
      },
      [&] { EXPECT_EQ(setup->Stat("log")->size % 16, 0u); });
  const auto content = setup->ReadFile("log");
  ASSERT_TRUE(content.ok());
  ASSERT_EQ(content->size(), size_t{16} * kRecords * kThreads);
  std::array<int, kThreads> next{};
  for (size_t at = 0; at < content->size(); at += 16) {
    const std::string record = content->substr(at, 16);
    const int who = std::atoi(record.c_str());
    ASSERT_EQ(record, fmt::format("{:4} {:10}\n", who, next.at(static_cast<size_t>(who))++));
  }
}

TEST_P(ConcurrencyTest, WritesToOneFileAreNotMixed) {
  // Each thread writes its own letter over whole blocks; a block is of one letter at any time
  // that nobody writes.
  constexpr size_t kBlock = 70000;
  constexpr int kBlocks = 4;
  auto setup = NewSubject();
  ASSERT_TRUE(setup->WriteFile("f", std::string(kBlock * kBlocks, 'x')).ok());
  Together(
      [&](int i) {
        auto subject = NewSubject();
        auto file = subject->Open("f", O_RDWR);
        for (int n = 0; n < 30; ++n) {
          const uint64_t at = static_cast<uint64_t>((n + i) % kBlocks) * kBlock;
          ASSERT_TRUE((*file)->Write(at, std::string(kBlock, static_cast<char>('a' + i))).ok());
          const auto read = (*file)->Read(at, kBlock);
          ASSERT_TRUE(read.ok());
          ASSERT_EQ(read->size(), kBlock);
        }
      },
      [&] { EXPECT_EQ(setup->Stat("f")->size, kBlock * kBlocks); });
  const auto content = setup->ReadFile("f");
  ASSERT_TRUE(content.ok());
  for (int block = 0; block < kBlocks; ++block) {
    const std::string piece = content->substr(static_cast<size_t>(block) * kBlock, kBlock);
    EXPECT_EQ(piece.find_first_not_of(piece[0]), std::string::npos) << "block " << block;
  }
}

TEST_P(ConcurrencyTest, AnExclusiveCreateSucceedsOnce) {
  constexpr int kNames = 150;
  std::array<std::atomic<int>, kNames> created{};
  std::array<std::atomic<int>, kNames> removed{};
  auto setup = NewSubject();
  ASSERT_TRUE(setup->MakeDirectory("d").ok());
  const auto everybody = [&](std::array<std::atomic<int>, kNames>& count, bool create) {
    Together(
        [&](int) {
          auto subject = NewSubject();
          for (int n = 0; n < kNames; ++n) {
            const std::string name = fmt::format("d/{}", n);
            const int code = create ? subject->Open(name, O_RDWR | O_CREAT | O_EXCL).code()
                                    : subject->Unlink(name).code();
            if (code == 0) ++count[static_cast<size_t>(n)];
            EXPECT_TRUE(code == 0 || code == (create ? EEXIST : ENOENT)) << code;
          }
        },
        [&] { EXPECT_TRUE(setup->List("d").ok()); });
  };
  everybody(created, true);
  EXPECT_EQ(setup->List("d")->size(), static_cast<size_t>(kNames));
  everybody(removed, false);
  EXPECT_TRUE(setup->List("d")->empty());
  for (const auto& count : created) EXPECT_EQ(count, 1);
  for (const auto& count : removed) EXPECT_EQ(count, 1);
}

TEST_P(ConcurrencyTest, RenamesLoseNothing) {
  // Files wander between directories; at the end each is in exactly one place.
  constexpr int kFiles = 8;
  auto setup = NewSubject();
  for (const char* directory : {"x", "y", "z"}) {
    ASSERT_TRUE(setup->MakeDirectory(directory).ok());
  }
  for (int n = 0; n < kFiles; ++n) {
    ASSERT_TRUE(setup->WriteFile(fmt::format("x/{}", n), fmt::format("content {}", n)).ok());
  }
  Together(
      [&](int i) {
        static constexpr const char* kPlaces[] = {"x", "y", "z"};
        auto subject = NewSubject();
        for (int n = 0; n < 300; ++n) {
          const int file = (n * 7 + i) % kFiles;
          const int code = subject
                               ->Rename(fmt::format("{}/{}", kPlaces[(n + i) % 3], file),
                                        fmt::format("{}/{}", kPlaces[(n * 5 + 1) % 3], file))
                               .code();
          EXPECT_TRUE(code == 0 || code == ENOENT) << code;
        }
      },
      [&] { EXPECT_TRUE(setup->List("y").ok()); });
  int found = 0;
  for (const char* directory : {"x", "y", "z"}) {
    const auto entries = setup->List(directory);
    ASSERT_TRUE(entries.ok());
    for (const posix::Entry& entry : *entries) {
      ++found;
      const auto content = setup->ReadFile(std::string(directory) + "/" + entry.name);
      ASSERT_TRUE(content.ok());
      EXPECT_EQ(*content, "content " + entry.name);
    }
  }
  EXPECT_EQ(found, kFiles);
}

TEST_P(ConcurrencyTest, DirectoryRenamesMakeNoLoops) {
  auto setup = NewSubject();
  ASSERT_TRUE(setup->MakeDirectory("a").ok());
  ASSERT_TRUE(setup->MakeDirectory("b").ok());
  Together(
      [&](int i) {
        auto subject = NewSubject();
        const bool even = i % 2 == 0;
        for (int n = 0; n < 200; ++n) {
          // Into each other, from both sides at once, and back.
          (void)subject->Rename(even ? "a" : "b", even ? "b/a" : "a/b").code();
          (void)subject->Rename(even ? "b/a" : "a/b", even ? "a" : "b").code();
        }
      },
      [] {});
  const auto paths = ListTree(*setup);
  ASSERT_TRUE(paths.ok());
  EXPECT_EQ(paths->size(), 2u) << "a directory was lost in a loop";
}

TEST_P(ConcurrencyTest, LinkingAndExchangingTheSameDoesNotBlock) {
  // Every pair of nodes is locked from both ends: a wrong order would hang.
  auto setup = NewSubject();
  ASSERT_TRUE(setup->WriteFile("f", "x").ok());
  ASSERT_TRUE(setup->MakeDirectory("d").ok());
  Together(
      [&](int i) {
        auto subject = NewSubject();
        for (int n = 0; n < 200; ++n) {
          switch (i) {
            case 0:
              (void)subject->Link("f", "d/link").code();
              (void)subject->Unlink("d/link").code();
              break;
            case 1:
              (void)subject->Rename("f", "d", RenameMode::kExchange).code();
              (void)subject->Rename("f", "d").code();
              break;
            case 2:
              (void)subject->MakeDirectory("d/sub").code();
              (void)subject->RemoveDirectory("d/sub").code();
              break;
            default:
              (void)subject->Link("d", "d/sub/link").code();
              (void)subject->Rename("d/link", "d/sub").code();
          }
        }
      },
      [] {});
  int files = 0, directories = 0;
  const auto paths = ListTree(*setup);
  ASSERT_TRUE(paths.ok());
  for (const std::string& path : *paths) {
    if (path.find('/') != std::string::npos) continue;
    ((setup->Stat(path)->mode & S_IFMT) == S_IFDIR ? directories : files) += 1;
  }
  EXPECT_EQ(directories, 1);
  EXPECT_EQ(files, 1);
}

TEST_P(ConcurrencyTest, LinkCountsAddUp) {
  auto setup = NewSubject();
  ASSERT_TRUE(setup->WriteFile("f", "x").ok());
  ASSERT_TRUE(setup->MakeDirectory("d").ok());
  Together(
      [&](int i) {
        auto subject = NewSubject();
        for (int n = 0; n < 150; ++n) {
          const std::string name = fmt::format("d/{}-{}", i, n);
          EXPECT_EQ(subject->Link("f", name).code(), 0);
          EXPECT_EQ(subject->Chmod(name, n % 2 == 0 ? 0600 : 0644).code(), 0);
          if (n % 3 == 0) {
            EXPECT_EQ(subject->Unlink(name).code(), 0);
          }
          EXPECT_EQ(subject->MakeDirectory(fmt::format("d/dir-{}-{}", i, n)).code(), 0);
        }
      },
      [&] { EXPECT_TRUE(setup->Stat("f").ok()); });
  const auto entries = setup->List("d");
  ASSERT_TRUE(entries.ok());
  EXPECT_EQ(entries->size(), size_t{kThreads} * 250);
  EXPECT_EQ(setup->Stat("f")->nlink, 1u + kThreads * 100);
  EXPECT_EQ(setup->Stat("d")->nlink, 2u + kThreads * 150);
}

TEST_P(ConcurrencyTest, ReadersOfAListingWhileItChanges) {
  auto setup = NewSubject();
  ASSERT_TRUE(setup->MakeDirectory("d").ok());
  for (int n = 0; n < 50; ++n) {
    ASSERT_TRUE(setup->WriteFile(fmt::format("d/stays-{}", n), "x").ok());
  }
  Together(
      [&](int i) {
        auto subject = NewSubject();
        for (int n = 0; n < 150; ++n) {
          const std::string name = fmt::format("d/comes-{}-{}", i, n);
          EXPECT_EQ(subject->WriteFile(name, "y").code(), 0);
          EXPECT_EQ(subject->Unlink(name).code(), 0);
        }
      },
      [&] {
        auto directory = setup->Open("d", O_RDONLY | O_DIRECTORY);
        ASSERT_TRUE(directory.ok());
        int stayed = 0;
        for (uint64_t cursor = 0;;) {
          const auto some = (*directory)->List(cursor, 7);
          ASSERT_TRUE(some.ok());
          if (some->empty()) break;
          for (const posix::Entry& entry : *some) stayed += entry.name.starts_with("stays-");
          cursor = some->back().cursor;
        }
        EXPECT_EQ(stayed, 50);
      });
}

INSTANTIATE_TEST_SUITE_P(All, ConcurrencyTest,
                         testing::Values(Setting{"Memory", StoreKind::kMemory},
                                         Setting{"MemoryTiny", StoreKind::kMemory, true},
                                         Setting{"SqliteTiny", StoreKind::kSqlite, true},
                                         Setting{"Lmdb", StoreKind::kLmdb}),
                         [](const testing::TestParamInfo<Setting>& info) {
                           return info.param.name;
                         });

}  // namespace
}  // namespace agentfs::model
