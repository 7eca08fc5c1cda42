// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the path API share: filesystems to run on, and a tree to try things on.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/files.h"
#include "agentfs/volume.h"
#include "tree_dump.h"

namespace agentfs::testing {

// A filesystem and whatever must live as long.
struct Backend {
  std::unique_ptr<Volume> volume;  // null for the fake
  std::shared_ptr<FileSystem> fs;

  ~Backend() { fs.reset(); }
  Backend() = default;
  Backend(Backend&&) = default;
};

enum class BackendKind : uint8_t { kFake, kVolume };
Backend MakeBackend(BackendKind kind);
std::string BackendName(const ::testing::TestParamInfo<BackendKind>& info);

class FilesFixture : public ::testing::TestWithParam<BackendKind> {
 protected:
  Backend backend_ = MakeBackend(GetParam());
  Files files_{backend_.fs};
};

#define AGENTFS_FILES_SUITE(name)                                                       \
  INSTANTIATE_TEST_SUITE_P(AllBackends, name,                                           \
                           ::testing::Values(::agentfs::testing::BackendKind::kFake,    \
                                             ::agentfs::testing::BackendKind::kVolume), \
                           ::agentfs::testing::BackendName)

// A tree below `path` with one of everything: types, holes, hard links, xattrs, odd names and
// times.
void MakeVariedTree(const Files& files, const std::string& path);

#define EXPECT_OK(expr)                                                            \
  do {                                                                             \
    auto&& expect_ok_ = (expr);                                                    \
    EXPECT_TRUE(expect_ok_.ok()) << #expr << ": " << expect_ok_.error().message(); \
  } while (false)
#define ASSERT_OK(expr)                                                            \
  do {                                                                             \
    auto&& assert_ok_ = (expr);                                                    \
    ASSERT_TRUE(assert_ok_.ok()) << #expr << ": " << assert_ok_.error().message(); \
  } while (false)

}  // namespace agentfs::testing
