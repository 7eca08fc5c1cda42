// SPDX-License-Identifier: Apache-2.0
//
// Killed processes, torn ends and damaged files: a store opens with a prefix of what was committed
// or reports the damage; it never crashes.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>

#include "tests/contract/child.h"
#include "tests/contract/store_rig.h"

namespace agentfs::test {
namespace {

constexpr uint64_t kRows = 20;

// Every row gets the number of the batch.
Batch BatchOf(int64_t number) {
  Batch batch;
  for (uint64_t i = 0; i < kRows; ++i) {
    batch.Put(kPairs, PairKey(i, i % 4), PairValue(number));
    batch.Put(kBlobs, KeyInt(i), Number(number),
              Buffer::Copy(std::string(3000, static_cast<char>('a' + number % 26))));
  }
  return batch;
}

class StoreDamageTest : public FileStoreTest {
 protected:
  void SetUp() override {}

  // A child commits batches 1, 2, ... and is killed while at it. Gives the number of the last
  // batch that it acknowledged.
  int64_t CommitUntilKilled(int64_t enough, Durability durability) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      auto store = OpenStore(GetParam(), file_);
      for (int64_t i = 1; store.ok() && (*store)->Commit(BatchOf(i), durability).ok(); ++i) {
        if (::write(ends[1], &i, sizeof i) != sizeof i) break;
      }
      ::_exit(1);
    }
    ::close(ends[1]);
    int64_t last = 0;
    int64_t number = 0;
    while (::read(ends[0], &number, sizeof number) == sizeof number) {
      last = number;
      if (last == enough) ::kill(child, SIGKILL);
    }
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return last;
  }

  // The number of the batch whose state the store shows; the test fails if it is a mixture.
  // 0: no rows. -1: the store reported damage, with an errno for that.
  static int64_t StateOf(StoreKind kind, const std::string& file) {
    auto store = OpenStore(kind, file);
    const auto damaged = [](int code) {
      EXPECT_TRUE(code == EBADMSG || code == EIO || code == EINVAL) << code;
      return int64_t{-1};
    };
    if (!store.ok()) return damaged(store.code());
    int64_t state = 0;
    uint64_t rows = 0;
    for (const TableId table : {kPairs, kBlobs}) {
      const auto result = (*store)->Scan({.table = table}, [&](const RowView& row) {
        const int64_t number = NumberIn(row.value);
        if (rows++ == 0) state = number;
        EXPECT_EQ(number, state);
        if (table == kBlobs) {
          EXPECT_EQ(row.blob, std::string(3000, static_cast<char>('a' + number % 26)));
        }
        return Visit::kContinue;
      });
      if (!result.ok()) return damaged(result.code());
    }
    EXPECT_TRUE(rows == 0 || rows == 2 * kRows) << rows;
    return state;
  }

  void CopyTo(const std::string& copy) const {
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::remove(copy + suffix);
      if (std::filesystem::exists(file_ + suffix)) {
        std::filesystem::copy_file(file_ + suffix, copy + suffix);
      }
    }
    for (const char* suffix : {"-shm", "-lock"}) std::filesystem::remove(copy + suffix);
  }
  // The file whose end a crash may tear.
  std::string TailOf(const std::string& file) const {
    return GetParam() == StoreKind::kSqlite ? file + "-wal" : file;
  }
};

TEST_P(StoreDamageTest, AcknowledgedBatchesSurviveAKilledProcess) {
  for (const Durability durability : {Durability::kNone, Durability::kSynced}) {
    std::filesystem::remove(file_);
    const int64_t last = CommitUntilKilled(10, durability);
    ASSERT_GE(last, 10);
    EXPECT_GE(StateOf(GetParam(), file_), last);
    for (const char* suffix : {"", "-wal", "-shm", "-lock"}) {
      std::filesystem::remove(file_ + suffix);
    }
  }
}

TEST_P(StoreDamageTest, ATornEndGivesAPrefixOrAnError) {
  const int64_t last = CommitUntilKilled(10, Durability::kSynced);
  ASSERT_GE(last, 10);
  const std::string copy = directory_.path() + "/copy";
  const uint64_t size = std::filesystem::file_size(TailOf(file_));
  std::mt19937_64 random(7);
  int prefixes = 0;
  for (int i = 0; i < 40; ++i) {
    CopyTo(copy);
    const uint64_t cut = random() % size;
    if (i % 2 == 0 || GetParam() == StoreKind::kLmdb) {
      std::filesystem::resize_file(TailOf(copy), cut);
    } else {
      // The blocks behind `cut` never reached the disk.
      std::string bytes = ReadFile(TailOf(copy));
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(cut), bytes.end(), '\0');
      WriteFile(TailOf(copy), bytes);
    }
    const int64_t state = StateOf(GetParam(), copy);
    EXPECT_LE(state, last + 1);
    prefixes += state >= 0 ? 1 : 0;
  }
  // SQLite's WAL has checksums: a torn end is cut off, never an error.
  if (GetParam() == StoreKind::kSqlite) {
    EXPECT_EQ(prefixes, 40);
  }
}

TEST_P(StoreDamageTest, ADamagedFileIsReported) {
  {
    auto store = OpenStore(GetParam(), file_);
    ASSERT_TRUE(store.ok());
    Batch batch;
    for (uint64_t i = 0; i < 5000; ++i) batch.Put(kPairs, PairKey(i, i), PairValue(1, "a note"));
    ASSERT_TRUE((*store)->Commit(batch, Durability::kSynced).ok());
    ASSERT_TRUE((*store)->Close().ok());
  }
  std::string bytes = ReadFile(file_);
  if (GetParam() == StoreKind::kSqlite) {
    // All pages but the first, which names the tables.
    std::fill(bytes.begin() + 16384, bytes.end(), '\x5a');
  } else {
    bytes.resize(bytes.size() / 2);
  }
  WriteFile(file_, bytes);
  auto store = OpenStore(GetParam(), file_);
  Result<void> result;
  if (store.ok()) {
    result = (*store)->Scan({.table = kPairs}, [](const RowView&) { return Visit::kContinue; });
  } else {
    result = Error(store.error());
  }
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(result.code() == EBADMSG || result.code() == EIO) << result.error().message();
  EXPECT_NE(result.error().message().find(file_), std::string::npos) << result.error().message();
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreDamageTest,
                         testing::Values(StoreKind::kSqlite, StoreKind::kLmdb),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace agentfs::test
