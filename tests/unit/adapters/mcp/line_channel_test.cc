// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/line_channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/fd.h"

namespace agentfs::mcp {
namespace {

using Event = LineChannel::Event;

class LineChannelTest : public testing::Test {
 protected:
  LineChannelTest() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    in_ = Fd(ends[0]);
    writer_ = Fd(ends[1]);
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    client_ = Fd(ends[0]);
    other_ = Fd(ends[1]);
  }
  void Put(std::string_view data) {
    ASSERT_EQ(::write(writer_.get(), data.data(), data.size()), static_cast<ssize_t>(data.size()));
  }

  Fd in_, writer_, client_, other_;
  std::string line_;
};

TEST_F(LineChannelTest, LinesComeInPiecesAndTogether) {
  LineChannel channel({in_.get(), -1, client_.get()}, 100);
  Put("one\ntw");
  EXPECT_EQ(channel.Read(line_, -1), Event::kLine);
  EXPECT_EQ(line_, "one");
  EXPECT_EQ(channel.Read(line_, 0), Event::kTimeout);
  Put("o\n\nrest");
  EXPECT_EQ(channel.Read(line_, -1), Event::kLine);
  EXPECT_EQ(line_, "two");
  EXPECT_EQ(channel.Read(line_, -1), Event::kLine);
  EXPECT_EQ(line_, "");
  writer_.Reset();
  EXPECT_EQ(channel.Read(line_, -1), Event::kLine);
  EXPECT_EQ(line_, "rest");
  EXPECT_EQ(channel.Read(line_, -1), Event::kEnd);
}

TEST_F(LineChannelTest, ALineOverTheLimitIsPassedOver) {
  LineChannel channel({in_.get(), -1, client_.get()}, 8);
  Put(std::string(30, 'x'));
  EXPECT_EQ(channel.Read(line_, 0), Event::kTimeout);
  Put(std::string(30, 'x') + "\n12345678\n123456789\n");
  EXPECT_EQ(channel.Read(line_, -1), Event::kTooLong);
  EXPECT_EQ(channel.Read(line_, -1), Event::kLine);
  EXPECT_EQ(line_, "12345678");
  EXPECT_EQ(channel.Read(line_, -1), Event::kTooLong);
}

TEST_F(LineChannelTest, AClientThatIsGoneEndsReadingAndWriting) {
  LineChannel channel({in_.get(), writer_.get(), client_.get()}, 100);
  EXPECT_FALSE(channel.IsGone());
  other_.Reset();
  EXPECT_EQ(channel.Read(line_, -1), Event::kGone);
  EXPECT_TRUE(channel.IsGone());
  EXPECT_FALSE(channel.Write("x"));
}

}  // namespace
}  // namespace agentfs::mcp
