// SPDX-License-Identifier: Apache-2.0
#include "policy/inline_script.h"

#include <gtest/gtest.h>

namespace agentfs::policy {
namespace {

TEST(InlineScriptTest, SedThatOnlyPrints) {
  for (const char* script : {"p",
                             "1,5p",
                             "$!N;P;D",
                             "/a/,/b/p",
                             "s/a/b/",
                             "s/a\\/b/c/gI",
                             "s|a|b|2p",
                             "y/abc/xyz/",
                             "/x/{s/a/b/;p;}",
                             "\\,x,d",
                             "1~2d",
                             "/a/I,+3!d",
                             "a hello e",
                             "i\\\ntext",
                             ":a;N;$!ba;s/\\n/ /g",
                             "s/[/]/x/",
                             "s/[^]e/]/x/",
                             "# e\np",
                             "10q5",
                             "="}) {
    EXPECT_EQ(ClassifySed(script), CategorySet()) << script;
  }
}

TEST(InlineScriptTest, SedThatWrites) {
  for (const char* script : {"w out", "/a/w out", "s/a/b/w out", "s/a/b/gw out", "W out"}) {
    EXPECT_EQ(ClassifySed(script), CategorySet(Category::kMutating)) << script;
  }
}

TEST(InlineScriptTest, SedThatRunsCommandsOrIsNotUnderstood) {
  for (const char* script : {"e", "1e ls", "s/a/b/e", "s/a/b/ge", "/x/e", "p;e ls", "s/a/b", "s",
                             "k", "y/a", "{e", "!e", "s/[e/b/e", "s\na\nb\n"}) {
    EXPECT_TRUE(ClassifySed(script).Has(Category::kHostEscapeRisk)) << script;
  }
}

TEST(InlineScriptTest, Awk) {
  EXPECT_EQ(ClassifyAwk("{print $1}"), CategorySet());
  EXPECT_EQ(ClassifyAwk("$1 == 2 || $3 ~ /x/"), CategorySet());
  EXPECT_EQ(ClassifyAwk("{print > \"out\"}"), CategorySet(Category::kMutating));
  for (const char* script : {"{system(x)}", "{x | getline}", "{print | \"sh\"}", "@load \"x\"",
                             "{print |& x}", "{a ||| b}"}) {
    EXPECT_TRUE(ClassifyAwk(script).Has(Category::kHostEscapeRisk)) << script;
  }
}

}  // namespace
}  // namespace agentfs::policy
