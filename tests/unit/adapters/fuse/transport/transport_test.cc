// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/transport.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "memory_handler.h"
#include "served_mount.h"

namespace agentfs::fuse::test {
namespace {

std::string RandomBytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::set<std::string> List(const std::string& path) {
  std::set<std::string> names;
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return names;
  while (const dirent* entry = ::readdir(directory)) names.insert(entry->d_name);
  ::closedir(directory);
  return names;
}

class TransportTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNot(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  MemoryHandler& Make(MemoryHandler::Options options = {}) {
    handler_ = std::make_unique<MemoryHandler>(options);
    return *handler_;
  }

  void Serve(ServedOptions options = {}) {
    options.way = GetParam();
    auto served = ServedMount::Start(*handler_, options);
    ASSERT_TRUE(served.ok()) << served.error().message();
    served_ = std::move(served).value();
    EXPECT_EQ(served_->transport().name(), GetParam() == Way::kDevice ? "device" : "io_uring");
  }

  std::unique_ptr<MemoryHandler> handler_;  // outlives who calls it
  std::unique_ptr<ServedMount> served_;
};

TEST_P(TransportTest, FilesAreReadWrittenListedAndRemoved) {
  MemoryHandler& handler = Make();
  handler.Put("a", "first");
  handler.Put("b", "second");
  Serve();
  EXPECT_EQ(ReadWhole(served_->Path("a")).value(), "first");
  ASSERT_TRUE(WriteWhole(served_->Path("c"), "third").ok());
  EXPECT_EQ(handler.Content("c"), "third");
  EXPECT_EQ(List(served_->root()), (std::set<std::string>{"a", "b", "c"}));
  EXPECT_EQ(::unlink(served_->Path("a").c_str()), 0);
  EXPECT_EQ(ReadWhole(served_->Path("a")).code(), ENOENT);
  EXPECT_EQ(served_->transport().statistics().rejected, 0u);
  EXPECT_GT(served_->transport().statistics().requests, 5u);
}

TEST_P(TransportTest, OneMebibyteTravelsInOneRequest) {
  MemoryHandler& handler = Make();
  handler.Put("file", "");
  Serve();
  const std::string bytes = RandomBytes(1 << 20, 1);
  Fd file(::open(served_->Path("file").c_str(), O_RDWR | O_DIRECT));
  ASSERT_TRUE(file);
  void* memory = ::aligned_alloc(4096, bytes.size());
  ASSERT_NE(memory, nullptr);
  const std::unique_ptr<void, decltype(&::free)> owner(memory, ::free);
  std::memcpy(memory, bytes.data(), bytes.size());
  EXPECT_EQ(::pwrite(file.get(), memory, bytes.size(), 0), 1 << 20);
  EXPECT_EQ(handler.Count(FUSE_WRITE), 1u);
  EXPECT_EQ(handler.Content("file"), bytes);
  std::memset(memory, 0, bytes.size());
  EXPECT_EQ(::pread(file.get(), memory, bytes.size(), 0), 1 << 20);
  EXPECT_EQ(std::memcmp(memory, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(handler.Count(FUSE_READ), 1u);
}

TEST_P(TransportTest, EightClientsEachSeeTheirOwn) {
  Make();
  Serve();
  std::vector<std::thread> clients;
  for (uint32_t i = 0; i < 8; ++i) {
    clients.emplace_back([this, i] {
      for (uint32_t round = 0; round < 30; ++round) {
        const std::string path = served_->Path(std::to_string(i) + "." + std::to_string(round));
        const std::string bytes = RandomBytes(1000 * (i + 1) + round * 5000, i);
        EXPECT_TRUE(WriteWhole(path, bytes).ok());
        auto read = ReadWhole(path);
        EXPECT_TRUE(read.ok() && *read == bytes);
        EXPECT_EQ(::unlink(path.c_str()), 0);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(served_->transport().statistics().rejected, 0u);
}

int UsableProcessors() {
  cpu_set_t mine;
  return ::sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 0;
}

// Says of each request for attributes that a disk will be waited for.
class WaitingHandler : public MemoryHandler {
 public:
  void Handle(Exchange& exchange) noexcept override {
    if (exchange.header().opcode == FUSE_GETATTR) {
      before_ = UsableProcessors();
      exchange.WillWait();
      waiting_ = UsableProcessors();
    }
    if (exchange.header().opcode == FUSE_READ) reading_ = UsableProcessors();
    MemoryHandler::Handle(exchange);
  }
  // Of the last request for attributes, and of the last READ.
  int before() const { return before_; }
  int waiting() const { return waiting_; }
  int reading() const { return reading_; }

 private:
  std::atomic<int> before_ = 0, waiting_ = 0, reading_ = 0;
};

TEST_P(TransportTest, WhoWaitsForADiskMayRunAnywhereUntilTheAnswer) {
  const int all = UsableProcessors();
  if (all < 2) GTEST_SKIP() << "there is only one processor";
  auto made = std::make_unique<WaitingHandler>();
  const WaitingHandler& handler = *made;
  handler_ = std::move(made);
  ServedOptions options;
  options.transport.following = Following::kNever;
  Serve(options);
  for (int round = 0; round < 50; ++round) {
    struct stat st;
    ASSERT_EQ(::stat(served_->root().c_str(), &st), 0);
    EXPECT_EQ(handler.before(), GetParam() == Way::kUring ? 1 : all);
    EXPECT_EQ(handler.waiting(), all);
  }
}

TEST_P(TransportTest, WhoReadsALargeFileMayRunAnywhereUntilSomethingElseComes) {
  const int all = UsableProcessors();
  if (all < 2) GTEST_SKIP() << "there is only one processor";
  auto made = std::make_unique<WaitingHandler>();
  WaitingHandler& handler = *made;
  handler_ = std::move(made);
  handler.Put("file", RandomBytes(1 << 20, 1));
  ServedOptions options;
  options.transport.following = Following::kNever;
  Serve(options);
  Fd file(::open(served_->Path("file").c_str(), O_RDONLY | O_DIRECT));
  ASSERT_TRUE(file);
  const std::unique_ptr<void, decltype(&::free)> memory(::aligned_alloc(4096, 1 << 20), ::free);
  const int settled = GetParam() == Way::kUring ? 1 : all;
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(::pread(file.get(), memory.get(), 1 << 20, 0), 1 << 20);
    EXPECT_EQ(handler.reading(), all);
    ASSERT_EQ(::pread(file.get(), memory.get(), 4096, 0), 4096);
    EXPECT_EQ(handler.reading(), settled);
  }
}

TEST_P(TransportTest, BlockedRequestsStallNobody) {
  MemoryHandler& handler = Make();
  handler.Put("slow", "slow");
  handler.Put("quick", "quick");
  // The device gets more threads when all are busy. Of io_uring this is one thread less than all
  // that might serve the processor that this runs on.
  const int most = GetParam() == Way::kDevice ? 40 : 3;
  ServedOptions options;
  options.transport.threads = 4;
  Serve(options);
  handler.Close("slow");
  std::vector<std::thread> blocked;
  for (int i = 0; i < most; ++i) {
    blocked.emplace_back([this] {
      Fd file(::open(served_->Path("slow").c_str(), O_RDONLY | O_DIRECT));
      alignas(4096) char bytes[4096];
      EXPECT_EQ(::read(file.get(), bytes, sizeof(bytes)), 4);
    });
  }
  handler.AwaitWaiting(most);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ReadWhole(served_->Path("quick")).value(), "quick");
  handler.Open();
  for (std::thread& thread : blocked) thread.join();
}

// While it lives, this thread and those that it starts are on one processor.
class OneProcessor {
 public:
  OneProcessor() {
    EXPECT_EQ(::sched_getaffinity(0, sizeof usual_, &usual_), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (size_t i = 0; CPU_COUNT(&one) == 0; ++i) {
      if (CPU_ISSET(i, &usual_)) CPU_SET(i, &one);
    }
    EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  }
  ~OneProcessor() { EXPECT_EQ(::sched_setaffinity(0, sizeof usual_, &usual_), 0); }

 private:
  cpu_set_t usual_;
};

TEST_P(TransportTest, OfOneProcessorMoreCanBeBlockedThanThereAreThreadsAtFirst) {
  MemoryHandler& handler = Make();
  handler.Put("slow", "slow");
  handler.Put("quick", "quick");
  Serve();
  handler.Close("slow");
  const OneProcessor here;
  std::vector<std::thread> blocked;
  for (int i = 1; i <= 40 && !HasFailure(); ++i) {
    blocked.emplace_back([this] {
      Fd file(::open(served_->Path("slow").c_str(), O_RDONLY | O_DIRECT));
      alignas(4096) char bytes[4096];
      EXPECT_EQ(::read(file.get(), bytes, sizeof(bytes)), 4);
    });
    handler.AwaitWaiting(i);
    EXPECT_EQ(ReadWhole(served_->Path("quick")).value(), "quick");
  }
  handler.Open();
  for (std::thread& thread : blocked) thread.join();
}

// On one processor a client that was answered sends its next request before the thread that has
// answered can read it.
TEST_P(TransportTest, ALoneClientNeedsNoMoreThreads) {
  if (GetParam() != Way::kDevice) GTEST_SKIP() << "only the device's threads become more";
  Make().Put("file", "content");
  const OneProcessor here;
  ServedOptions options;
  options.transport.following = Following::kNever;
  Serve(options);
  const size_t before = served_->transport().statistics().threads;
  struct statx attributes;
  for (int i = 0; i < 2000; ++i) {
    EXPECT_EQ(::statx(AT_FDCWD, served_->Path("file").c_str(), AT_STATX_FORCE_SYNC, STATX_SIZE,
                      &attributes),
              0);
  }
  // One more can come while a thread is kept from reading again by other processes; not one a
  // request.
  EXPECT_LE(served_->transport().statistics().threads, before + 4);
}

TEST_P(TransportTest, ForgottenNodesAreReported) {
  MemoryHandler& handler = Make({.valid_seconds = 3600});
  for (int i = 0; i < 50; ++i) handler.Put(std::to_string(i), "x");
  Serve();
  struct stat attributes;
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(::stat(served_->Path(std::to_string(i)).c_str(), &attributes), 0);
  }
  EXPECT_EQ(handler.Remembered(), 50);
  for (int i = 0; i < 50; ++i) ::unlink(served_->Path(std::to_string(i)).c_str());
  // Forgets have no answer to wait for, and over io_uring come another way than other requests.
  const auto forgets = [&] {
    return handler.Count(FUSE_FORGET) + handler.Count(FUSE_BATCH_FORGET);
  };
  for (int i = 0; i < 1000 && forgets() == 0; ++i) ::usleep(1000);
  EXPECT_GE(forgets(), 1u);
  EXPECT_TRUE(served_->point().Unmount(UnmountMode::kPlain).ok());
  served_->transport().Wait();
}

TEST_P(TransportTest, PlainUnmountOfABusyFilesystemIsRefused) {
  MemoryHandler& handler = Make();
  handler.Put("file", "content");
  Serve();
  {
    Fd file(::open(served_->Path("file").c_str(), O_RDONLY));
    EXPECT_EQ(served_->point().Unmount(UnmountMode::kPlain).code(), EBUSY);
    EXPECT_TRUE(served_->point().IsMounted());
  }
  EXPECT_EQ(ReadWhole(served_->Path("file")).value(), "content");
  EXPECT_TRUE(served_->point().Unmount(UnmountMode::kPlain).ok());
  EXPECT_FALSE(served_->point().IsMounted());
  served_->transport().Wait();
  EXPECT_EQ(ReadWhole(served_->Path("file")).code(), ENOENT);
}

TEST_P(TransportTest, LazyUnmountServesWhoHasFilesOpenAndThenEnds) {
  MemoryHandler& handler = Make();
  handler.Put("file", "content");
  Serve();
  {
    Fd file(::open(served_->Path("file").c_str(), O_RDONLY));
    ASSERT_TRUE(file);
    EXPECT_TRUE(served_->point().Unmount(UnmountMode::kLazy).ok());
    char bytes[16];
    EXPECT_EQ(::pread(file.get(), bytes, sizeof(bytes), 0), 7);
  }
  served_->transport().Wait();
}

TEST_P(TransportTest, ForcedUnmountUnderLoadEndsEverything) {
  MemoryHandler& handler = Make();
  handler.Put("slow", std::string(1 << 16, 's'));
  handler.Put("file", std::string(1 << 16, 'f'));
  Serve();
  handler.Close("slow");
  std::vector<std::thread> clients;
  std::atomic<uint64_t> done = 0;
  for (int i = 0; i < 6; ++i) {
    clients.emplace_back([this, i, &done] {
      const std::string path = served_->Path(i == 0 ? "slow" : "file");
      while (ReadWhole(path).ok()) done.fetch_add(1);
    });
  }
  handler.AwaitWaiting(1);
  while (done.load() < 100) std::this_thread::yield();
  EXPECT_TRUE(served_->point().Unmount(UnmountMode::kForced).ok());
  for (std::thread& client : clients) client.join();
  handler.Open();
  served_->transport().Wait();
}

TEST_P(TransportTest, StopAnswersWhatHasArrivedAndEndsThreads) {
  MemoryHandler& handler = Make();
  handler.Put("slow", "slow");
  Serve();
  handler.Close("slow");
  std::thread client([this] { EXPECT_EQ(ReadWhole(served_->Path("slow")).value(), "slow"); });
  handler.AwaitWaiting(1);
  std::thread opener([&handler] { handler.Open(); });
  served_->transport().Stop();
  opener.join();
  // Nobody serves now; whoever still asks gets an error once the device is closed.
  served_->DropTransport();
  served_->point().CloseDevice();
  client.join();
  EXPECT_EQ(StateOfPath(served_->root()), PathState::kDead);
  EXPECT_TRUE(RemoveDeadMount(served_->root()).value());
  EXPECT_EQ(StateOfPath(served_->root()), PathState::kPlain);
}

INSTANTIATE_TEST_SUITE_P(Ways, TransportTest, testing::Values(Way::kDevice, Way::kUring),
                         [](const auto& info) {
                           return info.param == Way::kDevice ? "Device" : "Uring";
                         });

}  // namespace
}  // namespace agentfs::fuse::test
