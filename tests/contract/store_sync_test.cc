// SPDX-License-Identifier: Apache-2.0
//
// Counts the real syncs behind commits. The functions below take the place of libc's in the whole
// program, the libraries of the stores included.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "tests/contract/store_rig.h"

namespace {

std::atomic<int> g_syncs{0};
std::atomic<int> g_error{0};

int CountSync(const char* name, int fd) {
  ++g_syncs;
  if (const int error = g_error) {
    errno = error;
    return -1;
  }
  return reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, name))(fd);
}

}  // namespace

extern "C" {
int fsync(int fd) { return CountSync("fsync", fd); }
int fdatasync(int fd) { return CountSync("fdatasync", fd); }
}

namespace agentfs::test {
namespace {

class StoreSyncTest : public FileStoreTest {
 protected:
  void TearDown() override { g_error = 0; }
  static Batch OneRow(int64_t number) {
    Batch batch;
    batch.Put(kPairs, PairKey(1, 1), PairValue(number));
    return batch;
  }
  // The syncs during a commit that must succeed.
  int SyncsOf(const Batch& batch, Durability durability) {
    const int before = g_syncs;
    Commit(batch, durability);
    return g_syncs - before;
  }
};

TEST_P(StoreSyncTest, EverySyncedCommitSyncs) {
  for (int64_t i = 0; i < 20; ++i) {
    EXPECT_GE(SyncsOf(OneRow(i), Durability::kSynced), 1) << i;
  }
}

TEST_P(StoreSyncTest, AnEmptySyncedCommitSyncsWhatCameBefore) {
  EXPECT_GE(SyncsOf(Batch(), Durability::kSynced), 1) << "a killed process may have left some";
  for (int64_t i = 0; i < 5; ++i) {
    Commit(OneRow(i), Durability::kNone);
    EXPECT_GE(SyncsOf(Batch(), Durability::kSynced), 1) << i;
  }
}

TEST_P(StoreSyncTest, UnsyncedCommitsOfSqliteDoNotSync) {
  if (GetParam() != StoreKind::kSqlite) {
    GTEST_SKIP() << "LMDB syncs its pages in every commit, to stay whole after a power cut";
  }
  Commit(OneRow(0), Durability::kSynced);
  for (int64_t i = 1; i < 20; ++i) EXPECT_EQ(SyncsOf(OneRow(i), Durability::kNone), 0) << i;
}

TEST_P(StoreSyncTest, AFailedSyncFailsTheCommitAndChangesNothing) {
  Commit(OneRow(1), Durability::kSynced);
  g_error = EIO;
  EXPECT_EQ(store_->Commit(OneRow(2), Durability::kSynced).code(), EIO);
  EXPECT_EQ(NumberAt(*store_, kPairs, PairKey(1, 1)), 1);
  g_error = 0;
  Commit(OneRow(3), Durability::kSynced);
  EXPECT_EQ(NumberAt(*store_, kPairs, PairKey(1, 1)), 3);
}

TEST_P(StoreSyncTest, CloseSyncs) {
  Commit(OneRow(1), Durability::kNone);
  const int before = g_syncs;
  ASSERT_TRUE(store_->Close().ok());
  EXPECT_GE(g_syncs - before, 1);
}

// Batches that make the WAL long, so that it is moved into the database and started anew.
TEST_P(StoreSyncTest, TheLogStaysBounded) {
  const Buffer blob = Buffer::Copy(std::string(1 << 20, 'w'));
  uint64_t most = 0;
  for (uint64_t round = 0; round < 30; ++round) {
    Batch batch;
    for (uint64_t i = 0; i < 8; ++i) {
      batch.Put(kBlobs, KeyInt(i), Number(static_cast<int64_t>(round)), blob);
    }
    Commit(batch);
    most = std::max(most, store_->GetUsage()->file_bytes);
  }
  // 240 MiB were written, 8 MiB are kept.
  EXPECT_LT(most, uint64_t{200} << 20);
  Reopen();
  EXPECT_EQ(NumberAt(*store_, kBlobs, KeyInt(7)), 29);
  EXPECT_LT(store_->GetUsage()->file_bytes, uint64_t{64} << 20);
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreSyncTest,
                         testing::Values(StoreKind::kSqlite, StoreKind::kLmdb),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace agentfs::test
