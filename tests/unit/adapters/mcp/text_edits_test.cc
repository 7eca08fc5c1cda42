// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/text_edits.h"

#include <gtest/gtest.h>

namespace agentfs::mcp {
namespace {

std::string Edited(const std::string& text, const std::string& from, const std::string& to) {
  const auto edited = ApplyEdits(text, {{from, to}});
  return edited.ok() ? *edited : "failed: " + edited.error().message();
}

TEST(TextEditsTest, TheFirstExactPlaceIsReplaced) {
  EXPECT_EQ(Edited("a b a b", "a", "$&"), "$& b a b");
  EXPECT_EQ(Edited("one\ntwo", "one\r\ntwo", "1\r\n2"), "1\n2");
}

TEST(TextEditsTest, LinesThatDifferInWhiteSpaceKeepTheirIndentation) {
  EXPECT_EQ(Edited("if x:\n    a()\n    b()\n", "a()\nb()", "c()\nd()"), "if x:\n    c()\nd()\n");
  EXPECT_EQ(Edited("{\n\t\tf();\n\t\t  g();\n}", "  f();\n    g();", "  h();\n      i();"),
            "{\n\t\th();\n\t\t  i();\n}");
}

TEST(TextEditsTest, EditsBuildOnEachOther) {
  EXPECT_EQ(ApplyEdits("a", {{"a", "b"}, {"b", "c"}}).value(), "c");
}

TEST(TextEditsTest, WhatIsNowhereIsAnError) {
  EXPECT_EQ(Edited("a", "z\ny", "x"), "failed: Could not find exact match for edit:\nz\ny");
}

TEST(TextEditsTest, ThePatchIsInABlockWithAFenceThatItDoesNotContain) {
  EXPECT_EQ(PatchBlock("/f", "a\n", "b\n").value(),
            "```diff\nIndex: /f\n" + std::string(67, '=') +
                "\n--- /f\toriginal\n+++ /f\tmodified\n@@ -1 +1 @@\n-a\n+b\n```\n\n");
  EXPECT_TRUE(PatchBlock("/f", "````\n", "b\n").value().starts_with("`````diff\n"));
}

TEST(TextEditsTest, LineEndsOfDosAreKnown) {
  EXPECT_TRUE(HasDosLineEnds("a\r\nb\r\n"));
  EXPECT_FALSE(HasDosLineEnds("a\r\nb\n"));
  EXPECT_FALSE(HasDosLineEnds("a"));
  EXPECT_EQ(WithDosLineEnds(WithPlainLineEnds("a\r\nb\r\n")), "a\r\nb\r\n");
}

}  // namespace
}  // namespace agentfs::mcp
