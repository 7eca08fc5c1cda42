// SPDX-License-Identifier: Apache-2.0
//
// Files that are missing, foreign, newer, read-only or on a full disk.
#include <lmdb.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/contract/child.h"
#include "tests/contract/store_rig.h"

namespace agentfs::test {
namespace {

// Opens nothing by itself: some of these tests fork.
class StoreFileTest : public FileStoreTest {
 protected:
  void SetUp() override {}

  // Makes the file, with one row, and closes it.
  void Create(const Schema& schema = TestSchema()) {
    auto store = OpenStore(GetParam(), file_, {}, schema);
    ASSERT_TRUE(store.ok()) << store.error().message();
    Batch batch;
    batch.Put(kPairs, PairKey(1, 1), PairValue(5));
    ASSERT_TRUE((*store)->Commit(batch, Durability::kSynced).ok());
    ASSERT_TRUE((*store)->Close().ok());
  }

  // Expects Open to fail with `code`, to name the file, and to leave it as it is.
  void ExpectRefused(int code, const StoreOptions& options = {}) {
    const std::string before = ReadFile(file_);
    const auto store = OpenStore(GetParam(), file_, options);
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.code(), code) << store.error().message();
    EXPECT_NE(store.error().message().find(file_), std::string::npos) << store.error().message();
    EXPECT_EQ(ReadFile(file_), before);
  }
};

TEST_P(StoreFileTest, AMissingFileIsMadeOnlyIfAllowed) {
  EXPECT_EQ(OpenStore(GetParam(), file_, {.create = false}).code(), ENOENT);
  EXPECT_EQ(OpenStore(GetParam(), file_, {.read_only = true}).code(), ENOENT);
  EXPECT_FALSE(std::filesystem::exists(file_));
  Create();
  EXPECT_TRUE(OpenStore(GetParam(), file_, {.create = false}).ok());
  const std::string nowhere = directory_.path() + "/no/such/store";
  EXPECT_EQ(OpenStore(GetParam(), nowhere).code(), ENOENT);
}

TEST_P(StoreFileTest, AnEmptyFileBecomesAStore) {
  WriteFile(file_, "");
  Create();
  auto store = OpenStore(GetParam(), file_);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(NumberAt(**store, kPairs, PairKey(1, 1)), 5);
}

TEST_P(StoreFileTest, AFileThatIsNoDatabaseIsRefusedAndUntouched) {
  for (const std::string& bytes : {std::string("x"), std::string("hello, this is text\n"),
                                   std::string(100000, 'y'), std::string(5000, '\0')}) {
    WriteFile(file_, bytes);
    ExpectRefused(EINVAL);
    ExpectRefused(EINVAL, {.read_only = true});
  }
}

TEST_P(StoreFileTest, ADirectoryIsRefused) {
  ASSERT_TRUE(std::filesystem::create_directory(file_));
  EXPECT_EQ(OpenStore(GetParam(), file_).code(), EISDIR);
}

TEST_P(StoreFileTest, AnotherProgramsDatabaseIsRefusedAndUntouched) {
  if (GetParam() == StoreKind::kSqlite) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file_.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, "CREATE TABLE t (a)", nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(db);
  } else {
    MDB_env* env = nullptr;
    MDB_txn* txn = nullptr;
    MDB_dbi dbi = 0;
    ASSERT_EQ(mdb_env_create(&env), 0);
    ASSERT_EQ(mdb_env_open(env, file_.c_str(), MDB_NOSUBDIR, 0600), 0);
    ASSERT_EQ(mdb_txn_begin(env, nullptr, 0, &txn), 0);
    ASSERT_EQ(mdb_dbi_open(txn, nullptr, 0, &dbi), 0);
    MDB_val key{1, const_cast<char*>("k")}, data{1, const_cast<char*>("v")};
    ASSERT_EQ(mdb_put(txn, dbi, &key, &data, 0), 0);
    ASSERT_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
  }
  ExpectRefused(EINVAL);
}

TEST_P(StoreFileTest, ANewerVersionIsRefusedAndUntouched) {
  Create(NewerTestSchema());
  ExpectRefused(EPROTONOSUPPORT);
  ExpectRefused(EPROTONOSUPPORT, {.read_only = true});
  auto store = OpenStore(GetParam(), file_, {}, NewerTestSchema());
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(NumberAt(**store, kPairs, PairKey(1, 1)), 5);
}

TEST_P(StoreFileTest, AnOlderVersionGetsTheTablesThatItLacks) {
  Create();
  {
    auto store = OpenStore(GetParam(), file_, {}, GrownTestSchema());
    ASSERT_TRUE(store.ok()) << store.error().message();
    EXPECT_EQ(NumberAt(**store, kPairs, PairKey(1, 1)), 5);
    Batch batch;
    batch.Put(kAdded, PairKey(1, 2), PairValue(7));
    ASSERT_TRUE((*store)->Commit(batch, Durability::kSynced).ok());
    EXPECT_EQ(KeysOf(**store, {.table = kAdded, .by_index = true}).size(), 1u);
  }
  auto store = OpenStore(GetParam(), file_, {.read_only = true}, GrownTestSchema());
  ASSERT_TRUE(store.ok()) << store.error().message();
  EXPECT_EQ(NumberAt(**store, kAdded, PairKey(1, 2)), 7);
  store = Error(EBADF);
  ExpectRefused(EPROTONOSUPPORT);  // by who knows only the first version
}

TEST_P(StoreFileTest, AnOlderVersionOpenReadOnlyStaysAsItIs) {
  Create();
  const std::string before = ReadFile(file_);
  {
    auto store = OpenStore(GetParam(), file_, {.read_only = true}, GrownTestSchema());
    ASSERT_TRUE(store.ok()) << store.error().message();
    EXPECT_EQ(NumberAt(**store, kPairs, PairKey(1, 1)), 5);
    EXPECT_EQ(NumberAt(**store, kAdded, PairKey(1, 1)), -1);
    EXPECT_TRUE(KeysOf(**store, {.table = kAdded}).empty());
    EXPECT_TRUE(KeysOf(**store, {.table = kAdded, .by_index = true}).empty());
  }
  EXPECT_EQ(ReadFile(file_), before);
}

TEST_P(StoreFileTest, OpenReadOnlyReadsAndRefusesCommits) {
  Create();
  const std::string before = ReadFile(file_);
  {
    auto store = OpenStore(GetParam(), file_, {.read_only = true});
    ASSERT_TRUE(store.ok()) << store.error().message();
    EXPECT_EQ(NumberAt(**store, kPairs, PairKey(1, 1)), 5);
    EXPECT_EQ(KeysOf(**store, {.table = kPairs, .by_index = true}).size(), 1u);
    Batch batch;
    batch.Put(kPairs, PairKey(2, 2), PairValue(1));
    EXPECT_EQ((*store)->Commit(batch, Durability::kNone).code(), EROFS);
    EXPECT_TRUE((*store)->Commit(Batch(), Durability::kNone).ok() ||
                GetParam() == StoreKind::kSqlite);
    EXPECT_TRUE((*store)->Close().ok());
  }
  EXPECT_EQ(ReadFile(file_), before);
}

TEST_P(StoreFileTest, AFileWithoutWritePermissionIsRefusedAndCanBeRead) {
  Create();
  // A lock file of another user would not help either.
  std::filesystem::remove(file_ + "-lock");
  ASSERT_EQ(::chmod(file_.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0555), 0);
  const std::string problem = RunInChild([&]() -> std::string {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) return "cannot become another user";
    const auto writable = OpenStore(GetParam(), file_);
    if (writable.code() != EACCES) return "open gave " + std::to_string(writable.code());
    auto store = OpenStore(GetParam(), file_, {.read_only = true});
    if (!store.ok()) return store.error().message();
    if (NumberAt(**store, kPairs, PairKey(1, 1)) != 5) return "the row is not there";
    return "";
  });
  EXPECT_EQ(problem, "");
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
}

TEST_P(StoreFileTest, AReadOnlyFilesystemGivesErofsAndCanBeRead) {
  const std::string mount = directory_.path() + "/mount";
  ASSERT_TRUE(std::filesystem::create_directory(mount));
  file_ = mount + "/store";
  const std::string problem = RunInChild([&]() -> std::string {
    if (!MountTmpfs(mount, 8192)) return kCannotMount;
    Create();
    if (HasFailure()) return "could not create the store";
    if (!RemountReadOnly(mount)) return kCannotMount;
    const auto writable = OpenStore(GetParam(), file_);
    if (writable.code() != EROFS) return "open gave " + std::to_string(writable.code());
    auto store = OpenStore(GetParam(), file_, {.read_only = true});
    if (!store.ok()) return store.error().message();
    if (NumberAt(**store, kPairs, PairKey(1, 1)) != 5) return "the row is not there";
    return "";
  });
  if (problem == kCannotMount) GTEST_SKIP() << "mounting needs root";
  EXPECT_EQ(problem, "");
}

// Commits rows of 64 KiB until the disk is full.
std::string FillDisk(Store& store, uint64_t* rows) {
  const std::string bytes(65536, 'f');
  for (*rows = 0; *rows < 1000; ++*rows) {
    Batch batch;
    batch.Put(kBlobs, KeyInt(*rows), Number(1), Buffer::Copy(bytes));
    batch.Put(kPairs, PairKey(*rows, 1), PairValue(1));
    const auto result = store.Commit(batch, Durability::kSynced);
    if (result.code() == ENOSPC) return "";
    if (!result.ok()) return result.error().message();
  }
  return "the disk did not get full";
}

TEST_P(StoreFileTest, AFullDiskGivesEnospcAndKeepsWhatWasCommitted) {
  const std::string mount = directory_.path() + "/mount";
  ASSERT_TRUE(std::filesystem::create_directory(mount));
  file_ = mount + "/store";
  const std::string problem = RunInChild([&]() -> std::string {
    if (!MountTmpfs(mount, 8192)) return kCannotMount;
    WriteFile(mount + "/filler", std::string(2 << 20, 'x'));
    auto store = OpenStore(GetParam(), file_);
    if (!store.ok()) return store.error().message();
    uint64_t rows = 0;
    if (std::string error = FillDisk(**store, &rows); !error.empty()) return error;
    if (rows < 5) return "full too early";
    const auto check = [&](size_t expected) -> std::string {
      const size_t blobs = KeysOf(**store, {.table = kBlobs}).size();
      const size_t pairs = KeysOf(**store, {.table = kPairs}).size();
      if (blobs == expected && pairs == expected) return "";
      return std::to_string(blobs) + " and " + std::to_string(pairs) + " rows, not " +
             std::to_string(expected);
    };
    if (std::string error = check(rows); !error.empty()) return error;
    std::filesystem::remove(mount + "/filler");
    Batch batch;
    batch.Put(kBlobs, KeyInt(rows), Number(1), Buffer::Copy("small"));
    batch.Put(kPairs, PairKey(rows, 1), PairValue(1));
    const auto result = (*store)->Commit(batch, Durability::kSynced);
    if (!result.ok()) return "after freeing space: " + result.error().message();
    return check(rows + 1);
  });
  if (problem == kCannotMount) GTEST_SKIP() << "mounting needs root";
  EXPECT_EQ(problem, "");
}

TEST_P(StoreFileTest, TablesCanBeQueriedWithSql) {
  if (GetParam() != StoreKind::kSqlite) GTEST_SKIP() << "LMDB has no SQL";
  auto store = OpenStore(GetParam(), file_);
  ASSERT_TRUE(store.ok());
  Batch batch;
  batch.Put(kNames, KeyWriter().Int(1).Bytes("a.c").Int(4).Take(), Number(17));
  ASSERT_TRUE((*store)->Commit(batch, Durability::kNone).ok());
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open_v2(file_.c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(
      sqlite3_prepare_v2(db, "SELECT node FROM names WHERE name = 'a.c'", -1, &statement, nullptr),
      SQLITE_OK);
  EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
  EXPECT_EQ(sqlite3_column_int(statement, 0), 17);
  sqlite3_finalize(statement);
  sqlite3_close(db);
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreFileTest,
                         testing::Values(StoreKind::kSqlite, StoreKind::kLmdb),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace agentfs::test
