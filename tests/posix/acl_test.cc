// SPDX-License-Identifier: Apache-2.0
//
// Access control lists: how they go with mode bits and what is inherited.
#include <linux/posix_acl.h>

#include <cstring>

#include "posix_test.h"

namespace agentfs::posix {
namespace {

const std::string kAccess = "system.posix_acl_access";
const std::string kDefault = "system.posix_acl_default";

struct AclEntry {
  uint16_t tag;
  uint16_t permissions;
  uint32_t id = UINT32_MAX;
};

std::string Acl(const std::vector<AclEntry>& entries) {
  const uint32_t version = 2;
  std::string out(reinterpret_cast<const char*>(&version), sizeof version);
  for (const AclEntry& entry : entries) {
    out.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  }
  return out;
}

// With Alice named, and a mask.
std::string Named(uint16_t owner, uint16_t alice, uint16_t group, uint16_t mask, uint16_t other) {
  return Acl({{ACL_USER_OBJ, owner},
              {ACL_USER, alice, kAlice.uid},
              {ACL_GROUP_OBJ, group},
              {ACL_MASK, mask},
              {ACL_OTHER, other}});
}

class AclTest : public PosixTest {
 protected:
  void SetUp() override {
    PosixTest::SetUp();
    if (IsSkipped()) return;
    Value(setup().WriteFile("probe", ""));
    if (setup().SetXattr("probe", kAccess, Named(6, 4, 4, 4, 4)).code() == EOPNOTSUPP) {
      GTEST_SKIP() << "this filesystem has no access control lists";
    }
  }
  std::string Get(std::string_view path, const std::string& name) {
    const auto value = fs().GetXattr(path, name);
    return value.ok() ? *value : ErrnoName(value.code());
  }
};
AGENTFS_FOR_ALL_SUBJECTS(AclTest);

TEST_P(AclTest, TheModeFollowsTheList) {
  Value(setup().WriteFile("f", "", 0644));
  Value(fs().SetXattr("f", kAccess, Named(7, 6, 5, 6, 1)));
  EXPECT_EQ(Mode("f"), 0761u);
  EXPECT_EQ(Get("f", kAccess), Named(7, 6, 5, 6, 1));
}

TEST_P(AclTest, TheListFollowsTheMode) {
  Value(setup().WriteFile("f", "", 0644));
  Value(setup().SetXattr("f", kAccess, Named(6, 6, 4, 6, 4)));
  Value(fs().Chmod("f", 0751));
  EXPECT_EQ(Mode("f"), 0751u);
  EXPECT_EQ(Get("f", kAccess), Named(7, 6, 4, 5, 1));
}

TEST_P(AclTest, SetgidIsForMembersOfTheGroup) {
  NEEDS_OTHERS();
  const auto mode_after = [&](const Identity& who, const std::string& name) {
    EXPECT_OK(fs().Chmod("d", 02777));
    As as(fs(), who);
    EXPECT_OK(fs().SetXattr("d", name, Named(7, 7, 7, 7, 7)));
    return Mode("d");
  };
  Value(setup().MakeDirectory("d"));
  Value(setup().Chown("d", kAlice.uid, kTeam));
  EXPECT_EQ(mode_after(kAlice, kDefault), 02777u);
  EXPECT_EQ(mode_after(kAliceInTeam, kAccess), 02777u);
  EXPECT_EQ(mode_after(kAlice, kAccess), 0777u);
}

TEST_P(AclTest, AListThatIsAModeIsNotKept) {
  Value(setup().WriteFile("f", "", 0644));
  Value(setup().SetXattr("f", kAccess, Named(6, 6, 4, 6, 4)));
  Value(fs().SetXattr("f", kAccess, Acl({{ACL_USER_OBJ, 7}, {ACL_GROUP_OBJ, 1}, {ACL_OTHER, 0}})));
  EXPECT_EQ(Mode("f"), 0710u);
  EXPECT_EQ(Get("f", kAccess), "ENODATA");
}

TEST_P(AclTest, RemovingLeavesTheMode) {
  Value(setup().WriteFile("f", "", 0644));
  Value(setup().SetXattr("f", kAccess, Named(6, 6, 4, 6, 4)));
  Value(fs().RemoveXattr("f", kAccess));
  EXPECT_EQ(Mode("f"), 0664u);
  EXPECT_EQ(Get("f", kAccess), "ENODATA");
  EXPECT_OK(fs().RemoveXattr("f", kAccess));
}

TEST_P(AclTest, FilesInheritTheDefaultInsteadOfTheUmask) {
  Value(setup().MakeDirectory("d"));
  Value(setup().SetXattr("d", kDefault, Named(7, 7, 5, 7, 4)));
  Value(fs().WriteFile("d/f", "", 0666));
  EXPECT_EQ(Mode("d/f"), 0664u);
  EXPECT_EQ(Get("d/f", kAccess), Named(6, 7, 5, 6, 4));
  EXPECT_EQ(Get("d/f", kDefault), "ENODATA");
  Value(fs().WriteFile("d/closed", "", 0600));
  EXPECT_EQ(Mode("d/closed"), 0600u);
  EXPECT_EQ(Get("d/closed", kAccess), Named(6, 7, 5, 0, 0));
}

TEST_P(AclTest, DirectoriesInheritAndPassOn) {
  Value(setup().MakeDirectory("d"));
  Value(setup().SetXattr("d", kDefault, Named(7, 5, 5, 5, 0)));
  Value(fs().MakeDirectory("d/e"));
  EXPECT_EQ(Mode("d/e"), 0750u);
  EXPECT_EQ(Get("d/e", kDefault), Named(7, 5, 5, 5, 0));
  EXPECT_EQ(Get("d/e", kAccess), Named(7, 5, 5, 5, 0));
  Value(fs().MakeNode("d/e/fifo", S_IFIFO | 0666, 0));
  EXPECT_EQ(Get("d/e/fifo", kAccess), Named(6, 5, 5, 4, 0));
  Value(fs().MakeSymlink("x", "d/e/link"));
  EXPECT_EQ(Stat("d/e/link").mode & 0777, 0777u);
}

TEST_P(AclTest, APlainDefaultIsAMode) {
  Value(setup().MakeDirectory("d"));
  const std::string plain = Acl({{ACL_USER_OBJ, 7}, {ACL_GROUP_OBJ, 7}, {ACL_OTHER, 7}});
  Value(setup().SetXattr("d", kDefault, plain));
  Value(fs().WriteFile("d/f", "", 0666));
  EXPECT_EQ(Mode("d/f"), 0666u);
  EXPECT_EQ(Get("d/f", kAccess), "ENODATA");
  Value(fs().RemoveXattr("d", kDefault));
  Value(fs().WriteFile("d/g", "", 0666));
  EXPECT_EQ(Mode("d/g"), 0644u);
}

TEST_P(AclTest, Errors) {
  Value(setup().WriteFile("f", ""));
  EXPECT_ERRNO(fs().SetXattr("f", kAccess, "nonsense"), EOPNOTSUPP);
  EXPECT_ERRNO(fs().SetXattr("f", kAccess, Acl({{ACL_USER_OBJ, 7}, {ACL_OTHER, 7}})), EINVAL);
  EXPECT_ERRNO(fs().SetXattr("f", kAccess, Named(7, 7, 7, 15, 7)), EINVAL);
  EXPECT_ERRNO(fs().SetXattr("f", kDefault, Named(7, 7, 7, 7, 7)), EACCES);
}

TEST_P(AclTest, NamedUsersGetIn) {
  NEEDS_OTHERS();
  if (!native() && !mounted()) GTEST_SKIP() << "lists are checked by a kernel";
  Value(setup().WriteFile("f", "content", 0600));
  Value(setup().SetXattr("f", kAccess, Named(6, 4, 0, 4, 0)));
  {
    As as(fs(), kAlice);
    EXPECT_EQ(Content("f"), "content");
    EXPECT_ERRNO(fs().Open("f", O_WRONLY), EACCES);
  }
  As as(fs(), kBob);
  EXPECT_ERRNO(fs().Open("f", O_RDONLY), EACCES);
}

}  // namespace
}  // namespace agentfs::posix
