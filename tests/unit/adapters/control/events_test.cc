// SPDX-License-Identifier: Apache-2.0
#include "adapters/control/events.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "control_rig.h"

namespace agentfs::control {
namespace {

Event Created(const std::string& path, const std::string& branch = "main") {
  Event event;
  event.kind = EventKind::kCreated;
  event.branch = branch;
  event.path = path;
  return event;
}

bool IsReadable(int fd) {
  struct pollfd wait = {fd, POLLIN, 0};
  return ::poll(&wait, 1, 0) == 1;
}

TEST(EventHubTest, EverySubscriberGetsEveryEventInOrder) {
  EventHub hub;
  EXPECT_FALSE(hub.HasSubscribers());
  auto one = *hub.Subscribe("");
  auto two = *hub.Subscribe("");
  EXPECT_TRUE(hub.HasSubscribers());
  hub.Publish(Created("/a"));
  hub.Publish(Created("/b"));
  for (const auto& each : {one, two}) {
    EXPECT_TRUE(IsReadable(each->descriptor()));
    auto events = each->Take();
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].path, "/a");
    EXPECT_EQ(events[1].path, "/b");
    EXPECT_FALSE(IsReadable(each->descriptor()));
    EXPECT_TRUE(each->Take().empty());
  }
}

TEST(EventHubTest, ASlowSubscriberLosesWithANoticeAndOthersDoNot) {
  EventHub hub;
  auto slow = *hub.Subscribe("", 2);
  auto quick = *hub.Subscribe("", 100);
  for (int i = 0; i < 5; ++i) hub.Publish(Created("/" + std::to_string(i)));
  EXPECT_EQ(quick->Take().size(), 5u);
  auto events = slow->Take();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].path, "/1");
  EXPECT_EQ(events[2].kind, EventKind::kLost);
  EXPECT_EQ(events[2].count, 3u);
  hub.Publish(Created("/later"));
  EXPECT_EQ(slow->Take().size(), 1u);
}

TEST(EventHubTest, ABranchIsAllThatItsSubscriberHearsOf) {
  EventHub hub;
  auto subscription = *hub.Subscribe("agent");
  hub.Publish(Created("/a", "main"));
  hub.Publish(Created("/b", "agent"));
  auto events = subscription->Take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].path, "/b");
}

TEST(EventHubTest, WhoLetsGoIsForgotten) {
  EventHub hub;
  (*hub.Subscribe("")).reset();
  hub.Publish(Created("/a"));
  EXPECT_FALSE(hub.HasSubscribers());
}

TEST_F(ControlTest, OperationsAreEvents) {
  auto subscription = *events_.Subscribe("");
  Do("snapshot.create", {{"name", "one"}});
  Do("branch.create", {{"name", "b"}});
  Do("restore", {{"ref", "one"}});
  Do("branch.delete", {{"name", "b"}});
  Do("snapshot.delete", {{"name", "s1"}});
  std::vector<std::string> seen;
  for (const Event& event : subscription->Take()) {
    seen.push_back(std::string(NameOf(event.kind)) + " " + event.branch + " " + event.name);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"snapshot-created main one", "branch-created b main",
                                            "branch-restored main one", "branch-deleted b ",
                                            "snapshot-deleted main s1"}));
}

}  // namespace
}  // namespace agentfs::control
