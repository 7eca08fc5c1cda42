// SPDX-License-Identifier: Apache-2.0
//
// What a view tells its observers.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "core_rig.h"

namespace agentfs {
namespace {

class Recorder : public ChangeObserver {
 public:
  void Changed(const ChangeEvent& event) override {
    static constexpr const char* kNames[] = {"created", "removed",    "renamed", "exchanged",
                                             "content", "attributes", "base",    "reset"};
    std::string text = kNames[static_cast<size_t>(event.kind)];
    for (std::string_view name : {event.name, event.new_name}) {
      if (!name.empty()) text.append(" ").append(name);
    }
    if (event.replaced) text += " over another";
    if (event.origin != 0) text += " by " + std::to_string(event.origin);
    absl::MutexLock lock(&mu_);
    events_.push_back(text);
    arrived_.SignalAll();
  }
  std::vector<std::string> Take() {
    absl::MutexLock lock(&mu_);
    return std::exchange(events_, {});
  }
  // Waits for it, as long as is reasonable.
  bool Await(const std::string& event) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    absl::MutexLock lock(&mu_);
    while (std::find(events_.begin(), events_.end(), event) == events_.end()) {
      if (arrived_.WaitWithDeadline(&mu_, deadline)) return false;
    }
    return true;
  }

 private:
  absl::Mutex mu_;
  absl::CondVar arrived_;
  std::vector<std::string> events_;
};

class ObserverTest : public CoreTest {
 protected:
  void Observe() {
    Open();
    Begin();
  }
  void ObserveBase() {
    options_.watch_base = true;
    OpenOverBase();
    Begin();
  }
  void Begin() {
    fs_ = Get(volume().OpenBranch("main"));
    fs_->AddObserver(recorder_);
  }
  void TearDown() override {
    if (fs_) fs_->RemoveObserver(recorder_);
  }
  std::vector<std::string> Take() { return recorder_.Take(); }
  NodeRef Make(std::string_view name) {
    return Get(fs_->Create(caller_, *fs_->Root(), name, 0644)).node;
  }

  Caller caller_;
  Recorder recorder_;
  std::shared_ptr<FileSystem> fs_;
};

using Events = std::vector<std::string>;

TEST_F(ObserverTest, HearsOfEveryKindOfChange) {
  Observe();
  NodeRef root = fs_->Root();
  NodeRef file = Make("a");
  Get(fs_->Write(caller_, *file, 0, std::string_view("x")));
  Get(fs_->Append(caller_, *file, std::string_view("y")));
  Get(fs_->Allocate(caller_, *file, AllocateMode::kAllocate, 0, 100));
  EXPECT_EQ(Take(), (Events{"created a", "content", "content", "content"}));
  AttrChange mode, size;
  mode.mode = 0600;
  size.size = 1;
  Get(fs_->SetAttr(caller_, *file, mode));
  Get(fs_->SetAttr(caller_, *file, size));
  Get(fs_->SetXattr(caller_, *file, "user.x", "1", XattrMode::kSet));
  Get(fs_->RemoveXattr(caller_, *file, "user.x"));
  EXPECT_EQ(Take(), (Events{"attributes", "content", "attributes", "attributes"}));
  Get(fs_->Link(caller_, *file, *root, "b"));
  NodeRef copy = Make("c");
  Get(fs_->CopyRange(caller_, *file, 0, *copy, 0, 1));
  EXPECT_EQ(Take(), (Events{"created b", "created c", "content"}));
  Get(fs_->Rename(caller_, *root, "a", *root, "d", RenameMode::kReplace));
  Get(fs_->Rename(caller_, *root, "d", *root, "c", RenameMode::kReplace));
  Get(fs_->MakeDirectory(caller_, *root, "e", 0755));
  Get(fs_->Rename(caller_, *root, "c", *root, "e", RenameMode::kExchange));
  Get(fs_->RemoveDirectory(caller_, *root, "c"));
  Get(fs_->Unlink(caller_, *root, "b"));
  EXPECT_EQ(Take(), (Events{"renamed a d", "renamed d c over another", "created e",
                            "exchanged c e over another", "removed c", "removed b"}));
}

TEST_F(ObserverTest, HearsNothingOfWhatFailedOrOnlyRead) {
  Observe();
  NodeRef root = fs_->Root();
  NodeRef file = Make("a");
  Take();
  EXPECT_EQ(fs_->Create(caller_, *root, "a", 0644).code(), EEXIST);
  EXPECT_EQ(fs_->Unlink(caller_, *root, "none").code(), ENOENT);
  EXPECT_EQ(fs_->RemoveXattr(caller_, *file, "user.none").code(), ENODATA);
  char byte;
  Get(fs_->Read(*file, 0, {&byte, 1}));
  Get(fs_->GetAttr(*file));
  Get(fs_->Lookup(caller_, *root, "a"));
  EXPECT_EQ(Take(), Events{});
}

TEST_F(ObserverTest, LearnsWhoMadeTheChange) {
  Observe();
  caller_.origin = 7;
  Make("a");
  EXPECT_EQ(Take(), Events{"created a by 7"});
}

TEST_F(ObserverTest, HearsOfARestore) {
  Observe();
  Get(volume().CreateSnapshot("main", "snap", "", Durability::kNone));
  Make("a");
  Take();
  Get(volume().Restore("main", "snap"));
  EXPECT_EQ(Take(), Events{"reset"});
}

TEST_F(ObserverTest, HearsNothingAfterItsRemoval) {
  Observe();
  fs_->RemoveObserver(recorder_);
  Make("a");
  EXPECT_EQ(Take(), Events{});
  fs_->AddObserver(recorder_);
}

TEST_F(ObserverTest, HearsOfChangesOfTheBaseWhereItHasLooked) {
  BaseDirectory("d");
  BaseFile("d/f", "old");
  ObserveBase();
  ASSERT_TRUE(fs_->ObserversHearAll());
  NodeRef directory = Get(fs_->Lookup(caller_, *fs_->Root(), "d")).node;
  Get(fs_->Lookup(caller_, *directory, "f"));
  BaseFile("d/f", "new");
  EXPECT_TRUE(recorder_.Await("base f"));
  EXPECT_EQ(fs_->Lookup(caller_, *directory, "g").code(), ENOENT);
  BaseFile("d/g", "now it is there");
  EXPECT_TRUE(recorder_.Await("base g"));
  ASSERT_EQ(::unlink(base("d/g").c_str()), 0);
  BaseFile("top", "");
  EXPECT_TRUE(recorder_.Await("base top"));
}

TEST_F(ObserverTest, HearsOfANewFileAfterAListing) {
  BaseDirectory("d");
  ObserveBase();
  NodeRef directory = Get(fs_->Lookup(caller_, *fs_->Root(), "d")).node;
  Get(fs_->ReadDirectory(caller_, *directory, 0, [](const DirEntry&) { return Visit::kContinue; }));
  BaseFile("d/f", "x");
  EXPECT_TRUE(recorder_.Await("base f"));
}

// The paths of what is watched below are wrong then.
TEST_F(ObserverTest, ARenamedDirectoryOfTheBaseResetsEverything) {
  BaseDirectory("d");
  BaseFile("d/f", "x");
  ObserveBase();
  NodeRef directory = Get(fs_->Lookup(caller_, *fs_->Root(), "d")).node;
  Get(fs_->Lookup(caller_, *directory, "f"));
  ASSERT_EQ(::rename(base("d").c_str(), base("e").c_str()), 0);
  ASSERT_TRUE(recorder_.Await("reset"));
  directory = Get(fs_->Lookup(caller_, *fs_->Root(), "e")).node;
  Get(fs_->Lookup(caller_, *directory, "f"));
  BaseFile("e/f", "y");
  EXPECT_TRUE(recorder_.Await("base f"));
}

TEST_F(ObserverTest, PathsOfDirectoriesFollowRenames) {
  BaseDirectory("a");
  BaseDirectory("a/b");
  ObserveBase();
  NodeRef root = fs_->Root();
  EXPECT_EQ(Get(fs_->PathOf(*root)), "/");
  NodeRef a = Get(fs_->Lookup(caller_, *root, "a")).node;
  NodeRef b = Get(fs_->Lookup(caller_, *a, "b")).node;
  NodeRef c = Get(fs_->MakeDirectory(caller_, *b, "c", 0755)).node;
  EXPECT_EQ(Get(fs_->PathOf(*b)), "/a/b");
  EXPECT_EQ(Get(fs_->PathOf(*c)), "/a/b/c");
  Get(fs_->Rename(caller_, *root, "a", *root, "x", RenameMode::kReplace));
  EXPECT_EQ(Get(fs_->PathOf(*c)), "/x/b/c");
  Get(fs_->Rename(caller_, *b, "c", *root, "d", RenameMode::kReplace));
  EXPECT_EQ(Get(fs_->PathOf(*c)), "/d");
  EXPECT_EQ(fs_->FindNode(c->id()), c);
  Get(fs_->RemoveDirectory(caller_, *root, "d"));
  EXPECT_EQ(fs_->PathOf(*c).code(), ENOENT);
}

TEST_F(ObserverTest, SaysThatAnUnwatchedBaseChangesUnseen) {
  OpenOverBase();
  Begin();
  EXPECT_FALSE(fs_->ObserversHearAll());
}

}  // namespace
}  // namespace agentfs
