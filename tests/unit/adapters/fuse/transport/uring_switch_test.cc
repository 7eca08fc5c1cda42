// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/uring_switch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "adapters/fuse/transport/uring_worker.h"
#include "served_mount.h"

namespace agentfs::fuse::test {
namespace {

// A file in the place of the kernel's.
class UringSwitchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeRings()) GTEST_SKIP() << "this process may not make rings";
  }
  std::string Now() const {
    std::string value;
    std::ifstream(parameter_) >> value;
    return value;
  }
  void Put(const char* value) const { std::ofstream(parameter_) << value << "\n"; }

  ScratchPoint scratch_;
  const std::string parameter_ = scratch_.path() + "/enable_uring";
};

TEST_F(UringSwitchTest, WhatIsOffIsOnForTheWhile) {
  Put("N");
  {
    const UringSwitch rings = UringSwitch::TurnOn(parameter_);
    EXPECT_TRUE(rings.on());
    EXPECT_EQ(Now(), "Y");
  }
  EXPECT_EQ(Now(), "N");
}

TEST_F(UringSwitchTest, WhatIsOnStaysOn) {
  Put("Y");
  EXPECT_TRUE(UringSwitch::TurnOn(parameter_).on());
  EXPECT_EQ(Now(), "Y");
}

TEST_F(UringSwitchTest, AKernelWithoutTheSwitchHasNoRings) {
  EXPECT_FALSE(UringSwitch::TurnOn(parameter_).on());
  EXPECT_FALSE(std::filesystem::exists(parameter_));
}

TEST_F(UringSwitchTest, WhoHoldsItForGoodDelaysNobodyForGood) {
  Put("N");
  const Fd holder(::open(parameter_.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(holder.get(), LOCK_EX), 0);
  EXPECT_FALSE(UringSwitch::TurnOn(parameter_).on());
  EXPECT_EQ(Now(), "N");
}

TEST_F(UringSwitchTest, WhoOnlySeesAnothersTurnDoesNotEndIt) {
  Put("N");
  std::optional<UringSwitch> first(UringSwitch::TurnOn(parameter_));
  EXPECT_TRUE(UringSwitch::TurnOn(parameter_).on());
  EXPECT_EQ(Now(), "Y");
  first.reset();
  EXPECT_EQ(Now(), "N");
  EXPECT_TRUE(UringSwitch::TurnOn(parameter_).on());
}

}  // namespace
}  // namespace agentfs::fuse::test
