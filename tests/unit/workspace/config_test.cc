// SPDX-License-Identifier: Apache-2.0
#include "workspace/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace agentfs {
namespace {

using testing::HasSubstr;

TEST(ConfigTest, AnEmptyFileMeansTheDefaults) {
  auto config = ParseConfig("", "config.toml");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->base, "");
  EXPECT_EQ(config->lock_timeout_ms, 10000u);
  EXPECT_EQ(config->volume.limits.max_nodes, 0u);
  EXPECT_EQ(config->volume.copy_up.mode, CopyUpPolicy::Mode::kClone);
}

TEST(ConfigTest, WhatIsRenderedIsReadBack) {
  Config config;
  config.base = "/a \"quoted\" \\ path\n";
  config.lock_timeout_ms = 17;
  config.volume.single_file = true;
  config.volume.limits = {1, 2, 3, 4, 5};
  config.volume.copy_up.mode = CopyUpPolicy::Mode::kFixed;
  config.volume.copy_up.umask = 027;
  config.volume.copy_up.fixed_file_mode = 0640;
  config.volume.copy_up.fixed_directory_mode = 0750;
  config.volume.copy_up.acl = CopyUpPolicy::Acl::kMapBasic;
  config.volume.content_cache_bytes = 6;
  config.volume.cached_nodes = 7;
  config.volume.max_pending_bytes = 8;
  config.volume.commit_interval_ms = 9;
  auto read = ParseConfig(RenderConfig(config), "config.toml");
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->base, config.base);
  EXPECT_EQ(read->lock_timeout_ms, 17u);
  EXPECT_TRUE(read->volume.single_file);
  EXPECT_EQ(read->volume.limits.max_total_bytes, 1u);
  EXPECT_EQ(read->volume.limits.max_file_bytes, 2u);
  EXPECT_EQ(read->volume.limits.max_nodes, 3u);
  EXPECT_EQ(read->volume.limits.max_branches, 4u);
  EXPECT_EQ(read->volume.limits.max_snapshots, 5u);
  EXPECT_EQ(read->volume.copy_up.mode, CopyUpPolicy::Mode::kFixed);
  EXPECT_EQ(read->volume.copy_up.umask, 027u);
  EXPECT_EQ(read->volume.copy_up.fixed_file_mode, 0640u);
  EXPECT_EQ(read->volume.copy_up.fixed_directory_mode, 0750u);
  EXPECT_EQ(read->volume.copy_up.acl, CopyUpPolicy::Acl::kMapBasic);
  EXPECT_EQ(read->volume.content_cache_bytes, 6u);
  EXPECT_EQ(read->volume.cached_nodes, 7u);
  EXPECT_EQ(read->volume.max_pending_bytes, 8u);
  EXPECT_EQ(read->volume.commit_interval_ms, 9u);
}

struct Case {
  const char* text;
  const char* complaint;
};

class ConfigErrorTest : public testing::TestWithParam<Case> {};

TEST_P(ConfigErrorTest, NamesFileLineAndKey) {
  auto config = ParseConfig(GetParam().text, "some.toml");
  EXPECT_EQ(config.code(), EINVAL);
  EXPECT_THAT(config.error().message(), HasSubstr("some.toml:"));
  EXPECT_THAT(config.error().message(), HasSubstr(GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(
    Table, ConfigErrorTest,
    testing::Values(Case{"[limits]\nmax_nodes = -1", ":2: limits.max_nodes"},
                    Case{"[limits]\nmax_nodes = 'x'", "limits.max_nodes"},
                    Case{"[limits]\nmax_bytes = 1", "limits.max_bytes is not a setting"},
                    Case{"[limit]\nmax_nodes = 1", "limit.max_nodes is not a setting"},
                    Case{"limits = 3", "limits is not a setting"},
                    Case{"[copyup]\nmode = 'copy'", "clone, clone-umask, fixed"},
                    Case{"[copyup]\nacl = 3", "clone, drop, map-basic"},
                    Case{"[workspace]\nsingle_file = 1", "true or false"},
                    Case{"[workspace]\nlock_timeout_ms = 5000000000", "lock_timeout_ms"},
                    Case{"[workspace\n", ":1:"}));

}  // namespace
}  // namespace agentfs
