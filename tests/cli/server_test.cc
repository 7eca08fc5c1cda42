// SPDX-License-Identifier: Apache-2.0
//
// The server's life: started, left, killed, and disturbed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "adapters/control/client.h"
#include "mounted.h"
#include "sys/unix_socket.h"

namespace agentfs {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

TEST_F(MountCliTest, AKilledServerLosesNothingThatWasSynced) {
  for (int round = 0; round < 3; ++round) {
    Mount();
    const std::string name = "synced" + std::to_string(round);
    const int file = ::open(InMount(name).c_str(), O_CREAT | O_WRONLY, 0644);
    ASSERT_GE(file, 0);
    ASSERT_EQ(::write(file, "data", 4), 4);
    ASSERT_EQ(::fsync(file), 0);
    KillServer();
    // Who has a file open gets errors, and does not hang.
    while (::fsync(file) == 0) ::usleep(1000);
    ::close(file);
    if (round % 2 == 0) {
      EXPECT_EQ(Do({"fs", "cat", "/" + name}).out, "data");
      EXPECT_FALSE(IsMounted(At("mnt")));
    }
    Mount();
    EXPECT_EQ(Read(InMount(name)), "data");
    Unmount();
    EXPECT_EQ(Do({"fsck"}).status, 0);
  }
}

TEST_F(MountCliTest, UnmountRemovesWhatADeadServerLeft) {
  Mount();
  const pid_t server = ServerPid();
  KillServer();
  WaitForEnd(server);
  Outcome outcome = Try({"umount", At("mnt")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_FALSE(IsMounted(At("mnt")));
  Mount();
  KillServer();
  Do({"umount", "--all"});
  EXPECT_FALSE(IsMounted(At("mnt")));
}

// What was let in while there was room, and others have filled the disk since.
TEST_F(MountCliTest, WhileTheDiskIsFullTheServerStaysWithWhatItCouldNotSave) {
  MakeHostDirectory("small");
  const std::string small = At("small"), workspace = small + "/state";
  ASSERT_EQ(::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=64m"), 0);
  ASSERT_EQ(Run({"init", At("base"), "--state", workspace}).status, 0);
  std::string config = Read(workspace + "/config.toml");
  const std::string_view often = "interval_ms = 100\n", seldom = "interval_ms = 60000\n";
  ASSERT_NE(config.find(often), config.npos);
  WriteHost("small/state/config.toml", config.replace(config.find(often), often.size(), seldom));
  const auto on_small = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--workspace", workspace});
    return Run(arguments);
  };
  ASSERT_EQ(on_small({"mount", At("mnt")}).status, 0);
  for (int i = 0; i < 100; ++i) Write(InMount("many" + std::to_string(i)), std::string(60000, 'x'));
  Write(InMount("last"), "words");
  const int file = ::open((small + "/filler").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
  const std::string piece(1 << 12, 'x');
  while (::write(file, piece.data(), piece.size()) > 0) {
  }
  ::close(file);
  EXPECT_EQ(on_small({"umount", "--all"}).status, 125);
  EXPECT_EQ(on_small({"fs", "rm", "/README"}).status, 125);
  ASSERT_EQ(::mount("tmpfs", small.c_str(), "tmpfs", MS_REMOUNT, "size=128m"), 0);
  EXPECT_EQ(on_small({"fs", "cat", "/last"}).out, "words");
  EXPECT_EQ(on_small({"umount", "--all"}).status, 0);
  EXPECT_EQ(on_small({"fs", "cat", "/last"}).out, "words");
}

TEST_F(MountCliTest, SigtermSavesUnmountsAndLeaves) {
  Mount();
  Write(InMount("new"), "kept");
  const int open_file = ::open(InMount("README").c_str(), O_RDONLY | O_CLOEXEC);
  const pid_t server = ServerPid();
  ASSERT_EQ(::kill(server, SIGTERM), 0);
  WaitForEnd(server);
  EXPECT_FALSE(IsMounted(At("mnt")));
  ::close(open_file);
  EXPECT_FALSE(std::filesystem::exists(state() + "/control.sock"));
  EXPECT_FALSE(std::filesystem::exists(state() + "/mounts"));
  EXPECT_EQ(Do({"fs", "cat", "/new"}).out, "kept");
}

TEST_F(MountCliTest, OfSeveralStartersOneServesAndAllSucceed) {
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) MakeHostDirectory("m" + std::to_string(i));
  for (int i = 0; i < 6; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const std::string point = At("m" + std::to_string(i));
      ::execl(AGENTFS_BINARY, "agentfs", "--quiet", "--workspace", state().c_str(), "mount",
              point.c_str(), nullptr);
      ::_exit(99);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Do({"status", "--json"}).Json()["mounts"].size(), 6u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(Read(At("m" + std::to_string(i) + "/README")), "read me\n");
  Do({"umount", "--all"});
}

TEST_F(MountCliTest, ManyMountsAndUnmountsInARow) {
  for (int i = 0; i < 10; ++i) {
    Mount();
    Write(InMount("n" + std::to_string(i)), "x");
    Unmount();
  }
  EXPECT_EQ(Do({"fs", "ls", "/"}).Lines().size(), 12u);
}

TEST_F(MountCliTest, GarbageOnTheSocketHarmsNobody) {
  Mount();
  auto socket = ConnectUnix(state() + "/control.sock");
  ASSERT_TRUE(socket.ok());
  ASSERT_TRUE(SendAll(socket->get(), std::string(1000, '\xff')).ok());
  auto half = ConnectUnix(state() + "/control.sock");
  ASSERT_TRUE(SendAll(half->get(), std::string("AGFS")).ok());
  EXPECT_EQ(Do({"fs", "cat", "/README"}).out, "read me\n");
  EXPECT_EQ(Read(InMount("README")), "read me\n");
}

// To the first OPEN of a mount the kernel is told that it need not send any, nor a RELEASE for each
// file that is created.
TEST_F(MountCliTest, CreatedFilesAreNotReleasedByMessages) {
  Mount();
  for (int i = 0; i < 5; ++i) Write(InMount(std::to_string(i)), "made here");
  Do({"run", "--", "sh", "-c", "for i in a b c d e; do echo $i > $i; done"});
  auto client = control::ControlClient::Connect(state() + "/control.sock");
  ASSERT_TRUE(client.ok());
  const auto statistics = client->Call("statistics", Json::object());
  ASSERT_TRUE(statistics.ok());
  EXPECT_THAT(statistics->dump(), HasSubstr("\"CREATE\""));
  EXPECT_THAT(statistics->dump(), Not(HasSubstr("\"RELEASE\"")));
}

TEST_F(MountCliTest, AServerWithoutAMountLeavesByItself) {
  // Started by a mount that is refused, while somebody is connected.
  Mount();
  auto client = control::ControlClient::Connect(state() + "/control.sock");
  ASSERT_TRUE(client.ok());
  const pid_t server = ServerPid();
  Unmount();
  EXPECT_EQ(ServerPid(), server) << "somebody is connected";
  EXPECT_TRUE(client->Call("status", Json::object()).ok());
  client = Error(ENOTCONN);
  WaitForEnd(server);
  EXPECT_EQ(Do({"fs", "cat", "/README"}).out, "read me\n");
}

TEST_F(MountCliTest, ShutdownEndsTheServer) {
  Mount();
  const pid_t server = ServerPid();
  auto client = control::ControlClient::Connect(state() + "/control.sock");
  ASSERT_TRUE(client.ok());
  EXPECT_TRUE(client->Call("shutdown", Json::object()).ok());
  EXPECT_TRUE(client->WaitForEnd(30'000));
  WaitForEnd(server);
  EXPECT_FALSE(IsMounted(At("mnt")));
}

TEST_F(MountCliTest, RestoreOfAMountedBranchShowsAtOnce) {
  Mount();
  Write(InMount("README"), "before");
  Do({"snapshot", "create", "before"});
  Write(InMount("README"), "after, and longer");
  Write(InMount("more"), "x");
  EXPECT_EQ(Read(InMount("README")), "after, and longer");
  auto client = control::ControlClient::Connect(state() + "/control.sock");
  ASSERT_TRUE(client.ok());
  auto restored = client->Call("restore", {{"ref", "before"}});
  ASSERT_TRUE(restored.ok()) << restored.error().message();
  EXPECT_EQ(Read(InMount("README")), "before");
  EXPECT_FALSE(std::filesystem::exists(InMount("more")));
  const std::string replaced = (*restored)["replaced"]["name"];
  EXPECT_EQ(Do({"fs", "cat", "/README", "--snapshot", replaced}).out, "after, and longer");
}

TEST_F(MountCliTest, SubscribersHearOfFilesByPath) {
  Mount();
  Do({"branch", "create", "other"});
  auto subscriber = control::ControlClient::Connect(state() + "/control.sock");
  ASSERT_TRUE(subscriber.ok());
  ASSERT_TRUE(subscriber->Call("subscribe", Json::object()).ok());
  auto next = [&](const std::string& kind) {
    // Attributes and times change along: what is not asked for is passed over.
    for (;;) {
      auto event = subscriber->NextEvent();
      if (!event.ok() || !event->has_value()) return std::string("none");
      if ((**event)["event"] != kind) continue;
      return (**event).value("branch", "") + " " + (**event).value("path", "") + " " +
             (**event).value("new_path", "");
    }
  };
  Write(InMount("src/new"), "x");
  EXPECT_EQ(next("created"), "main /src/new ");
  EXPECT_EQ(next("modified"), "main /src/new ");
  std::filesystem::rename(InMount("src/new"), InMount("moved"));
  EXPECT_EQ(next("renamed"), "main /src/new /moved");
  std::filesystem::remove(InMount("moved"));
  EXPECT_EQ(next("removed"), "main /moved ");
  Do({"fs", "mkdir", "/d", "--branch", "other"});
  EXPECT_EQ(next("created"), "other /d ");
  Do({"branch", "delete", "other"});
  EXPECT_EQ(next("branch-deleted"), "other  ");
}

TEST_F(MountCliTest, AnotherProtocolVersionIsAnswered) {
  Mount();
  auto socket = ConnectUnix(state() + "/control.sock");
  const std::string text = R"({"version":77,"request":"status"})";
  std::string message = "AGFS";
  message += {static_cast<char>(text.size()), 0, 0, 0, 0, 0, 0, 0};
  ASSERT_TRUE(SendAll(socket->get(), message + text).ok());
  std::string answer(4096, '\0');
  std::vector<Fd> none;
  while (answer.find("EPROTONOSUPPORT") == std::string::npos) {
    auto n = ReceiveSome(socket->get(), answer, none);
    ASSERT_TRUE(n.ok() && *n > 0);
  }
}

}  // namespace
}  // namespace agentfs
