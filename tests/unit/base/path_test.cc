// SPDX-License-Identifier: Apache-2.0
#include "agentfs/path.h"

#include <gtest/gtest.h>

namespace agentfs {
namespace {

using std::string_literals::operator""s;

struct Case {
  std::string input, normal;
};

class NormalizePathTest : public testing::TestWithParam<Case> {};

TEST_P(NormalizePathTest, GivesTheNormalForm) {
  auto normal = NormalizePath(GetParam().input);
  ASSERT_TRUE(normal.ok()) << normal.error().message();
  EXPECT_EQ(*normal, GetParam().normal);
  // A normal form is its own.
  auto again = NormalizePath(*normal);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *normal);
}

INSTANTIATE_TEST_SUITE_P(
    Table, NormalizePathTest,
    testing::Values(Case{"/", "/"}, Case{"//", "/"}, Case{".", "/"}, Case{"..", "/"},
                    Case{"/..", "/"}, Case{"/../../..", "/"}, Case{"a", "/a"}, Case{"/a", "/a"},
                    Case{"a/", "/a"}, Case{"/a//b///c/", "/a/b/c"}, Case{"./a/./b/.", "/a/b"},
                    Case{"/a/../b", "/b"}, Case{"/a/b/../../c", "/c"}, Case{"/a/../../b", "/b"},
                    Case{"/a/b/..", "/a"}, Case{"/a/..", "/"}, Case{"\\", "/"},
                    Case{"\\a\\b", "/a/b"}, Case{"a\\..\\..\\b", "/b"}, Case{"a/\\b\\/c", "/a/b/c"},
                    Case{"C:\\dir\\f.txt", "/C:/dir/f.txt"}, Case{"/...", "/..."},
                    Case{"/..a/b..", "/..a/b.."}, Case{"/.a", "/.a"}, Case{" ", "/ "},
                    Case{"/a b\tc\n", "/a b\tc\n"}, Case{"/\xff\xfe/\x80", "/\xff\xfe/\x80"},
                    Case{"/" + std::string(255, 'n'), "/" + std::string(255, 'n')},
                    Case{"/" + std::string(255, '\xc3') + "/..", "/"}));

TEST(NormalizePathErrors, RefusesWhatNoFileCanBeCalled) {
  EXPECT_EQ(NormalizePath("").code(), EINVAL);
  EXPECT_EQ(NormalizePath("/a\0b"s).code(), EINVAL);
  EXPECT_EQ(NormalizePath("\0"s).code(), EINVAL);
  EXPECT_EQ(NormalizePath("/" + std::string(256, 'n')).code(), ENAMETOOLONG);
  EXPECT_EQ(NormalizePath("/a/" + std::string(256, 'n') + "/../b").code(), ENAMETOOLONG);
}

TEST(NormalizePathErrors, LongPathsOfShortNamesAreFine) {
  std::string path;
  for (int i = 0; i < 5000; ++i) path += "/component";
  auto normal = NormalizePath(path);
  ASSERT_TRUE(normal.ok());
  EXPECT_EQ(*normal, path);
}

TEST(SplitPathTest, GivesTheComponents) {
  EXPECT_TRUE(SplitPath("/").empty());
  EXPECT_EQ(SplitPath("/a"), (std::vector<std::string_view>{"a"}));
  EXPECT_EQ(SplitPath("/a/bc/d"), (std::vector<std::string_view>{"a", "bc", "d"}));
}

TEST(ParentPathTest, CutsTheLastComponent) {
  EXPECT_EQ(ParentPath("/a/b"), "/a");
  EXPECT_EQ(ParentPath("/a"), "/");
  EXPECT_EQ(ParentPath("/"), "/");
}

TEST(FileNameTest, IsTheLastComponent) {
  EXPECT_EQ(FileName("/a/b"), "b");
  EXPECT_EQ(FileName("/a"), "a");
  EXPECT_EQ(FileName("/"), "");
}

TEST(CheckNameTest, SaysWhatOneComponentMayBe) {
  EXPECT_EQ(CheckName("a"), 0);
  EXPECT_EQ(CheckName("back\\slash"), 0);
  EXPECT_EQ(CheckName("\xff"), 0);
  EXPECT_EQ(CheckName(std::string(255, 'x')), 0);
  EXPECT_EQ(CheckName(""), ENOENT);
  EXPECT_EQ(CheckName("a/b"), EINVAL);
  EXPECT_EQ(CheckName("a\0b"s), EINVAL);
  EXPECT_EQ(CheckName(std::string(256, 'x')), ENAMETOOLONG);
}

}  // namespace
}  // namespace agentfs
