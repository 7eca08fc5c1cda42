// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "adapters/control/client.h"
#include "adapters/control/message.h"
#include "adapters/control/socket_server.h"
#include "control_rig.h"
#include "scratch.h"

namespace agentfs::control {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

class SocketTest : public ControlTest {
 protected:
  void SetUp() override { Start(scratch_ / "control.sock"); }

  void Start(const std::string& path, SocketServer::Options options = {}) {
    server_.reset();
    path_ = path;
    auto server = SocketServer::Start(path, *service_, std::move(options));
    ASSERT_TRUE(server.ok()) << server.error().message();
    server_ = std::move(server).value();
  }
  ControlClient Connect() {
    auto client = ControlClient::Connect(path_);
    if (!client.ok()) throw std::runtime_error(client.error().message());
    return std::move(client).value();
  }
  // A connection that has been greeted.
  Fd Raw() {
    Fd fd = std::move(ConnectUnix(path_)).value();
    EXPECT_TRUE(ReadMessage(fd.get())->has_value());
    return fd;
  }
  // What is left on the connection until its end.
  static std::string Rest(const Fd& fd) {
    std::string text;
    char piece[4096];
    for (ssize_t n; (n = ::read(fd.get(), piece, sizeof(piece))) > 0;) {
      text.append(piece, static_cast<size_t>(n));
    }
    return text;
  }

  Scratch scratch_;
  std::string path_;
  std::unique_ptr<SocketServer> server_;
};

TEST_F(SocketTest, AnswersOneRequestAfterTheOther) {
  ControlClient client = Connect();
  EXPECT_EQ(client.program(), "1.2.3");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(client.Call("snapshot.create", Json::object()).ok());
  EXPECT_EQ(client.Call("snapshot.list", Json::object())->size(), 3u);
  auto failed = client.Call("branch.create", {{"name", "main"}});
  EXPECT_EQ(failed.code(), EEXIST);
  EXPECT_TRUE(client.Call("status", Json::object()).ok());
}

TEST_F(SocketTest, IsForItsOwnerAlone) {
  struct stat st;
  ASSERT_EQ(::stat(path_.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
}

TEST_F(SocketTest, PathsMayBeLongerThanASocketsAddress) {
  std::string deep = scratch_ / "";
  for (int i = 0; i < 10; ++i) {
    deep += std::string(100, 'd') + "/";
    MakeHostDirectory(deep);
  }
  Start(deep + "control.sock");
  EXPECT_TRUE(Connect().Call("status", Json::object()).ok());
}

TEST_F(SocketTest, AStaleSocketIsReplacedAndRecognised) {
  server_.reset();
  { Fd left = std::move(ListenUnix(path_)).value(); }
  EXPECT_EQ(ControlClient::Connect(path_).code(), ENOTCONN);
  Start(path_);
  EXPECT_TRUE(Connect().Call("status", Json::object()).ok());
}

TEST_F(SocketTest, GarbageEndsItsOwnConnectionOnly) {
  ControlClient bystander = Connect();
  Fd garbage = Raw();
  ASSERT_TRUE(SendAll(garbage.get(), std::string(64, 'x')).ok());
  EXPECT_THAT(Rest(garbage), HasSubstr("EPROTO"));

  Fd large = Raw();
  ASSERT_TRUE(SendAll(large.get(), std::string("AGFS\xff\xff\xff\xff\0\0\0\0", 12)).ok());
  EXPECT_THAT(Rest(large), HasSubstr("EPROTO"));

  Fd half = Raw();
  ASSERT_TRUE(SendAll(half.get(), std::string("AGFS\x10\0\0", 7)).ok());
  ::shutdown(half.get(), SHUT_WR);
  EXPECT_THAT(Rest(half), HasSubstr("EPROTO"));

  Fd no_json = Raw();
  ASSERT_TRUE(WriteMessage(no_json.get(), "nonsense").ok());
  EXPECT_THAT((*ReadMessage(no_json.get()))->text, HasSubstr("EBADMSG"));
  ASSERT_TRUE(WriteMessage(no_json.get(), R"({"version":1,"request":"branch.list"})").ok());
  EXPECT_THAT((*ReadMessage(no_json.get()))->text, HasSubstr("main"));

  EXPECT_TRUE(bystander.Call("status", Json::object()).ok());
}

TEST_F(SocketTest, ALackOfMemoryEndsOneConnectionOnly) {
  ControlClient bystander = Connect();
  host_.out_of_memory = true;
  EXPECT_FALSE(Connect().Call("status", Json::object()).ok());
  EXPECT_TRUE(bystander.Call("status", Json::object()).ok());
  EXPECT_TRUE(Connect().Call("status", Json::object()).ok());
}

TEST_F(SocketTest, CommandsGetTheirArgumentsAndStreams) {
  int out[2];
  ASSERT_EQ(::pipe2(out, O_CLOEXEC), 0);
  Fd read_end(out[0]), write_end(out[1]);
  const int streams[] = {0, write_end.get(), 2};
  const std::string payload("/dir\0fs\0\0\xff\0", 10);
  auto outcome = Connect().Call("command", {{"program", "1.2.3"}}, payload, streams);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ((*outcome)["status"], 42);
  write_end.Reset();
  EXPECT_EQ(Rest(read_end), "/dir|fs||\xff");
  EXPECT_EQ(Connect().Call("command", {{"program", "1.2.3"}}, payload).code(), EBADMSG);
}

TEST_F(SocketTest, SubscribersSeeWhatOthersDo) {
  ControlClient subscriber = Connect();
  ASSERT_TRUE(subscriber.Call("subscribe", Json::object()).ok());
  ASSERT_TRUE(Connect().Call("snapshot.create", {{"name", "one"}}).ok());
  auto event = subscriber.NextEvent();
  ASSERT_TRUE(event.ok() && event->has_value());
  EXPECT_EQ((**event)["event"], "snapshot-created");
  EXPECT_EQ((**event)["name"], "one");
  server_.reset();
  EXPECT_FALSE(subscriber.NextEvent()->has_value());
}

TEST_F(SocketTest, ASubscriberWhoDoesNotReadHoldsNobodyUp) {
  ControlClient subscriber = Connect();
  ASSERT_TRUE(subscriber.Call("subscribe", Json::object()).ok());
  Event event;
  event.kind = EventKind::kCreated;
  event.path = std::string(4000, 'p');
  for (int i = 0; i < 20'000; ++i) events_.Publish(event);
  uint64_t seen = 0, lost = 0;
  while (seen + lost < 20'000) {
    auto next = subscriber.NextEvent();
    ASSERT_TRUE(next.ok() && next->has_value());
    if ((**next)["event"] == "lost") {
      lost += (**next)["count"].get<uint64_t>();
    } else {
      ++seen;
    }
  }
  EXPECT_GT(lost, 0u);
  EXPECT_GE(seen, EventHub::kQueueLength);
}

TEST_F(SocketTest, TooManyConnectionsAreToldSo) {
  SocketServer::Options options;
  options.max_connections = 1;
  Start(scratch_ / "one.sock", std::move(options));
  ControlClient first = Connect();
  auto second = ControlClient::Connect(path_);
  EXPECT_EQ(second.code(), EAGAIN);
}

TEST_F(SocketTest, StopsOnlyWhenUnused) {
  {
    ControlClient client = Connect();
    EXPECT_FALSE(server_->StopIfUnused());
    EXPECT_TRUE(client.Call("status", Json::object()).ok());
  }
  while (!server_->StopIfUnused()) std::this_thread::yield();
  EXPECT_EQ(ControlClient::Connect(path_).code(), ENOTCONN);
  EXPECT_NE(::access(path_.c_str(), F_OK), 0);
}

TEST_F(SocketTest, TheLastClientMaySeeTheProcessEnd) {
  SocketServer::Options options;
  options.may_leave = [] { return true; };
  Start(scratch_ / "leave.sock", std::move(options));
  ControlClient client = Connect();
  EXPECT_EQ((*client.Call("leave", Json::object()))["leaving"], true);
  while (!server_->StopIfUnused()) std::this_thread::yield();
  EXPECT_FALSE(client.WaitForEnd(0));
  server_.reset();
  EXPECT_TRUE(client.WaitForEnd(10'000));
}

TEST_F(SocketTest, ConnectionsTellWhenTheyEnd) {
  std::atomic<uint64_t> ended = 0;
  SocketServer::Options options;
  options.disconnected = [&](uint64_t number) { ended = number; };
  Start(scratch_ / "ends.sock", std::move(options));
  { ControlClient client = Connect(); }
  while (ended == 0) std::this_thread::yield();
  EXPECT_EQ(ended, 1u);
  server_.reset();
}

}  // namespace
}  // namespace agentfs::control
