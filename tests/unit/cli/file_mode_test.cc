// SPDX-License-Identifier: Apache-2.0
#include "cli/file_mode.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace agentfs::cli {
namespace {

TEST(ModeStringTest, ReadsLikeLs) {
  EXPECT_EQ(ModeString(S_IFREG | 0644), "-rw-r--r--");
  EXPECT_EQ(ModeString(S_IFDIR | 01777), "drwxrwxrwt");
  EXPECT_EQ(ModeString(S_IFREG | 06711), "-rws--s--x");
  EXPECT_EQ(ModeString(S_IFREG | 07000), "---S--S--T");
  EXPECT_EQ(ModeString(S_IFLNK | 0777), "lrwxrwxrwx");
  EXPECT_EQ(ModeString(S_IFIFO), "p---------");
}

struct Case {
  const char* text;
  uint32_t before, after;
};

class ChangeModeTest : public testing::TestWithParam<Case> {};

// What chmod(1) of coreutils does with the same input and umask 022.
TEST_P(ChangeModeTest, DoesWhatChmodDoes) {
  auto mode = ChangeMode(GetParam().text, GetParam().before, 022);
  ASSERT_TRUE(mode.ok()) << mode.error().message();
  EXPECT_EQ(*mode, GetParam().after) << std::oct << *mode;
}

INSTANTIATE_TEST_SUITE_P(
    Table, ChangeModeTest,
    testing::Values(Case{"644", S_IFREG | 0777, 0644}, Case{"04755", S_IFREG, 04755},
                    Case{"0", S_IFREG | 0777, 0}, Case{"u+x", S_IFREG | 0644, 0744},
                    Case{"+x", S_IFREG | 0644, 0755}, Case{"a-w", S_IFREG | 0666, 0444},
                    Case{"go-rwx", S_IFREG | 0777, 0700}, Case{"u=rw,go=r", S_IFREG | 0777, 0644},
                    Case{"a=rX", S_IFREG | 0666, 0444}, Case{"a=rX", S_IFREG | 0766, 0555},
                    Case{"a+X", S_IFDIR | 0644, 0755}, Case{"u+s,g+s,+t", S_IFREG | 0755, 07755},
                    Case{"g=u", S_IFREG | 0640, 0660}, Case{"o=", S_IFREG | 0777, 0770},
                    Case{"u+r-w", S_IFREG | 0200, 0400}, Case{"u+w", S_IFREG | 04555, 04755},
                    Case{"+w", S_IFREG | 0444, 0644}));

TEST(ChangeModeErrors, RefusesWhatIsNoMode) {
  for (const char* text :
       {"", "9", "888", "77777", "100000", "u", "x", "u+q", "u+x,", ",u+x", "rwx", "u~x", "-1"}) {
    EXPECT_EQ(ChangeMode(text, S_IFREG | 0644, 022).code(), EINVAL) << text;
  }
}

TEST(TypeNameTest, NamesEveryType) {
  EXPECT_EQ(TypeName(S_IFREG), "file");
  EXPECT_EQ(TypeName(S_IFDIR), "directory");
  EXPECT_EQ(TypeName(S_IFLNK), "symlink");
  EXPECT_EQ(TypeName(S_IFIFO), "fifo");
  EXPECT_EQ(TypeName(S_IFSOCK), "socket");
  EXPECT_EQ(TypeName(S_IFBLK), "block");
  EXPECT_EQ(TypeName(S_IFCHR), "character");
}

}  // namespace
}  // namespace agentfs::cli
