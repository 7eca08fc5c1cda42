// SPDX-License-Identifier: Apache-2.0
//
// Damage to the tables without which a volume cannot be opened.
#include <gmock/gmock.h>

#include <functional>

#include "agentfs/files.h"
#include "agentfs/stores.h"
#include "core/content_layout.h"
#include "core/records.h"
#include "core_rig.h"

namespace agentfs {
namespace {

using testing::Contains;
using testing::HasSubstr;

// main and the branch "work" on the snapshot "s", each with a file of its own.
class TableMenderTest : public CoreTest {
 protected:
  TableMenderTest() {
    CoreTest::Open(Backing::kSqlite);
    Write("main", "/shared");
    Get(volume().CreateSnapshot("main", "s", "", Durability::kSynced));
    Get(volume().CreateBranch("work", "s"));
    Write("main", "/in-main");
    Write("work", "/in-work");
    for (const BranchInfo& info : volume().ListBranches()) {
      (info.name == "main" ? main_ : work_) = info.layer;
    }
    sealed_ = volume().ListSnapshots()[0].layer;
  }

  void Write(const char* branch, const char* path) {
    Get(Files(Get(volume().OpenBranch(branch))).WriteBytes(path, path));
  }
  std::vector<std::string> Names(const char* ref) {
    auto view = volume().OpenBranch(ref);
    return Get(Files(view.ok() ? *view : Get(volume().OpenSnapshot(ref))).ListNames("/"));
  }

  // Changes rows, shows that the volume cannot be opened, and repairs it. Gives what was found.
  std::vector<std::string> DamageAndRepair(const std::function<void(Batch&)>& damage) {
    Flush();
    Close();
    std::vector<std::string> found;
    {
      auto raw = Get(OpenSqliteStore(state() + "/volume.sqlite", VolumeSchema()));
      Batch batch;
      damage(batch);
      Get(raw->Commit(batch, Durability::kSynced));
      Get(raw->Close());
    }
    const auto refused = TryOpen();
    EXPECT_EQ(refused.code(), EBADMSG);
    if (!refused.ok()) {
      EXPECT_THAT(std::string(refused.error().remedy()), HasSubstr("fsck --repair"));
    }
    auto raw = Get(OpenSqliteStore(state() + "/volume.sqlite", VolumeSchema()));
    for (const FsckProblem& problem : Get(CheckVolumeTables(*raw, false)).problems) {
      EXPECT_FALSE(problem.repaired);
    }
    const FsckReport report = Get(CheckVolumeTables(*raw, true));
    for (const FsckProblem& problem : report.problems) {
      EXPECT_TRUE(problem.repaired) << problem.what;
      found.push_back(problem.what);
    }
    EXPECT_TRUE(Get(CheckVolumeTables(*raw, false)).clean()) << "once is enough";
    Get(raw->Close());
    CoreTest::Open(Backing::kSqlite);
    for (const FsckProblem& problem : Get(volume().Check(true)).problems) {
      EXPECT_TRUE(problem.repaired) << problem.what;
    }
    ExpectClean();
    return found;
  }
  Result<void> TryOpen() {
    auto store = Get(OpenSqliteStore(state() + "/volume.sqlite", VolumeSchema()));
    auto blobs = Get(OpenHostBlobStore(state() + "/objects"));
    auto opened = Volume::Open(std::move(store), std::move(blobs), nullptr, options_);
    if (!opened.ok()) return opened.error();
    return (*opened)->Close();
  }

  LayerId main_, work_, sealed_;
};

using Strings = std::vector<std::string>;

TEST_F(TableMenderTest, ASoundVolumeIsClean) {
  Flush();
  EXPECT_TRUE(Get(CheckVolumeTables(store(), false)).clean());
}

TEST_F(TableMenderTest, AnEmptyStoreIsClean) {
  auto empty = Get(OpenMemoryStore(VolumeSchema()));
  EXPECT_TRUE(Get(CheckVolumeTables(*empty, true)).clean());
}

TEST_F(TableMenderTest, TheChangesOfABranchWhoseLayerIsWrongGetAnotherName) {
  const auto found = DamageAndRepair([&](Batch& batch) {
    batch.Put(tables::kBranches, NameKey("work"), EncodeBranch(LayerId(999), 1));
  });
  EXPECT_THAT(found, Contains(HasSubstr("branch 'work'")));
  EXPECT_EQ(volume().OpenBranch("work").code(), ENOENT);
  const std::string name = "recovered-" + std::to_string(work_.value);
  EXPECT_EQ(Names(name.c_str()), (Strings{"in-work", "shared"}));
  EXPECT_EQ(Names("main"), (Strings{"in-main", "shared"}));
}

TEST_F(TableMenderTest, ALostMainIsMadeAnewAndItsChangesAreKept) {
  const auto found =
      DamageAndRepair([&](Batch& batch) { batch.Delete(tables::kBranches, NameKey("main")); });
  EXPECT_THAT(found, Contains(HasSubstr("'main' is lost")));
  EXPECT_TRUE(Names("main").empty());
  const std::string name = "recovered-" + std::to_string(main_.value);
  EXPECT_EQ(Names(name.c_str()), (Strings{"in-main", "shared"}));
  Write("main", "/again");
  Reopen();
  ExpectClean();
}

TEST_F(TableMenderTest, ALostLayerOfABranchKeepsItsChanges) {
  const auto found =
      DamageAndRepair([&](Batch& batch) { batch.Delete(tables::kLayers, LayerKey(main_)); });
  EXPECT_THAT(found, Contains(HasSubstr("is lost")));
  // What it stood on is told by the nodes that it changed, here the root: born in layer 1.
  EXPECT_THAT(Names("main"), Contains("in-main"));
  EXPECT_EQ(Names("work"), (Strings{"in-work", "shared"}));
}

TEST_F(TableMenderTest, ALostLayerInTheMiddleKeepsAllBranches) {
  DamageAndRepair([&](Batch& batch) { batch.Delete(tables::kLayers, LayerKey(sealed_)); });
  EXPECT_EQ(Names("main"), (Strings{"in-main", "shared"}));
  EXPECT_EQ(Names("work"), (Strings{"in-work", "shared"}));
  EXPECT_EQ(Names("s"), (Strings{"shared"}));
}

TEST_F(TableMenderTest, TheFirstLayerCanBeLost) {
  DamageAndRepair([&](Batch& batch) { batch.Delete(tables::kLayers, LayerKey(LayerId(1))); });
  EXPECT_EQ(Names("main"), (Strings{"in-main", "shared"}));
}

TEST_F(TableMenderTest, AllLayersCanBeLost) {
  DamageAndRepair([&](Batch& batch) {
    for (uint64_t i = 1; i < 20; ++i) batch.Delete(tables::kLayers, LayerKey(LayerId(i)));
  });
  EXPECT_THAT(Names("main"), Contains("in-main"));
  EXPECT_THAT(Names("work"), Contains("in-work"));
}

TEST_F(TableMenderTest, ALayerOnAYoungerOneIsPutWhereItStood) {
  LayerRecord record;
  record.parent = LayerId(main_.value + 5);
  DamageAndRepair(
      [&](Batch& batch) { batch.Put(tables::kLayers, LayerKey(main_), EncodeLayer(record)); });
  EXPECT_THAT(Names("main"), Contains("in-main"));
}

TEST_F(TableMenderTest, ABranchOnASealedLayerGetsAnOpenOne) {
  DamageAndRepair([&](Batch& batch) {
    batch.Put(tables::kBranches, NameKey("main"), EncodeBranch(sealed_, 1));
  });
  EXPECT_EQ(Names("main"), (Strings{"shared"}));
  Write("main", "/new");
  EXPECT_EQ(Names("s"), (Strings{"shared"}));
}

TEST_F(TableMenderTest, ASnapshotWithoutALayerIsRemoved) {
  const auto found = DamageAndRepair([&](Batch& batch) {
    batch.Put(tables::kSnapshots, SnapshotKey(1),
              EncodeSnapshot({"s", LayerId(999), "main", "", 1}));
  });
  EXPECT_THAT(found, Contains(HasSubstr("snapshot 's'")));
  EXPECT_TRUE(volume().ListSnapshots().empty());
  EXPECT_EQ(Names("main"), (Strings{"in-main", "shared"}));
}

TEST_F(TableMenderTest, DamagedCountersAreFoundAnew) {
  DamageAndRepair([&](Batch& batch) {
    for (const char* name : {"next_node", "next_layer", "next_content", "node_records"}) {
      batch.Put(tables::kMeta, NameKey(name), EncodeInt(-5));
    }
  });
  Get(volume().CreateSnapshot("main", "after", "", Durability::kSynced));
  Write("main", "/new");
  EXPECT_EQ(Names("main"), (Strings{"in-main", "new", "shared"}));
  EXPECT_EQ(Names("work"), (Strings{"in-work", "shared"}));
  ExpectClean();
}

TEST_F(TableMenderTest, ALostChunkSizeIsTakenFromTheChunks) {
  const std::string large = posix::Pattern(60'000);
  Get(Files(Get(volume().OpenBranch("main"))).WriteBytes("/large", large));
  DamageAndRepair(
      [&](Batch& batch) { batch.Put(tables::kMeta, NameKey(kChunkSizeName), EncodeInt(12345)); });
  EXPECT_EQ(Get(Files(Get(volume().OpenBranch("main"))).ReadBytes("/large")), large);
  ExpectClean();
}

}  // namespace
}  // namespace agentfs
