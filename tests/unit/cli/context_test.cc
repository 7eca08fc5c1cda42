// SPDX-License-Identifier: Apache-2.0
#include "cli/context.h"

#include <gtest/gtest.h>

namespace agentfs::cli {
namespace {

TEST(FormatTest, TimesAreUtcWithNanoseconds) {
  EXPECT_EQ(FormatTime({0, 0}), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(FormatTime({1738324800, 7}), "2025-01-31T12:00:00.000000007Z");
}

TEST(FormatTest, BytesHaveBinaryUnits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.0 KiB");
  EXPECT_EQ(FormatBytes(1536 << 10), "1.5 MiB");
  EXPECT_EQ(FormatBytes(UINT64_MAX), "16384.0 PiB");
}

TEST(StatusTest, FollowsTheContract) {
  EXPECT_EQ(StatusOf(Error(ENOENT)), 4);
  EXPECT_EQ(StatusOf(Error(EEXIST)), 3);
  EXPECT_EQ(StatusOf(Error(EBUSY)), 3);
  EXPECT_EQ(StatusOf(Error(EINVAL)), 2);
  EXPECT_EQ(StatusOf(Error(EIO)), 125);
  EXPECT_EQ(StatusOf(Error(EACCES)), 125);
}

TEST(ExplainTest, PutsWhatBeforeWhyAndRemembersThePath) {
  Context context;
  auto error = context.Explain("cannot read", "/a", Result<int>(Error(ENOENT)));
  EXPECT_EQ(error.error().message(), "cannot read /a: No such file or directory");
  EXPECT_EQ(context.failed_path, "/a");
  EXPECT_EQ(*context.Explain("cannot read", "/a", Result<int>(3)), 3);
}

}  // namespace
}  // namespace agentfs::cli
