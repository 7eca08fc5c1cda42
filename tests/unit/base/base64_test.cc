// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <gtest/gtest.h>

namespace agentfs {
namespace {

TEST(Base64Test, GivesTheVectorsOfTheRfc) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foob"), "Zm9vYg==");
  EXPECT_EQ(Base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xff\xfe\xfd"), "//79");
}

TEST(Base64Test, WhatWasWrittenIsReadBack) {
  for (const std::string& bytes : {std::string(), std::string("f"), std::string("fo"),
                                   std::string("foo"), std::string("\0\xff\x80", 3)}) {
    EXPECT_EQ(BytesOfBase64(Base64(bytes)), bytes);
  }
}

TEST(Base64Test, WhatIsNoneIsRefused) {
  for (const char* text : {"Z", "Zg=", "Zg", "Zh==", "Z===", "Zm9v!m9v"}) {
    EXPECT_EQ(BytesOfBase64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace agentfs
