// SPDX-License-Identifier: Apache-2.0
//
// Damage to rows of nodes and entries: found, survived, repaired.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "agentfs/files.h"
#include "core/records.h"
#include "core_rig.h"

namespace agentfs {
namespace {

using testing::Contains;
using testing::HasSubstr;

class FsckTest : public CoreTest {
 protected:
  FsckTest() { CoreTest::Open(Backing::kSqlite); }

  NodeId NodeOf(const std::string& path) { return Get(Branch()->Stat(path)).node; }
  LayerId Head(const std::string& branch = "main") {
    for (const BranchInfo& info : volume().ListBranches()) {
      if (info.name == branch) return info.layer;
    }
    return LayerId();
  }

  // Changes rows behind the volume's back, then opens it again.
  void PutEntry(NodeId parent, std::string_view name, NodeId node, uint32_t type = S_IFDIR) {
    batch_.Put(tables::kEntries, EntryKey(parent, name, Head()), EncodeEntry({node, type}));
  }
  void DeleteEntry(NodeId parent, std::string_view name) {
    batch_.Delete(tables::kEntries, EntryKey(parent, name, Head()));
  }
  void DeleteNode(NodeId node, LayerId layer) {
    batch_.Delete(tables::kNodes, NodeKey(node, layer));
  }
  void Damage() {
    Flush();
    Get(store().Commit(batch_, Durability::kSynced));
    batch_ = Batch();
    Reopen();
  }

  std::vector<std::string> Problems() {
    std::vector<std::string> problems;
    for (const FsckProblem& problem : Get(volume().Check(false)).problems) {
      problems.push_back(problem.what);
    }
    return problems;
  }
  void Repair() {
    for (const FsckProblem& problem : Get(volume().Check(true)).problems) {
      EXPECT_TRUE(problem.repaired) << problem.what;
    }
    ExpectClean();
    Reopen();
    ExpectClean();
  }
  Files OpenFiles(std::string_view branch = "main") {
    return Files(Get(volume().OpenBranch(branch)));
  }
  static Result<void> Walk(const Files& files) {
    return files.Walk("/", [](const FileEntry&) { return Visit::kContinue; });
  }

 private:
  Batch batch_;
};

TEST_F(FsckTest, ADirectoryBelowItselfEndsWalksAndIsCut) {
  Get(Branch()->MakeDirectory("a", 0755));
  Get(Branch()->MakeDirectory("a/b", 0755));
  Get(Branch()->MakeDirectory("a/b/kept", 0755));
  PutEntry(NodeOf("a/b"), "up", NodeOf("a"));
  Damage();
  {
    const Files files = OpenFiles();
    const Result<void> walked = Walk(files);
    EXPECT_EQ(walked.code(), ELOOP);
    EXPECT_THAT(walked.error().message(), HasSubstr("'a/b/up'"));
    EXPECT_THAT(walked.error().remedy(), HasSubstr("fsck --repair"));
    EXPECT_EQ(files.Copy("/a", "/copy", Recursion::kYes).code(), ELOOP);
    EXPECT_EQ(files.Move("/a/b/kept", "/a/b/up/moved").code(), 0);
    EXPECT_EQ(files.Delete("/a", Recursion::kYes).code(), ELOOP);
  }
  EXPECT_THAT(Problems(), Contains(HasSubstr("a directory below itself")));
  Repair();
  const Files files = OpenFiles();
  EXPECT_TRUE(Walk(files).ok());
  EXPECT_TRUE(files.Exists("/a/b"));
  EXPECT_FALSE(files.Exists("/a/b/up"));
}

TEST_F(FsckTest, ADirectoryThatNamesItselfCanNeitherBeRemovedNorMovedByThatName) {
  Get(Branch()->MakeDirectory("a", 0755));
  PutEntry(NodeOf("a"), "self", NodeOf("a"));
  PutEntry(kRootNode, "root", kRootNode);
  Damage();
  {
    const Files files = OpenFiles();
    EXPECT_EQ(files.Delete("/a/self").code(), ELOOP);
    EXPECT_EQ(files.Move("/a/self", "/a/other").code(), ELOOP);
    EXPECT_EQ(Walk(files).code(), ELOOP);
  }
  Repair();
  EXPECT_EQ(Get(OpenFiles().ListNames("/")), std::vector<std::string>{"a"});
  EXPECT_TRUE(Get(OpenFiles().ListNames("/a")).empty());
}

TEST_F(FsckTest, ADirectoryWithTwoNamesKeepsTheOneThatItKnows) {
  Get(Branch()->MakeDirectory("a", 0755));
  Get(Branch()->MakeDirectory("b", 0755));
  Get(Branch()->MakeDirectory("b/inner", 0755));
  PutEntry(NodeOf("a"), "again", NodeOf("b/inner"));
  Damage();
  EXPECT_THAT(Problems(), Contains(HasSubstr("'again'")));
  Repair();
  EXPECT_TRUE(OpenFiles().Exists("/b/inner"));
  EXPECT_FALSE(OpenFiles().Exists("/a/again"));
}

TEST_F(FsckTest, ACycleThatNothingLeadsToIsRemoved) {
  Get(Branch()->MakeDirectory("a", 0755));
  Get(Branch()->MakeDirectory("a/b", 0755));
  PutEntry(NodeOf("a/b"), "up", NodeOf("a"));
  DeleteEntry(kRootNode, "a");
  Damage();
  EXPECT_THAT(Problems(), Contains(HasSubstr("cannot be reached")));
  Repair();
  EXPECT_EQ(Rows(tables::kNodes), 2u);  // the root, in two layers
  EXPECT_EQ(Rows(tables::kEntries), 0u);
}

TEST_F(FsckTest, WhatABranchLostStaysInItsSnapshot) {
  Get(Branch()->MakeDirectory("d", 0755));
  Get(OpenFiles().WriteBytes("/d/f", "content"));
  Get(volume().CreateSnapshot("main", "s", "", Durability::kSynced));
  Get(Branch()->MakeDirectory("other", 0755));
  PutEntry(kRootNode, "d", NodeId(), 0);  // the name is gone, the node is not
  Damage();
  EXPECT_THAT(Problems(), Contains(HasSubstr("cannot be reached")));
  Repair();
  EXPECT_FALSE(OpenFiles().Exists("/d"));
  EXPECT_EQ(Get(Files(Get(volume().OpenSnapshot("s"))).ReadBytes("/d/f")), "content");
}

TEST_F(FsckTest, ANameOfARemovedFileIsRemovedToo) {
  Get(OpenFiles().WriteBytes("/f", "content"));
  Get(volume().CreateSnapshot("main", "s", "", Durability::kSynced));
  Get(OpenFiles().Delete("/f"));
  DeleteEntry(kRootNode, "f");  // the whiteout
  Damage();
  EXPECT_THAT(Problems(), Contains(HasSubstr("has removed")));
  Repair();
  EXPECT_TRUE(Get(OpenFiles().ListNames("/")).empty());
  EXPECT_EQ(Get(Files(Get(volume().OpenSnapshot("s"))).ReadBytes("/f")), "content");
}

TEST_F(FsckTest, ADirectoryWhoseRowIsLostKeepsWhatIsInIt) {
  Get(OpenFiles().CreateDirectories("/d/e"));
  Get(OpenFiles().WriteBytes("/d/e/f", "content"));
  const NodeId lost = NodeOf("d");
  DeleteNode(lost, Head());
  DeleteNode(kRootNode, Head());
  DeleteNode(kRootNode, LayerId(1));
  Damage();
  EXPECT_THAT(Problems(), Contains(HasSubstr("is lost")));
  Repair();
  EXPECT_EQ(Get(OpenFiles().ReadBytes("/d/e/f")), "content");
}

TEST_F(FsckTest, LinkCountsAreCorrectedForTheBranchThatIsWrong) {
  Get(OpenFiles().WriteBytes("/f", "content"));
  Get(OpenFiles().CreateHardLink("/f", "/g"));
  Get(volume().CreateSnapshot("main", "s", "", Durability::kSynced));
  Get(Branch()->MakeDirectory("other", 0755));
  PutEntry(kRootNode, "g", NodeId(), 0);
  Damage();
  EXPECT_THAT(Problems(), Contains(HasSubstr("1 names but a link count of 2")));
  Repair();
  EXPECT_EQ(Get(Branch()->Stat("f")).nlink, 1u);
  EXPECT_EQ(Get(Snapshot("s")->Stat("f")).nlink, 2u);
}

}  // namespace
}  // namespace agentfs
