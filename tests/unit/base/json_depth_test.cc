// SPDX-License-Identifier: Apache-2.0
#include "base/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace agentfs {
namespace {

std::string Nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

TEST(JsonDepthTest, CountsWhatIsOpenAtOnce) {
  EXPECT_FALSE(IsJsonTooDeep(""));
  EXPECT_FALSE(IsJsonTooDeep(Nested(kMaxJsonDepth)));
  EXPECT_TRUE(IsJsonTooDeep(Nested(kMaxJsonDepth + 1)));
  std::string wide = "[";
  for (int i = 0; i < 5000; ++i) wide += R"({"a":[]},)";
  EXPECT_FALSE(IsJsonTooDeep(wide + "1]"));
  EXPECT_TRUE(IsJsonTooDeep(std::string(100'000, '{')));
}

TEST(JsonDepthTest, BracketsInStringsDoNotCount) {
  const std::string many(1000, '[');
  EXPECT_FALSE(IsJsonTooDeep("[\"" + many + "\\\"" + many + "\\\\\"]"));
  EXPECT_TRUE(IsJsonTooDeep("[\"\\\\\", " + many));
}

}  // namespace
}  // namespace agentfs
