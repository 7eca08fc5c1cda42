// SPDX-License-Identifier: Apache-2.0
//
// What a view has of the base in memory: used while it is true, and not a moment longer.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <random>
#include <string>

#include "agentfs/stores.h"
#include "core_rig.h"
#include "forwarding_base.h"

namespace agentfs {
namespace {

// Counts how often the base is asked what a file is.
class AskedBase final : public ForwardingBase {
 public:
  AskedBase(std::unique_ptr<BaseFs> inner, std::atomic<int>* asked)
      : ForwardingBase(std::move(inner)), asked_(asked) {}
  Result<BaseStat> Stat(std::string_view path) override {
    ++*asked_;
    return ForwardingBase::Stat(path);
  }
  Result<std::vector<Result<BaseStat>>> StatNames(
      std::string_view directory, std::span<const std::string_view> names) override {
    *asked_ += static_cast<int>(names.size());
    return ForwardingBase::StatNames(directory, names);
  }

 private:
  std::atomic<int>* const asked_;
};

class Deaf final : public ChangeObserver {
 public:
  void Changed(const ChangeEvent&) override {}
};

class FreshBaseTest : public CoreTest {
 protected:
  void Begin(bool watch = true) {
    options_.watch_base = watch;
    auto host = std::make_unique<AskedBase>(Get(OpenHostBase(base(""))), &asked_);
    watched_ = Get(Volume::Open(Get(OpenMemoryStore(VolumeSchema(), {})),
                                Get(OpenTemporaryBlobStore(state())), std::move(host), options_));
    fs_ = Get(watched_->OpenBranch("main"));
    fs_->AddObserver(observer_);
  }
  void TearDown() override {
    nodes_.clear();
    if (fs_) fs_->RemoveObserver(observer_);
    fs_.reset();
    if (watched_) Get(watched_->Close());
  }

  NodeRef Walk(const std::string& name) {
    return Get(fs_->Lookup(caller_, *fs_->Root(), name)).node;
  }
  // It stays in memory, as with a kernel that knows it.
  void LookUp(Node& directory, const std::string& name) {
    const Found found = Get(fs_->Lookup(caller_, directory, name));
    nodes_[found.attr.node.value] = found.node;
  }
  // By name; what was listed stays in memory, as with a kernel that knows it.
  std::map<std::string, Attr> List(Node& directory) {
    std::map<std::string, Attr> listed;
    Get(fs_->ReadDirectoryPlus(caller_, directory, 0,
                               [&](const DirEntry& entry, const Found& found) {
                                 listed[std::string(entry.name)] = found.attr;
                                 nodes_[found.attr.node.value] = found.node;
                                 return Visit::kContinue;
                               }));
    return listed;
  }
  void ExpectAsInBase(const std::string& path, const Attr& attr) {
    struct stat st;
    ASSERT_EQ(::lstat(base(path).c_str(), &st), 0) << path;
    EXPECT_EQ(attr.mode, st.st_mode) << path;
    EXPECT_EQ(attr.size, static_cast<uint64_t>(st.st_size)) << path;
    EXPECT_EQ(attr.nlink, st.st_nlink) << path;
    EXPECT_EQ(attr.blocks, static_cast<uint64_t>(st.st_blocks)) << path;
    EXPECT_EQ(attr.mtime.sec, st.st_mtim.tv_sec) << path;
    EXPECT_EQ(attr.mtime.nsec, st.st_mtim.tv_nsec) << path;
  }
  int AskedBy(const std::function<void()>& work) {
    const int before = asked_;
    work();
    return asked_ - before;
  }

  Caller caller_;
  Deaf observer_;
  std::atomic<int> asked_ = 0;  // by the watcher too
  std::unique_ptr<Volume> watched_;
  std::shared_ptr<FileSystem> fs_;
  std::map<uint64_t, NodeRef> nodes_;
};

TEST_F(FreshBaseTest, AWatchedBaseThatHasNotChangedIsNotAskedAgain) {
  BaseDirectory("d");
  for (int i = 0; i < 50; ++i) BaseFile("d/f" + std::to_string(i), "x");
  Begin();
  NodeRef directory = Walk("d");
  const auto first = List(*directory);
  EXPECT_EQ(first.size(), 50u);
  EXPECT_EQ(AskedBy([&] {
              for (const auto& [name, attr] : List(*directory)) ExpectAsInBase("d/" + name, attr);
            }),
            0);
  EXPECT_EQ(AskedBy([&] {
              ExpectAsInBase("d", Get(fs_->GetAttr(*directory)));
              const NodeRef& file = nodes_.at(first.at("f7").node.value);
              ExpectAsInBase("d/f7", Get(fs_->GetAttr(*file)));
            }),
            0);
}

TEST_F(FreshBaseTest, WhatWasLookedUpIsNotAskedForByTheNextListing) {
  BaseDirectory("d");
  for (int i = 0; i < 50; ++i) BaseFile("d/f" + std::to_string(i), "x");
  Begin();
  NodeRef directory = Walk("d");
  for (int i = 0; i < 40; ++i) LookUp(*directory, "f" + std::to_string(i));
  // The directory itself, and the ten names.
  EXPECT_EQ(AskedBy([&] {
              const auto listed = List(*directory);
              EXPECT_EQ(listed.size(), 50u);
              for (const auto& [name, attr] : listed) ExpectAsInBase("d/" + name, attr);
            }),
            1 + 10);
}

TEST_F(FreshBaseTest, WhatWasLookedUpAndHasChangedSinceIsListedAsItIs) {
  BaseDirectory("d");
  BaseFile("d/same", "x");
  BaseFile("d/replaced", "x");
  BaseFile("d/removed", "x");
  Begin();
  NodeRef directory = Walk("d");
  for (const char* name : {"same", "replaced", "removed"}) LookUp(*directory, name);
  BaseFile("d/new", "another");
  ASSERT_EQ(::rename(base("d/new").c_str(), base("d/replaced").c_str()), 0);
  ASSERT_EQ(::unlink(base("d/removed").c_str()), 0);
  const auto listed = List(*directory);
  EXPECT_EQ(listed.size(), 2u);
  for (const auto& [name, attr] : listed) ExpectAsInBase("d/" + name, attr);
}

TEST_F(FreshBaseTest, AnUnwatchedBaseIsAskedEachTime) {
  BaseDirectory("d");
  BaseFile("d/f", "x");
  Begin(false);
  NodeRef directory = Walk("d");
  List(*directory);
  EXPECT_GT(AskedBy([&] { List(*directory); }), 0);
  EXPECT_GT(AskedBy([&] { Get(fs_->GetAttr(*directory)); }), 0);
}

// Their other names may be where nobody watches.
TEST_F(FreshBaseTest, FilesWithSeveralNamesAreAskedForEachTime) {
  BaseDirectory("d");
  BaseDirectory("e");
  BaseFile("d/f", "x");
  ASSERT_EQ(::link(base("d/f").c_str(), base("e/g").c_str()), 0);
  Begin();
  NodeRef directory = Walk("d");
  List(*directory);
  BaseFile("e/g", "changed by another name");
  ExpectAsInBase("d/f", List(*directory).at("f"));
}

TEST_F(FreshBaseTest, WhatTheBranchChangedIsNotTheBases) {
  BaseDirectory("d");
  BaseFile("d/f", "x");
  Begin();
  NodeRef directory = Walk("d");
  const NodeRef file = nodes_[List(*directory).at("f").node.value];
  AttrChange change;
  change.mode = 0600;
  Get(fs_->SetAttr(caller_, *file, change));
  Get(fs_->Create(caller_, *directory, "new", 0644));
  const auto listed = List(*directory);
  EXPECT_EQ(listed.at("f").mode & 07777, 0600u);
  EXPECT_TRUE(listed.contains("new"));
  Get(fs_->Unlink(caller_, *directory, "f"));
  EXPECT_FALSE(List(*directory).contains("f"));
}

// No wait in between: who has seen a change of the base sees it here as well.
TEST_F(FreshBaseTest, EveryChangeOfTheBaseIsSeenAtOnce) {
  for (const char* name : {"d", "e", "d/sub"}) BaseDirectory(name);
  for (int i = 0; i < 6; ++i) BaseFile("d/f" + std::to_string(i), "x");
  Begin();
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const std::string name = "d/f" + std::to_string(random() % 6);
    switch (random() % 7) {
      case 0:
        BaseFile(name, std::string(random() % 9000, 'y'));
        break;
      case 1:
        (void)::chmod(base(name).c_str(), 0400 | (random() & 0377));
        break;
      case 2:
        (void)::unlink(base(name).c_str());
        break;
      case 3:
        BaseFile("e/new", "instead");
        ASSERT_EQ(::rename(base("e/new").c_str(), base(name).c_str()), 0);
        break;
      case 4:
        (void)::mkdir(base("d/sub/" + std::to_string(random() % 3)).c_str(), 0755);
        break;
      case 5:
        (void)::rmdir(base("d/sub/" + std::to_string(random() % 3)).c_str());
        break;
      default:
        break;  // listed twice without a change
    }
    NodeRef directory = Walk("d");
    const auto listed = List(*directory);
    for (int i = 0; i < 6; ++i) {
      const std::string file = "f" + std::to_string(i);
      ASSERT_EQ(listed.contains(file), ::access(base("d/" + file).c_str(), F_OK) == 0) << round;
      if (listed.contains(file)) ExpectAsInBase("d/" + file, listed.at(file));
    }
    ExpectAsInBase("d/sub", listed.at("sub"));
    NodeRef sub = nodes_.at(listed.at("sub").node.value);
    List(*sub);
    ExpectAsInBase("d/sub", Get(fs_->GetAttr(*sub)));
    ExpectAsInBase("d", Get(fs_->GetAttr(*directory)));
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

// One call changes, the next one looks: the news is still under way then.
TEST_F(FreshBaseTest, AChangeIsSeenBeforeItIsTold) {
  BaseDirectory("d");
  BaseFile("d/f", "x");
  Begin();
  NodeRef directory = Walk("d");
  const NodeRef file = nodes_[List(*directory).at("f").node.value];
  const std::string path = base("d/f");
  for (uint64_t size = 2; size < 2000; ++size) {
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(size)), 0);
    const Attr attr = Get(fs_->GetAttr(*file));
    ASSERT_EQ(attr.size, size);
    ASSERT_EQ(List(*directory).at("f").size, size);
  }
}

}  // namespace
}  // namespace agentfs
