// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <thread>

#include "agentfs/blob_store.h"
#include "scratch.h"

namespace agentfs {
namespace {

size_t OpenDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

std::string Read(BlobObject& object, uint64_t offset, size_t size) {
  std::string out(size, '?');
  auto done = object.Read(offset, out);
  EXPECT_TRUE(done.ok()) << done.error().message();
  return out;
}

enum class Kind { kHost, kTemporary };

class BlobStoreTest : public testing::TestWithParam<Kind> {
 protected:
  BlobStoreTest() {
    auto store = GetParam() == Kind::kHost ? OpenHostBlobStore(host_ / "objects")
                                           : OpenTemporaryBlobStore(host_.path());
    EXPECT_TRUE(store.ok());
    if (store.ok()) store_ = std::move(store).value();
  }

  std::shared_ptr<BlobObject> Create(uint64_t id) {
    auto object = store_->Create(ObjectId(id));
    EXPECT_TRUE(object.ok()) << id << ": " << object.error().message();
    return object.ok() ? *object : nullptr;
  }

  std::map<uint64_t, uint64_t> List() {
    std::map<uint64_t, uint64_t> all;
    EXPECT_TRUE(store_->List([&](ObjectId id, uint64_t bytes) { all[id.value] = bytes; }).ok());
    return all;
  }

  Scratch host_;
  std::unique_ptr<BlobStore> store_;
};

INSTANTIATE_TEST_SUITE_P(All, BlobStoreTest, testing::Values(Kind::kHost, Kind::kTemporary),
                         [](const auto& info) {
                           return info.param == Kind::kHost ? "Host" : "Temporary";
                         });

TEST_P(BlobStoreTest, WhatIsWrittenIsReadAndTheRestIsZeros) {
  auto object = Create(1);
  ASSERT_TRUE(object->Write(10000, std::string_view("hello")).ok());
  EXPECT_EQ(Read(*object, 10000, 5), "hello");
  EXPECT_EQ(Read(*object, 9998, 9), std::string("\0\0hello\0\0", 9));
  EXPECT_EQ(Read(*object, uint64_t{1} << 40, 3), std::string(3, '\0'));
  ASSERT_TRUE(object->Write(10002, std::string_view("LL")).ok());
  EXPECT_EQ(Read(*object, 10000, 5), "heLLo");
}

TEST_P(BlobStoreTest, CreateIsExclusiveAndOpenNeedsTheObject) {
  auto object = Create(7);
  EXPECT_EQ(store_->Create(ObjectId(7)).code(), EEXIST);
  EXPECT_EQ(store_->Open(ObjectId(8)).code(), ENOENT);
  ASSERT_TRUE(object->Write(0, std::string_view("x")).ok());
  object.reset();
  EXPECT_EQ(store_->Create(ObjectId(7)).code(), EEXIST);
  auto again = store_->Open(ObjectId(7));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(Read(**again, 0, 1), "x");
}

TEST_P(BlobStoreTest, PunchFreesSpaceAndReadsAsZeros) {
  auto object = Create(1);
  ASSERT_TRUE(object->Write(0, std::string(1 << 20, 'x')).ok());
  ASSERT_TRUE(object->Sync().ok());
  uint64_t before = *object->StoredBytes();
  ASSERT_TRUE(object->Punch(4096, (1 << 20) - 8192).ok());
  EXPECT_EQ(Read(*object, 4095, 2), std::string("x\0", 2));
  EXPECT_EQ(Read(*object, (1 << 20) - 4097, 2), std::string("\0x", 2));
  EXPECT_LT(*object->StoredBytes(), before);
  ASSERT_TRUE(object->Punch(0, UINT64_MAX).ok());
  EXPECT_EQ(Read(*object, 0, 1 << 20), std::string(1 << 20, '\0'));
}

TEST_P(BlobStoreTest, CloneRangeTakesOverARangeOfAHostFile) {
  std::string content;
  for (int i = 0; i < 30000; ++i) content += static_cast<char>(i * 7);
  WriteHostFile(host_ / "source", content);
  int source = ::open((host_ / "source").c_str(), O_RDONLY | O_CLOEXEC);
  auto object = Create(1);
  ASSERT_TRUE(object->Write(0, std::string(50000, 'o')).ok());
  ASSERT_TRUE(object->CloneRange(source, 100, 20000, 300).ok());
  EXPECT_EQ(Read(*object, 300, 20000), content.substr(100, 20000));
  EXPECT_EQ(Read(*object, 299, 1), "o");
  EXPECT_EQ(Read(*object, 20300, 1), "o");
  // What lies past the source's end is zeros, not what was there.
  ASSERT_TRUE(object->CloneRange(source, 29000, 5000, 40000).ok());
  EXPECT_EQ(Read(*object, 40000, 5000), content.substr(29000) + std::string(4000, '\0'));
  EXPECT_EQ(object->CloneRange(source, UINT64_MAX - 5, 10, 0).code(), EFBIG);
  ::close(source);
}

TEST_P(BlobStoreTest, CloneRangeKeepsHoles) {
  WriteHostFile(host_ / "sparse", "");
  ASSERT_EQ(::truncate((host_ / "sparse").c_str(), 64 << 20), 0);
  int source = ::open((host_ / "sparse").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::pwrite(source, "data", 4, 32 << 20), 4);
  auto object = Create(1);
  ASSERT_TRUE(object->CloneRange(source, 0, 64 << 20, 0).ok());
  EXPECT_EQ(Read(*object, 32 << 20, 5), std::string("data\0", 5));
  EXPECT_LT(*object->StoredBytes(), 1u << 20);
  ::close(source);
}

TEST_P(BlobStoreTest, AnObjectCanBeClonedFromAnother) {
  auto source = Create(1);
  ASSERT_TRUE(source->Write(0, std::string(10000, 's')).ok());
  auto target = Create(2);
  ASSERT_GE(source->descriptor(), 0);
  ASSERT_TRUE(target->CloneRange(source->descriptor(), 0, 10000, 0).ok());
  EXPECT_EQ(Read(*target, 0, 10000), std::string(10000, 's'));
}

TEST_P(BlobStoreTest, ListNamesAllObjectsWithTheirSpace) {
  for (uint64_t id : {1u, 2u, 255u, 256u, 65536u, 123456789u}) {
    ASSERT_TRUE(Create(id)->Write(0, std::string(100, 'x')).ok());
  }
  auto object = Create(uint64_t{1} << 62);
  auto all = List();
  EXPECT_EQ(all.size(), 7u);
  EXPECT_TRUE(all.contains(uint64_t{1} << 62));
  EXPECT_TRUE(all.contains(123456789));
}

TEST_P(BlobStoreTest, ARemovedObjectStaysReadableForItsHolder) {
  auto object = Create(5);
  ASSERT_TRUE(object->Write(0, std::string_view("still")).ok());
  ASSERT_TRUE(store_->Remove(ObjectId(5)).ok());
  ASSERT_TRUE(store_->Remove(ObjectId(5)).ok());
  EXPECT_EQ(store_->Open(ObjectId(5)).code(), ENOENT);
  EXPECT_TRUE(List().empty());
  // Not even under the pressure of many others, nor when the id is used again.
  auto second = Create(5);
  ASSERT_TRUE(second->Write(0, std::string_view("other")).ok());
  for (uint64_t id = 100; id < 1000; ++id) Create(id);
  EXPECT_EQ(Read(*object, 0, 5), "still");
  EXPECT_EQ(Read(*second, 0, 5), "other");
  object.reset();
  EXPECT_EQ(Read(**store_->Open(ObjectId(5)), 0, 5), "other");
}

TEST_P(BlobStoreTest, ManyHeldObjectsTakeFewDescriptors) {
  const size_t before = OpenDescriptors();
  std::vector<std::shared_ptr<BlobObject>> held;
  for (uint64_t id = 1; id <= 2000; ++id) {
    held.push_back(Create(id));
    ASSERT_TRUE(held.back()->Write(0, std::to_string(id)).ok());
  }
  EXPECT_LT(OpenDescriptors(), before + 300);
  for (uint64_t id = 1; id <= 2000; id += 37) {
    const std::string expected = std::to_string(id);
    EXPECT_EQ(Read(*held[id - 1], 0, expected.size()), expected);
  }
  EXPECT_LT(OpenDescriptors(), before + 300);
}

TEST_P(BlobStoreTest, ThreadsShareObjectsUnderDescriptorPressure) {
  constexpr uint64_t kObjects = 600;
  std::vector<std::shared_ptr<BlobObject>> held;
  for (uint64_t id = 1; id <= kObjects; ++id) {
    held.push_back(Create(id));
    ASSERT_TRUE(held.back()->Write(0, std::to_string(id)).ok());
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 3000; ++i) {
        uint64_t id = (i * 31 + t * 7) % kObjects + 1;
        const std::string expected = std::to_string(id);
        std::string out(expected.size(), '?');
        if (!held[id - 1]->Read(0, out).ok() || out != expected) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// A log: appended to and synced again and again.
void AppendAndSync(BlobObject& object, int times, std::string* expected) {
  for (int i = 0; i < times; ++i) {
    const std::string line = "line " + std::to_string(i) + std::string(3000, '.');
    ASSERT_TRUE(object.Write(expected->size(), line).ok());
    ASSERT_TRUE(object.Sync().ok());
    *expected += line;
  }
}

std::string ReadBytes(BlobObject& object, size_t size) {
  std::string out(size, '?');
  return object.Read(0, out).ok() ? out : "";
}

TEST(HostBlobStoreTest, AnObjectEndsWhereItWasWritten) {
  Scratch host;
  auto store = OpenHostBlobStore(host / "objects");
  auto object = (*store)->Create(ObjectId(1)).value();
  std::string expected;
  AppendAndSync(*object, 20, &expected);
  EXPECT_EQ(object->GetEnd().value().size, expected.size());
  EXPECT_EQ(ReadBytes(*object, expected.size() + 5000), expected + std::string(5000, '\0'));
}

TEST(HostBlobStoreTest, AnObjectThatWasCutEndsThereAndGrowsOn) {
  Scratch host;
  auto store = OpenHostBlobStore(host / "objects");
  auto object = (*store)->Create(ObjectId(1)).value();
  std::string expected;
  AppendAndSync(*object, 20, &expected);
  ASSERT_TRUE(object->Cut(10'001).ok());
  EXPECT_EQ(object->GetEnd().value().size, 10'001u);
  ASSERT_TRUE(object->Write(10'001, std::string("more")).ok());
  ASSERT_TRUE(object->Sync().ok());
  EXPECT_EQ(object->GetEnd().value().size, 10'005u);
  EXPECT_EQ(ReadBytes(*object, 10'007), expected.substr(0, 10'001) + "more" + std::string(2, '\0'));
}

// Runs `work` in a child that may have `limit` descriptors; its status is 0 if `work` said true.
template <typename Work>
void InChildWithDescriptors(rlim_t limit, Work work) {
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    struct rlimit few = {limit, limit};
    ::setrlimit(RLIMIT_NOFILE, &few);
    ::_exit(work() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(HostBlobStoreTest, FiveHundredHeldObjectsFitIntoAFewDescriptors) {
  Scratch host;
  InChildWithDescriptors(OpenDescriptors() + 8, [&] {
    auto store = OpenHostBlobStore(host / "objects");
    if (!store.ok()) return false;
    std::vector<std::shared_ptr<BlobObject>> held;
    for (uint64_t id = 1; id <= 500; ++id) {
      auto object = (*store)->Create(ObjectId(id));
      if (!object.ok() || !(*object)->Write(0, std::to_string(id)).ok()) return false;
      if (id % 50 == 0 && !(*object)->Sync().ok()) return false;
      held.push_back(*object);
    }
    for (uint64_t id = 1; id <= 500; ++id) {
      std::string out(std::to_string(id).size(), '?');
      if (!held[id - 1]->Read(0, out).ok() || out != std::to_string(id)) return false;
    }
    return true;
  });
}

TEST(HostBlobStoreTest, ObjectsSurviveReopening) {
  Scratch host;
  {
    auto store = OpenHostBlobStore(host / "objects");
    ASSERT_TRUE(store.ok());
    auto object = (*store)->Create(ObjectId(0xabcdef));
    ASSERT_TRUE((*object)->Write(5, std::string_view("kept")).ok());
    ASSERT_TRUE((*object)->Sync().ok());
  }
  EXPECT_TRUE(std::filesystem::exists(host / "objects/cd/0000000000abcdef"));
  auto store = OpenHostBlobStore(host / "objects");
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(Read(**(*store)->Open(ObjectId(0xabcdef)), 5, 4), "kept");
}

TEST(HostBlobStoreTest, StrangeFilesAreNotObjects) {
  Scratch host;
  auto store = OpenHostBlobStore(host / "objects");
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)->Create(ObjectId(1)).ok());
  WriteHostFile(host / "objects/00/README", "x");
  WriteHostFile(host / "objects/00/00000000000000zz", "x");
  WriteHostFile(host / "objects/00/0000000000ffff00", "in the wrong directory");
  MakeHostLink("/etc/passwd", host / "objects/00/0000000000000002");
  int count = 0;
  ASSERT_TRUE((*store)->List([&](ObjectId, uint64_t) { ++count; }).ok());
  EXPECT_EQ(count, 1);
  EXPECT_EQ((*store)->Open(ObjectId(2)).code(), ELOOP);
}

TEST(HostBlobStoreTest, NamesTheDirectoryThatCannotBeMade) {
  Scratch host;
  auto store = OpenHostBlobStore(host / "absent/objects");
  EXPECT_EQ(store.code(), ENOENT);
  EXPECT_THAT(store.error().message(), testing::HasSubstr("absent/objects"));
}

TEST(TemporaryBlobStoreTest, LeavesNothingBehind) {
  Scratch host;
  {
    auto store = OpenTemporaryBlobStore(host.path());
    ASSERT_TRUE(store.ok());
    auto object = (*store)->Create(ObjectId(1));
    ASSERT_TRUE((*object)->Write(0, std::string_view("x")).ok());
    EXPECT_FALSE(std::filesystem::is_empty(host.path()));
    store->reset();
    EXPECT_EQ(Read(**object, 0, 1), "x");  // an object keeps what it needs
  }
  EXPECT_TRUE(std::filesystem::is_empty(host.path()));
}

TEST(TemporaryBlobStoreTest, RemovesWhatAKilledProcessLeftAndSparesTheLiving) {
  Scratch host;
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto store = OpenTemporaryBlobStore(host.path());
    if (store.ok()) (void)(*store)->Create(ObjectId(1));
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_FALSE(std::filesystem::is_empty(host.path()));
  auto living = OpenTemporaryBlobStore(host.path());
  ASSERT_TRUE(living.ok());
  auto object = (*living)->Create(ObjectId(1));
  ASSERT_TRUE((*object)->Write(0, std::string_view("x")).ok());
  ASSERT_TRUE(OpenTemporaryBlobStore(host.path()).ok());
  object->reset();
  EXPECT_EQ(Read(**(*living)->Open(ObjectId(1)), 0, 1), "x");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(host.path()), {}), 1);
}

}  // namespace
}  // namespace agentfs
