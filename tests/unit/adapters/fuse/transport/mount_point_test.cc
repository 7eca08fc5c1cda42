// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/mount_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "memory_handler.h"
#include "served_mount.h"
#include "server_process.h"
#include "sys/fuse_requests.h"
#include "sys/mount_table.h"

namespace agentfs::fuse::test {
namespace {

using testing::HasSubstr;

constexpr char kAllIsWell[] = "read content, left 0 sockets and 0 children";

std::optional<MountEntry> MountAt(const std::string& point) {
  auto entry = TopMountAt(point);
  EXPECT_TRUE(entry.ok());
  return entry.ok() ? *entry : std::nullopt;
}

class MountPointTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNot(Way::kDevice); !why.empty()) GTEST_SKIP() << why;
  }

  std::unique_ptr<ServedMount> Serve(const MountOptions& mount = {}) {
    ServedOptions options;
    options.mount = mount;
    auto served = ServedMount::Start(handler_, options);
    EXPECT_TRUE(served.ok()) << served.error().message();
    return served.ok() ? std::move(served).value() : nullptr;
  }

  MemoryHandler handler_;
};

TEST_F(MountPointTest, MissingDirectoryAndFileAreRefusedWithARemedy) {
  const ScratchPoint scratch;
  auto missing = MountPoint::Mount(scratch.path() + "/none", {});
  EXPECT_EQ(missing.code(), ENOENT);
  EXPECT_THAT(std::string(missing.error().remedy()), HasSubstr("mkdir"));
  std::ofstream(scratch.path() + "/file") << "x";
  auto file = MountPoint::Mount(scratch.path() + "/file", {});
  EXPECT_EQ(file.code(), ENOTDIR);
  EXPECT_THAT(file.error().message(), HasSubstr("not a directory"));
}

TEST_F(MountPointTest, ContentOfTheDirectoryIsHiddenMeanwhile) {
  const ScratchPoint scratch;
  std::ofstream(scratch.path() + "/hidden") << "x";
  {
    auto point = MountPoint::Mount(scratch.path(), {});
    ASSERT_TRUE(point.ok()) << point.error().message();
    ASSERT_TRUE(Negotiate(point->device(), {}).ok());
    EXPECT_EQ(MountAt(scratch.path())->type, kFilesystemType);
  }
  EXPECT_FALSE(MountAt(scratch.path()));
  EXPECT_EQ(::access((scratch.path() + "/hidden").c_str(), F_OK), 0);
}

TEST_F(MountPointTest, TypeSourceAndFlagsAreVisible) {
  MountOptions options;
  options.source = "my, source";
  options.read_only = true;
  auto served = Serve(options);
  ASSERT_NE(served, nullptr);
  const auto entry = MountAt(served->root());
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->type, "fuse.agentfs");
  EXPECT_EQ(entry->source, "my, source");
  EXPECT_EQ(served->point().connection(), entry->minor);
  struct statvfs flags;
  ASSERT_EQ(::statvfs(served->root().c_str(), &flags), 0);
  EXPECT_EQ(flags.f_flag & (ST_NOSUID | ST_NODEV | ST_RDONLY),
            0ul + (ST_NOSUID | ST_NODEV | ST_RDONLY));
  EXPECT_EQ(WriteWhole(served->Path("new"), "x").code(), EROFS);
}

TEST_F(MountPointTest, WhatSomebodyElseHasUnmountedIsNoError) {
  auto served = Serve();
  ASSERT_NE(served, nullptr);
  ASSERT_EQ(::umount2(served->root().c_str(), MNT_DETACH), 0);
  EXPECT_FALSE(served->point().IsMounted());
  EXPECT_TRUE(served->point().Unmount(UnmountMode::kPlain).ok());
  served->transport().Wait();
}

TEST_F(MountPointTest, WhatTheKernelStillWaitsForIsSeen) {
  handler_.Put("slow", "content");
  auto served = Serve();
  ASSERT_NE(served, nullptr);
  const uint32_t connection = served->point().connection();
  // The last request may have been answered and not be forgotten yet.
  bool none = AwaitNoFuseRequest(connection);
  for (int i = 0; i < 1000 && !none; ++i) none = AwaitNoFuseRequest(connection);
  EXPECT_TRUE(none || ::geteuid() != 0);
  handler_.Close("slow");
  std::thread reader([&] { EXPECT_EQ(ReadWhole(served->Path("slow")).value(), "content"); });
  handler_.AwaitWaiting(1);
  EXPECT_FALSE(AwaitNoFuseRequest(connection));
  handler_.Open();
  reader.join();
  EXPECT_FALSE(AwaitNoFuseRequest(0));  // there is none of that number
}

TEST_F(MountPointTest, WhatIsMountedOverItIsNotUnmountedInstead) {
  auto served = Serve();
  ASSERT_NE(served, nullptr);
  ASSERT_EQ(::mount("none", served->root().c_str(), "tmpfs", 0, "size=4k"), 0);
  EXPECT_EQ(served->point().Unmount(UnmountMode::kLazy).code(), EBUSY);
  EXPECT_EQ(MountAt(served->root())->type, "tmpfs");
  EXPECT_EQ(StateOfPath(served->root()), PathState::kPlain);
  EXPECT_EQ(::umount2(served->root().c_str(), 0), 0);
  EXPECT_EQ(StateOfPath(served->root()), PathState::kMounted);
  EXPECT_FALSE(RemoveDeadMount(served->root()).value());
  EXPECT_TRUE(served->point().Unmount(UnmountMode::kPlain).ok());
}

TEST_F(MountPointTest, MissingHelperIsNamedWithItsPackage) {
  const ScratchPoint scratch;
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", scratch.path().c_str(), 1);
  MountOptions options;
  options.method = MountMethod::kHelper;
  auto point = MountPoint::Mount(scratch.path(), options);
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(point.code(), ENOENT);
  EXPECT_THAT(std::string(point.error().remedy()), HasSubstr("fuse3"));
}

class KilledServerTest : public testing::TestWithParam<Way> {};

TEST_P(KilledServerTest, LeavesADeadMountThatIsRecognisedAndRemoved) {
  if (const std::string why = WhyNot(GetParam()); !why.empty()) GTEST_SKIP() << why;
  ServedOptions options;
  if (GetParam() == Way::kUring) {
    options.wanted.features = options.wanted.features.With(Feature::kOverIoUring);
  }
  ServerProcess server(As::kRoot, options);
  ASSERT_EQ(server.report(), kAllIsWell);
  Fd file(::open(server.Path("file").c_str(), O_RDONLY | O_DIRECT));
  ASSERT_TRUE(file);
  EXPECT_EQ(StateOfPath(server.root()), PathState::kMounted);
  server.Kill();
  alignas(4096) char bytes[4096];
  EXPECT_LT(::read(file.get(), bytes, sizeof(bytes)), 0);
  EXPECT_EQ(StateOfPath(server.root()), PathState::kDead);
  auto over = MountPoint::Mount(server.root(), {});
  EXPECT_EQ(over.code(), ENOTCONN);
  EXPECT_THAT(std::string(over.error().remedy()), HasSubstr("umount"));
  EXPECT_TRUE(RemoveDeadMount(server.root()).value());
  EXPECT_FALSE(RemoveDeadMount(server.root()).value());
  EXPECT_EQ(StateOfPath(server.root()), PathState::kPlain);
}

INSTANTIATE_TEST_SUITE_P(Ways, KilledServerTest, testing::Values(Way::kDevice, Way::kUring),
                         [](const auto& info) {
                           return info.param == Way::kDevice ? "Device" : "Uring";
                         });

class OrdinaryUserTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNot(Way::kDevice); !why.empty()) GTEST_SKIP() << why;
  }
  static bool HasHelper() { return ::access("/usr/bin/fusermount3", X_OK) == 0; }
};

TEST_F(OrdinaryUserTest, MountsThroughTheHelperAndLeavesNothing) {
  if (!HasHelper()) GTEST_SKIP() << "fusermount3 is missing: install the package fuse3";
  const DeviceMode device(DeviceMode::kEverybody);
  ServedOptions options;
  options.mount.source = "a,b";
  ServerProcess server(As::kNobody, options);
  ASSERT_EQ(server.report(), kAllIsWell);
  const auto entry = MountAt(server.root());
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->type, "fuse.agentfs");
  EXPECT_EQ(entry->source, "a,b");
  EXPECT_TRUE(server.Leave());
  EXPECT_FALSE(MountAt(server.root()));
}

TEST_F(OrdinaryUserTest, MountsDirectlyInAUserNamespace) {
  const DeviceMode device(DeviceMode::kEverybody);
  ServedOptions options;
  options.mount.method = MountMethod::kDirect;
  ServerProcess server(As::kNobodyNamespace, options);
  if (server.report() == "cannot become that user") {
    GTEST_SKIP() << "no user namespace can be made here (not with ThreadSanitizer's own thread)";
  }
  EXPECT_EQ(server.report(), kAllIsWell);
  EXPECT_FALSE(MountAt(server.root())) << "it is mounted in its own namespace";
  EXPECT_TRUE(server.Leave());
}

TEST_F(OrdinaryUserTest, IsToldWhatToDoWhereItMayNotOpenTheDevice) {
  const DeviceMode device(DeviceMode::kRootAlone);
  ServerProcess server(As::kNobody, {});
  EXPECT_THAT(server.report(), HasSubstr("may not open /dev/fuse | let users open it"));
}

TEST_F(OrdinaryUserTest, IsToldWhatToDoWhenAllowOtherIsRefused) {
  if (!HasHelper()) GTEST_SKIP() << "fusermount3 is missing: install the package fuse3";
  std::ifstream file("/etc/fuse.conf");
  for (std::string line; std::getline(file, line);) {
    if (line == "user_allow_other") GTEST_SKIP() << "/etc/fuse.conf allows it";
  }
  const DeviceMode device(DeviceMode::kEverybody);
  ServedOptions options;
  options.mount.allow_other = true;
  ServerProcess server(As::kNobody, options);
  EXPECT_THAT(server.report(), HasSubstr("user_allow_other into /etc/fuse.conf"));
}

}  // namespace
}  // namespace agentfs::fuse::test
