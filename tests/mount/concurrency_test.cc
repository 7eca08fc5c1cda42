// SPDX-License-Identifier: Apache-2.0
//
// Requests of several clients are handled at the same time: each waits, in the filesystem, until
// all have arrived there. A server that takes one after the other would never go on.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "mount_test.h"
#include "vfs/forwarding_fs.h"

namespace agentfs::posix {
namespace {

constexpr size_t kClients = 4;
constexpr auto kPatience = std::chrono::seconds(20);

class MeetingFs final : public ForwardingFs {
 public:
  using ForwardingFs::ForwardingFs;

  Result<Found> Create(const Caller& caller, Node& parent, std::string_view name,
                       uint32_t mode) override {
    Meet();
    return ForwardingFs::Create(caller, parent, name, mode);
  }
  Result<size_t> Write(const Caller& caller, Node& node, uint64_t offset,
                       std::span<const char> data) override {
    Meet();
    return ForwardingFs::Write(caller, node, offset, data);
  }
  Result<void> Rename(const Caller& caller, Node& parent, std::string_view name, Node& new_parent,
                      std::string_view new_name, RenameMode mode) override {
    Meet();
    return ForwardingFs::Rename(caller, parent, name, new_parent, new_name, mode);
  }
  Result<void> Unlink(const Caller& caller, Node& parent, std::string_view name) override {
    Meet();
    return ForwardingFs::Unlink(caller, parent, name);
  }

  int meetings() {
    std::lock_guard lock(mu_);
    return meetings_;
  }
  bool missed() {
    std::lock_guard lock(mu_);
    return missed_;
  }

 private:
  void Meet() {
    std::unique_lock lock(mu_);
    const int meeting = meetings_;
    if (++here_ == kClients) {
      here_ = 0;
      ++meetings_;
      all_here_.notify_all();
    } else if (!missed_ &&
               !all_here_.wait_for(lock, kPatience, [&] { return meetings_ != meeting; })) {
      missed_ = true;
    }
  }

  std::mutex mu_;
  std::condition_variable all_here_;
  size_t here_ = 0;
  int meetings_ = 0;
  bool missed_ = false;
};

class ConcurrencyTest : public MountTest {};

TEST_F(ConcurrencyTest, ClientsInDifferentDirectoriesAreServedAtTheSameTime) {
  Start();
  auto meeting = std::make_shared<MeetingFs>(volume().OpenBranch("main").value());
  fuse::ServeOptions options;
  options.mount_point = scratch("meeting");
  ASSERT_EQ(::mkdir(options.mount_point.c_str(), 0755), 0);
  const Watchdog watchdog(options.mount_point);
  for (size_t i = 0; i < kClients; ++i) {
    ASSERT_EQ(::mkdir(path(std::to_string(i)).c_str(), 0755), 0);
  }
  const auto mount = fuse::Mount::Start({meeting, "main", nullptr, {}, nullptr}, options).value();
  std::vector<std::thread> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.emplace_back([at = options.mount_point + "/" + std::to_string(i)] {
      EXPECT_TRUE(File(at + "/a", O_WRONLY | O_CREAT).WriteAll("content"));
      EXPECT_EQ(::rename((at + "/a").c_str(), (at + "/b").c_str()), 0);
      EXPECT_EQ(::unlink((at + "/b").c_str()), 0);
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_FALSE(meeting->missed());
  EXPECT_EQ(meeting->meetings(), 4);
}

}  // namespace
}  // namespace agentfs::posix
