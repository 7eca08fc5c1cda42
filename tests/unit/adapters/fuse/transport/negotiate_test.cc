// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/negotiate.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "adapters/fuse/transport/processors.h"
#include "adapters/fuse/transport/uring_transport.h"
#include "memory_handler.h"
#include "served_mount.h"

namespace agentfs::fuse::test {
namespace {

fuse_init_in Kernel(uint32_t minor, uint64_t flags) {
  fuse_init_in in{};
  in.major = 7;
  in.minor = minor;
  in.max_readahead = 128 << 10;
  in.flags = static_cast<uint32_t>(flags);
  in.flags2 = static_cast<uint32_t>(flags >> 32);
  return in;
}

TEST(NegotiateTest, AnOldKernelIsAskedForNothingThatItLacks) {
  const uint64_t linux_5_4 = 0x01ffffff;  // without INIT_EXT and all that came later
  const Agreement agreed = Agree(Kernel(31, linux_5_4), {});
  EXPECT_EQ(agreed.answer.minor, 31u);
  EXPECT_EQ(agreed.answer.flags & ~linux_5_4, 0u);
  EXPECT_EQ(agreed.answer.flags2, 0u);
  EXPECT_EQ(agreed.capabilities.max_write, 1u << 20);
  EXPECT_FALSE(agreed.capabilities.Has(Feature::kHandleKillpriv2));
}

TEST(NegotiateTest, FlagsAboveThirtyOneNeedInitExt) {
  Wanted wanted;
  wanted.features = wanted.features.With(Feature::kPassthrough).With(Feature::kOverIoUring);
  const Agreement with = Agree(Kernel(45, UINT64_MAX), wanted);
  EXPECT_TRUE(with.capabilities.Has(Feature::kPassthrough));
  EXPECT_EQ(with.answer.max_stack_depth, 1u);
  EXPECT_EQ(with.answer.flags2, (1u << 3) | (1u << 5) | (1u << 9));
  wanted.features = wanted.features.Without(Feature::kInitExt);
  const Agreement without = Agree(Kernel(45, UINT64_MAX), wanted);
  EXPECT_EQ(without.answer.flags2, 0u);
  EXPECT_EQ(without.answer.max_stack_depth, 0u);
  EXPECT_FALSE(without.capabilities.Has(Feature::kOverIoUring));
}

TEST(NegotiateTest, PassthroughExcludesWriteback) {
  Wanted wanted;
  wanted.features = wanted.features.With(Feature::kPassthrough).With(Feature::kWriteback);
  EXPECT_FALSE(Agree(Kernel(45, UINT64_MAX), wanted).capabilities.Has(Feature::kWriteback));
  wanted.features = wanted.features.Without(Feature::kPassthrough);
  EXPECT_TRUE(Agree(Kernel(45, UINT64_MAX), wanted).capabilities.Has(Feature::kWriteback));
}

TEST(NegotiateTest, WithoutMaxPagesRequestsAreSmall) {
  Wanted wanted;
  wanted.features = wanted.features.Without(Feature::kMaxPages);
  const Agreement agreed = Agree(Kernel(45, UINT64_MAX), wanted);
  EXPECT_EQ(agreed.answer.max_pages, 0u);
  EXPECT_EQ(agreed.answer.max_write, 128u << 10);
}

TEST(NegotiateTest, NothingIsInvalidatedByTimeOrByItself) {
  const Agreement agreed = Agree(Kernel(45, UINT64_MAX), {});
  EXPECT_EQ(agreed.answer.flags & (FUSE_AUTO_INVAL_DATA | FUSE_EXPLICIT_INVAL_DATA), 0u);
  EXPECT_EQ(agreed.answer.flags & (FUSE_SPLICE_READ | FUSE_SPLICE_WRITE | FUSE_SPLICE_MOVE), 0u);
  EXPECT_EQ(agreed.answer.flags & (FUSE_POSIX_LOCKS | FUSE_FLOCK_LOCKS), 0u);
}

TEST(NegotiateTest, EveryFeatureHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (Feature feature : AllFeatures()) names.insert(NameOf(feature));
  EXPECT_EQ(names.size(), AllFeatures().size());
  EXPECT_EQ(names.count("?"), 0u);
}

TEST(ProcessorsTest, ListsAreParsed) {
  EXPECT_EQ(ParseProcessorList("0"), (std::vector<int>{0}));
  EXPECT_EQ(ParseProcessorList("0-2,5,7-8"), (std::vector<int>{0, 1, 2, 5, 7, 8}));
  for (const char* bad : {"", "a", "1-", "1,,2", "1 2", "-1", "99999999"}) {
    EXPECT_TRUE(ParseProcessorList(bad).empty()) << bad;
  }
}

TEST(UringPlanTest, EveryPossibleProcessorHasAQueueAndOfflineOnesShareAThread) {
  const UringPlan plan = PlanUring({{0, 1, 2, 3}, {0, 2}}, 0);
  ASSERT_EQ(plan.first.size(), 3u);
  EXPECT_EQ(plan.first[0].processor, 0);
  EXPECT_EQ(plan.first[1].queues, (std::vector<uint16_t>{2}));
  EXPECT_EQ(plan.first[2].queues, (std::vector<uint16_t>{1, 3}));
  EXPECT_EQ(plan.first[2].processor, -1);
  EXPECT_EQ(plan.further.size(), 2u * (16 - 1));
}

TEST(UringPlanTest, ManyProcessorsHaveFewerThreadsEach) {
  Processors many;
  for (int i = 0; i < 64; ++i) many.possible.push_back(i);
  many.online = many.possible;
  const UringPlan plan = PlanUring(many, 0);
  EXPECT_EQ(plan.first.size(), 64u);
  EXPECT_EQ(plan.further.size(), 64u);
}

// The same filesystem with each feature left out.
struct Without {
  Way way;
  Feature feature;
};

class FeatureOffTest : public testing::TestWithParam<Without> {};

TEST_P(FeatureOffTest, FilesWorkAsEver) {
  const auto [way, feature] = GetParam();
  if (const std::string why = WhyNot(way); !why.empty()) GTEST_SKIP() << why;
  MemoryHandler handler;
  handler.Put("a", "first");
  ServedOptions options;
  options.way = way;
  options.wanted.features = options.wanted.features.With(Feature::kPassthrough);
  options.wanted.features = options.wanted.features.Without(feature);
  auto served = ServedMount::Start(handler, options);
  ASSERT_TRUE(served.ok()) << served.error().message();
  ServedMount& mount = **served;
  EXPECT_FALSE(mount.capabilities().Has(feature));
  EXPECT_EQ(ReadWhole(mount.Path("a")).value(), "first");
  const std::string bytes(3 << 20, 'b');
  EXPECT_TRUE(WriteWhole(mount.Path("b"), bytes).ok());
  EXPECT_EQ(handler.Content("b"), bytes);
  EXPECT_EQ(ReadWhole(mount.Path("b")).value(), bytes);
  EXPECT_EQ(mount.transport().statistics().rejected, 0u);
  served = Error(ENOENT);  // before the handler goes
}

std::vector<Without> AllWithout() {
  std::vector<Without> all;
  for (Way way : {Way::kDevice, Way::kUring}) {
    for (Feature feature : AllFeatures()) {
      if (DefaultFeatures().Has(feature) || feature == Feature::kPassthrough) {
        all.push_back({way, feature});
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, FeatureOffTest, testing::ValuesIn(AllWithout()),
                         [](const auto& info) {
                           std::string name = info.param.way == Way::kDevice ? "Device" : "Uring";
                           for (char c : NameOf(info.param.feature)) {
                             name += std::isalnum(c) != 0 ? c : '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace agentfs::fuse::test
