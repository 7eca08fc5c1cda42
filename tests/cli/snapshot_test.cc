// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "program.h"

namespace agentfs {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

TEST_F(WorkspaceCliTest, ASnapshotKeepsWhatWas) {
  Do({"fs", "write", "/f"}, "one");
  EXPECT_EQ(Do({"snapshot", "create", "first", "-m", "a message"}).out, "first\n");
  Do({"fs", "write", "/f"}, "two");
  EXPECT_EQ(Do({"fs", "cat", "/f"}).out, "two");
  EXPECT_EQ(Do({"fs", "cat", "/f", "--snapshot", "first"}).out, "one");
  const std::string id = Do({"snapshot", "list", "--json"}).Json()[0]["id"];
  EXPECT_THAT(id, MatchesRegex("s[0-9]+"));
  EXPECT_EQ(Do({"fs", "cat", "/f", "--snapshot", id}).out, "one");
}

TEST_F(WorkspaceCliTest, SnapshotsWithoutANameAreCalledByTheirId) {
  auto made = Do({"snapshot", "create", "--json"}).Json();
  EXPECT_EQ(made["name"], made["id"]);
  EXPECT_EQ(Do({"fs", "ls", "--snapshot", made["id"]}).out, "README\nsrc\n");
}

TEST_F(WorkspaceCliTest, SnapshotListIsATableAndJson) {
  EXPECT_EQ(Do({"snapshot", "list", "--json"}).out, "[]\n");
  Do({"snapshot", "create", "a", "-m", "first"});
  Do({"branch", "create", "b"});
  Do({"snapshot", "create", "c", "--branch", "b"});
  auto lines = Do({"snapshot", "list"}).Lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], MatchesRegex("ID +NAME +BRANCH +CREATED +MESSAGE"));
  EXPECT_THAT(lines[1], MatchesRegex("s[0-9]+ +a +main +....-..-.. ..:..:.. +first"));
  auto json = Do({"snapshot", "list", "--json"}).Json();
  EXPECT_EQ(json[0]["message"], "first");
  EXPECT_EQ(json[1]["name"], "c");
  EXPECT_EQ(json[1]["branch"], "b");
}

TEST_F(WorkspaceCliTest, ADeletedSnapshotLeavesItsBranches) {
  Do({"fs", "write", "/f"}, "one");
  Do({"snapshot", "create", "s"});
  Do({"branch", "create", "b", "--from", "s"});
  EXPECT_EQ(Do({"snapshot", "delete", "s", "--json"}).Json()["deleted"][0], "s");
  EXPECT_EQ(Do({"fs", "cat", "/f", "--branch", "b"}).out, "one");
  EXPECT_EQ(Try({"fs", "cat", "/f", "--snapshot", "s"}).status, 4);
}

TEST_F(WorkspaceCliTest, SnapshotErrors) {
  Do({"snapshot", "create", "s"});
  ExpectFailure({"snapshot", "create", "s"}, 3, "EEXIST");
  ExpectFailure({"snapshot", "create", "bad name"}, 2, "EINVAL");
  ExpectFailure({"snapshot", "create", ".dot"}, 2, "EINVAL");
  ExpectFailure({"snapshot", "create", std::string(129, 'n')}, 2, "EINVAL");
  ExpectFailure({"snapshot", "create", "x", "--branch", "absent"}, 4, "ENOENT");
  ExpectFailure({"snapshot", "delete", "absent"}, 4, "ENOENT");
  EXPECT_THAT(Try({"snapshot", "delete", "absent"}).err, HasSubstr("absent"));
}

}  // namespace
}  // namespace agentfs
