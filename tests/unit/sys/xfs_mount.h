// SPDX-License-Identifier: Apache-2.0
//
// A test on a loop-mounted XFS, whose files can share blocks. It needs root, mkfs.xfs and loop
// devices; without them the test is skipped and says why.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "scratch.h"

namespace agentfs {

class XfsMountTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  uint64_t FreeBytes() const;

  Scratch host_;
  const std::string mount_ = host_ / "mount";
  bool mounted_ = false;
};

}  // namespace agentfs
