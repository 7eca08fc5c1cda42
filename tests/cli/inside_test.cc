// SPDX-License-Identifier: Apache-2.0
//
// The control plane from inside a mount: ioctl on .agentfs/control.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "adapters/control/client.h"
#include "adapters/fuse/dispatcher.h"
#include "mounted.h"

namespace agentfs {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class InsideCliTest : public MountCliTest {
 protected:
  void SetUp() override {
    MountCliTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Do({"branch", "create", "one"});
    Do({"mount", At("mnt"), "--branch", "one"});
  }

  // The answer, or the errno of the ioctl.
  static json AskRaw(const std::string& root, std::string_view text, uint32_t size,
                     unsigned long command = fuse::kControlIoctl) {
    const int control = ::open((root + "/.agentfs/control").c_str(), O_RDONLY | O_CLOEXEC);
    if (control < 0) return "cannot open it";
    auto buffer = std::make_unique<fuse::ControlBuffer>();
    buffer->size = size;
    std::memcpy(buffer->bytes, text.data(), std::min(text.size(), sizeof buffer->bytes));
    const int asked = ::ioctl(control, command, buffer.get());
    const int code = errno;
    ::close(control);
    if (asked != 0) return ::strerrorname_np(code);
    return json::parse(std::string(buffer->bytes, buffer->size), nullptr, false);
  }
  static json Ask(const std::string& root, const std::string& request, const json& arguments = {},
                  int version = 1) {
    json message = {{"version", version}, {"request", request}};
    if (!arguments.is_null()) message["arguments"] = arguments;
    const std::string text = message.dump();
    return AskRaw(root, text, static_cast<uint32_t>(text.size()));
  }
  std::string mnt() const { return At("mnt"); }
};

TEST_F(InsideCliTest, AProcessSnapshotsItsOwnBranch) {
  Write(InMount("f"), "then");
  const json made = Ask(mnt(), "snapshot.create", {{"name", "mine"}, {"message", "from inside"}});
  ASSERT_EQ(made["ok"], true) << made;
  EXPECT_EQ(made["result"]["branch"], "one");
  Write(InMount("f"), "now");
  EXPECT_EQ(Read(InMount(".agentfs/snapshots/mine/f")), "then");
  EXPECT_EQ(Do({"fs", "cat", "/f", "--snapshot", "mine"}).out, "then");
}

TEST_F(InsideCliTest, OtherBranchesAreNotItsConcern) {
  Do({"snapshot", "create", "of-main"});
  const json other = Ask(mnt(), "snapshot.create", {{"branch", "main"}});
  EXPECT_EQ(other["error"]["code"], "EPERM") << other;
  EXPECT_THAT(other["error"]["message"].get<std::string>(), HasSubstr("'one'"));
  ASSERT_EQ(Ask(mnt(), "snapshot.create", {{"name", "mine"}})["ok"], true);
  const json list = Ask(mnt(), "snapshot.list");
  ASSERT_EQ(list["result"].size(), 1u) << list;
  EXPECT_EQ(list["result"][0]["name"], "mine");
  for (const char* request : {"status", "branch.create", "branch.delete", "branch.bind", "restore",
                              "mount", "shutdown", "session"}) {
    EXPECT_EQ(Ask(mnt(), request)["error"]["code"], "EPERM") << request;
  }
  EXPECT_EQ(Ask(mnt(), "capabilities")["result"]["requests"],
            json({"capabilities", "snapshot.create", "snapshot.list"}));
}

TEST_F(InsideCliTest, InASessionWithAllBranchesItIsTheOneThatItIsReachedThrough) {
  auto client = control::ControlClient::Connect(state() + "/control.sock");
  ASSERT_TRUE(client.ok());
  auto session = client->Call("session", nlohmann::ordered_json::object());
  ASSERT_TRUE(session.ok()) << session.error().message();
  const std::string root = (*session)["root"].get<std::string>() + "/branches/";
  EXPECT_EQ(Ask(root + "main", "snapshot.create", {{"name", "m"}})["result"]["branch"], "main");
  EXPECT_EQ(Ask(root + "one", "snapshot.create", {{"name", "o"}})["result"]["branch"], "one");
}

TEST_F(InsideCliTest, WhatCannotBeUnderstoodIsAnsweredClearly) {
  const json version = Ask(mnt(), "snapshot.create", {}, 2);
  EXPECT_EQ(version["error"]["code"], "EPROTONOSUPPORT");
  EXPECT_THAT(version["error"]["message"].get<std::string>(), HasSubstr("version 2"));
  EXPECT_EQ(Ask(mnt(), "no.such")["error"]["code"], "ENOSYS");
  EXPECT_EQ(AskRaw(mnt(), "nonsense", 8)["error"]["code"], "EBADMSG");
  EXPECT_EQ(AskRaw(mnt(), "", 0)["error"]["code"], "EBADMSG");
  EXPECT_EQ(Ask(mnt(), "snapshot.create", {{"name", 7}})["error"]["code"], "EINVAL");
  // A size that the buffer does not have, and an ioctl that is not ours.
  EXPECT_EQ(AskRaw(mnt(), "{}", fuse::kMaxControlBytes + 1), "EINVAL");
  EXPECT_EQ(AskRaw(mnt(), "{}", UINT32_MAX), "EINVAL");
  EXPECT_EQ(AskRaw(mnt(), "{}", 2, _IOWR('A', 2, fuse::ControlBuffer)), "ENOTTY");
  EXPECT_EQ(AskRaw(mnt(), "{}", 2, _IOWR('A', 1, uint32_t)), "ENOTTY");
  const std::string longest = json{{"version", 1},
                                   {"request", "snapshot.create"},
                                   {"arguments", {{"message", std::string(16'000, 'x')}}}}
                                  .dump();
  EXPECT_EQ(AskRaw(mnt(), longest, static_cast<uint32_t>(longest.size()))["ok"], true);
}

}  // namespace
}  // namespace agentfs
