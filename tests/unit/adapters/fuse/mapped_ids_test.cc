// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/mapped_ids.h"

#include <gtest/gtest.h>

namespace agentfs::fuse {
namespace {

TEST(MappedIdsTest, OutsideOfNamespacesEveryIdIsMapped) {
  const MappedIds ids("         0          0 4294967295\n", 7);
  EXPECT_EQ(ids.OrOwn(0), 0u);
  EXPECT_EQ(ids.OrOwn(65534), 65534u);
}

TEST(MappedIdsTest, WhatCannotBeReadMapsEverything) {
  EXPECT_EQ(MappedIds("", 7).OrOwn(65534), 65534u);
}

TEST(MappedIdsTest, UnmappedIdsAreToldAsOurs) {
  const MappedIds ids("0 1000 1\n1 100000 65535\n", 0);
  EXPECT_EQ(ids.OrOwn(0), 0u);
  EXPECT_EQ(ids.OrOwn(65535), 65535u);
  EXPECT_EQ(ids.OrOwn(65536), 0u);
  const MappedIds one("1000 1000 1\n", 1000);
  EXPECT_EQ(one.OrOwn(1000), 1000u);
  EXPECT_EQ(one.OrOwn(0), 1000u);
  EXPECT_EQ(one.OrOwn(65534), 1000u);
}

}  // namespace
}  // namespace agentfs::fuse
