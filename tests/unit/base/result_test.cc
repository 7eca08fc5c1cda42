// SPDX-License-Identifier: Apache-2.0
#include "agentfs/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace agentfs {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return Error(EINVAL, "odd", "use an even number");
  return n / 2;
}

Result<int> Quarter(int n) {
  AGENTFS_ASSIGN(int half, Half(n));
  AGENTFS_TRY(Half(half));
  return half / 2;
}

TEST(ResultTest, CarriesAValueOrAnError) {
  EXPECT_EQ(*Quarter(8), 2);
  auto failed = Quarter(6);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.code(), EINVAL);
  EXPECT_EQ(failed.error().message(), "odd");
  EXPECT_EQ(failed.error().remedy(), "use an even number");
}

TEST(ResultTest, MovesValuesThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  Result<std::unique_ptr<int>> moved(std::move(result));
  std::unique_ptr<int> value = std::move(moved).value();
  EXPECT_EQ(*value, 7);
}

TEST(ResultTest, AssignmentReplacesValueByErrorAndBack) {
  Result<std::string> result(std::string(100, 'x'));
  result = Error(ENOENT);
  EXPECT_EQ(result.code(), ENOENT);
  result = std::string("again");
  EXPECT_EQ(*result, "again");
}

TEST(ErrorTest, ContextComesBeforeTheMessageAndKeepsTheRest) {
  Error error = Error(ENOENT, "gone", "look elsewhere").WithContext("open /a");
  EXPECT_EQ(error.code(), ENOENT);
  EXPECT_EQ(error.message(), "open /a: gone");
  EXPECT_EQ(error.remedy(), "look elsewhere");
}

TEST(ErrorTest, WithoutMessageTheErrnoSpeaks) {
  EXPECT_EQ(Error(ENOENT).message(), "No such file or directory");
  EXPECT_EQ(Error(0).code(), EIO);
}

}  // namespace
}  // namespace agentfs
