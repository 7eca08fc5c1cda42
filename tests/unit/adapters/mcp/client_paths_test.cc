// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/client_paths.h"

#include "mcp_rig.h"
#include "scratch.h"

namespace agentfs::mcp {
namespace {

class ClientPathsTest : public McpTest {
 protected:
  Result<std::string> ToView(std::string_view path) { return paths_.ToView(files(), path); }
  const ClientPaths paths_{"/home/me/project"};
};

TEST_F(ClientPathsTest, RealRelativeAndWorkspacePathsMeanTheSame) {
  for (const char* path : {"/home/me/project/src/a.c", "/src/a.c", "src/a.c", "./src//a.c",
                           "/home/me/project/x/../src/a.c", "../src/a.c"}) {
    EXPECT_EQ(ToView(path).value(), "/src/a.c") << path;
  }
  EXPECT_EQ(ToView("/home/me/project").value(), "/");
  EXPECT_EQ(ToView("/home/me/project/").value(), "/");
}

TEST_F(ClientPathsTest, APathOfTheHostIsOutside) {
  EXPECT_EQ(ToView("/etc/passwd").code(), EACCES);
  EXPECT_EQ(ToView("/home/me/project/../../../etc/passwd").code(), EACCES);
  ASSERT_TRUE(files().CreateDirectory("/etc").ok());
  EXPECT_EQ(ToView("/etc/passwd").value(), "/etc/passwd");  // the workspace's own
}

TEST_F(ClientPathsTest, ALinkOnTheHostToTheWorkspaceWillDo) {
  const Scratch scratch;
  const std::string real = scratch / "real", link = scratch / "link";
  MakeHostDirectory(real);
  MakeHostLink("real", link);
  const ClientPaths paths(real);
  EXPECT_EQ(paths.ToView(files(), link + "/a/b").value(), "/a/b");
  EXPECT_EQ(paths.ToView(files(), link).value(), "/");
  EXPECT_EQ(paths.ToView(files(), scratch / "other").code(), EACCES);
}

TEST_F(ClientPathsTest, ANeighbourWithTheSameBeginningIsNotInside) {
  const auto path = ToView("/home/me/project2/a");
  EXPECT_TRUE(path.code() == EACCES || *path == "/home/me/project2/a");
}

TEST_F(ClientPathsTest, UrisKeepAllBytes) {
  const std::string odd = "/a b/%41#?\xff.txt";
  EXPECT_EQ(paths_.ToUri(odd), "file:///home/me/project/a%20b/%2541%23%3F%FF.txt");
  EXPECT_EQ(paths_.FromUri(paths_.ToUri(odd)).value(), odd);
  for (const char* uri :
       {"", "file:", "http://x/", "file:///etc/passwd", "file:///home/me/project/%4",
        "file:///home/me/project/..", "file:///home/me/project/%00"}) {
    EXPECT_EQ(paths_.FromUri(uri).code(), EINVAL) << uri;
  }
}

}  // namespace
}  // namespace agentfs::mcp
