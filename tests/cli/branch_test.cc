// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "program.h"

namespace agentfs {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

TEST_F(WorkspaceCliTest, BranchesFork) {
  Do({"fs", "write", "/f"}, "main");
  EXPECT_EQ(Do({"branch", "create", "feature/one"}).out, "feature/one\n");
  Do({"branch", "create", "clean", "--from", "base"});
  Do({"fs", "write", "/f", "--branch", "feature/one"}, "feature");
  EXPECT_EQ(Do({"fs", "cat", "/f"}).out, "main");
  EXPECT_EQ(Do({"fs", "cat", "/f", "--branch", "feature/one"}).out, "feature");
  EXPECT_EQ(Try({"fs", "cat", "/f", "--branch", "clean"}).status, 4);
}

TEST_F(WorkspaceCliTest, BranchListIsATableAndJson) {
  Do({"fs", "write", "/f"}, "x");
  Do({"snapshot", "create", "s"});
  Do({"branch", "create", "b", "--from", "s"});
  auto lines = Do({"branch", "list"}).Lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], MatchesRegex("NAME +ON +CREATED +IN USE"));
  EXPECT_THAT(lines[1], MatchesRegex("b +s +....-..-.. ..:..:.. +no"));
  auto json = Do({"branch", "list", "--json"}).Json();
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["name"], "b");
  EXPECT_EQ(json[0]["on"], "s");
  EXPECT_EQ(json[0]["in_use"], false);
  EXPECT_EQ(json[1]["name"], "main");
}

TEST_F(WorkspaceCliTest, BranchDeleteDropsTheChanges) {
  Do({"branch", "create", "b"});
  Do({"fs", "write", "/f", "--branch", "b"}, "x");
  EXPECT_EQ(Do({"branch", "delete", "b", "--json"}).Json()["deleted"][0], "b");
  EXPECT_EQ(Try({"fs", "ls", "--branch", "b"}).status, 4);
  EXPECT_EQ(Do({"branch", "list", "--json"}).Json().size(), 1u);
}

TEST_F(WorkspaceCliTest, MainCannotBeDeleted) {
  ExpectFailure({"branch", "delete", "main"}, 3, "EBUSY");
  ExpectFailure({"branch", "delete", "main", "--force"}, 3, "EBUSY");
}

TEST_F(WorkspaceCliTest, BranchErrors) {
  ExpectFailure({"branch", "create", "main"}, 3, "EEXIST");
  ExpectFailure({"branch", "create", "bad name"}, 2, "EINVAL");
  ExpectFailure({"branch", "create", "x", "--from", "absent"}, 4, "ENOENT");
  ExpectFailure({"branch", "delete", "absent"}, 4, "ENOENT");
  Do({"branch", "delete", "absent", "--force"});
}

}  // namespace
}  // namespace agentfs
