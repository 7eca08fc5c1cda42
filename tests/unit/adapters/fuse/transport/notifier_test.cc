// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/notifier.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "memory_handler.h"
#include "served_mount.h"

namespace agentfs::fuse::test {
namespace {

constexpr uint64_t kForever = 1 << 30;

class NotifierTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNot(GetParam()); !why.empty()) GTEST_SKIP() << why;
    handler_.Put("file", "old");
    ServedOptions options;
    options.way = GetParam();
    auto served = ServedMount::Start(handler_, options);
    ASSERT_TRUE(served.ok()) << served.error().message();
    served_ = std::move(served).value();
    notifier_ =
        std::make_unique<DeviceNotifier>(served_->point().device(), served_->capabilities());
  }

  int64_t SizeOf(const std::string& name) {
    struct stat attributes;
    return ::stat(served_->Path(name).c_str(), &attributes) == 0 ? attributes.st_size : -errno;
  }

  // No OPEN: pages stay cached from one open to the next.
  MemoryHandler handler_{{.valid_seconds = kForever, .opens = MemoryHandler::Opens::kNone}};
  std::unique_ptr<ServedMount> served_;
  std::unique_ptr<Notifier> notifier_;
};

TEST_P(NotifierTest, InvalidatedInodeShowsNewContent) {
  EXPECT_EQ(ReadWhole(served_->Path("file")).value(), "old");
  // Of the same size: the kernel drops its pages by itself when the size is another.
  handler_.Put("file", "new");
  EXPECT_EQ(ReadWhole(served_->Path("file")).value(), "old");
  EXPECT_TRUE(notifier_->InvalidateInode(handler_.NodeOf("file"), 0, 0).ok());
  EXPECT_EQ(ReadWhole(served_->Path("file")).value(), "new");
}

TEST_P(NotifierTest, InvalidatedAttributesAreAskedForAgain) {
  EXPECT_EQ(SizeOf("file"), 3);
  handler_.Put("file", "longer");
  EXPECT_EQ(SizeOf("file"), 3);
  EXPECT_TRUE(notifier_->InvalidateAttributes(handler_.NodeOf("file")).ok());
  EXPECT_EQ(SizeOf("file"), 6);
}

TEST_P(NotifierTest, InvalidatedEntriesAreLookedUpAgain) {
  for (const auto how : {Notifier::Entry::kDrop, Notifier::Entry::kExpire}) {
    handler_.Put("file", "old");
    EXPECT_TRUE(notifier_->InvalidateEntry(FUSE_ROOT_ID, "file", how).ok());
    EXPECT_GE(SizeOf("file"), 3);
    handler_.Remove("file");
    EXPECT_GE(SizeOf("file"), 3);
    EXPECT_TRUE(notifier_->InvalidateEntry(FUSE_ROOT_ID, "file", how).ok());
    EXPECT_EQ(SizeOf("file"), -ENOENT);
  }
}

TEST_P(NotifierTest, InvalidatedNegativeEntriesAppear) {
  EXPECT_EQ(SizeOf("new"), -ENOENT);
  handler_.Put("new", "here");
  EXPECT_EQ(SizeOf("new"), -ENOENT);
  EXPECT_TRUE(notifier_->InvalidateEntry(FUSE_ROOT_ID, "new", Notifier::Entry::kDrop).ok());
  EXPECT_EQ(SizeOf("new"), 4);
}

TEST_P(NotifierTest, DeletedEntriesReachWhoWatches) {
  EXPECT_EQ(SizeOf("file"), 3);
  Fd watcher(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(watcher.get(), served_->Path("file").c_str(), IN_DELETE_SELF), 0);
  const uint64_t node = handler_.NodeOf("file");
  handler_.Remove("file");
  EXPECT_TRUE(notifier_->Deleted(FUSE_ROOT_ID, node, "file").ok());
  EXPECT_EQ(SizeOf("file"), -ENOENT);
  alignas(inotify_event) char event[512];
  EXPECT_GT(::read(watcher.get(), event, sizeof(event)), 0);
}

TEST_P(NotifierTest, AllEntriesAreLookedUpAgainAfterANewEpoch) {
  if (served_->capabilities().kernel_minor < 44) {
    EXPECT_EQ(notifier_->InvalidateAllEntries().code(), ENOSYS);
    GTEST_SKIP() << "this kernel has no epochs";
  }
  EXPECT_EQ(SizeOf("file"), 3);
  EXPECT_EQ(SizeOf("new"), -ENOENT);
  handler_.Remove("file");
  handler_.Put("new", "here");
  EXPECT_TRUE(notifier_->InvalidateAllEntries().ok());
  EXPECT_EQ(SizeOf("file"), -ENOENT);
  EXPECT_EQ(SizeOf("new"), 4);
}

TEST_P(NotifierTest, WhatTheKernelDoesNotKnowIsNoError) {
  const auto unknown = notifier_->InvalidateInode(12345, 0, 0);
  ASSERT_TRUE(unknown.ok());
  EXPECT_FALSE(*unknown);
  EXPECT_TRUE(notifier_->InvalidateEntry(FUSE_ROOT_ID, "none", Notifier::Entry::kDrop).ok());
  EXPECT_TRUE(notifier_->InvalidateEntry(12345, "none", Notifier::Entry::kExpire).ok());
  EXPECT_TRUE(notifier_->Deleted(FUSE_ROOT_ID, 12345, "none").ok());
  EXPECT_TRUE(served_->point().Unmount(UnmountMode::kForced).ok());
  EXPECT_TRUE(notifier_->InvalidateInode(12345, 0, 0).ok());
}

INSTANTIATE_TEST_SUITE_P(Ways, NotifierTest, testing::Values(Way::kDevice, Way::kUring),
                         [](const auto& info) {
                           return info.param == Way::kDevice ? "Device" : "Uring";
                         });

}  // namespace
}  // namespace agentfs::fuse::test
