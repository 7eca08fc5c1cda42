// SPDX-License-Identifier: Apache-2.0
//
// The same operations without any crash: the model and the volume agree, and the volume is whole
// after each one. What fails here is no matter of crashes.
#include <gtest/gtest.h>

#include "history.h"

namespace agentfs::crash {
namespace {

class SteadyTest : public testing::TestWithParam<Setup> {};

// Looks after every `step` operations: those between are committed together.
void Work(const Setup& setup, uint64_t seed, uint32_t step) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Workspace workspace(setup);
  auto volume = OpenVolume(setup, workspace.state_directory(), workspace.base_directory(), 5);
  ASSERT_TRUE(volume.ok()) << volume.error().message();
  History history(FirstState(workspace.base_tree()), seed, setup.large);
  auto worker = std::make_unique<Worker>(**volume);
  for (uint32_t i = 1; i <= 120 && !testing::Test::HasFailure(); ++i) {
    const Operation operation = MakeOperation(seed, i);
    SCOPED_TRACE(std::to_string(i) + ": " + ToString(operation));
    history.Returned(i, worker->Perform(operation));
    if (i % step != 0) continue;
    ASSERT_TRUE((*volume)->Flush(Durability::kNone).ok());
    history.Verify(**volume, i);
    if ((seed + i / step) % 9 != 0) continue;
    worker.reset();
    ASSERT_TRUE((*volume)->Close().ok());
    volume->reset();
    volume = OpenVolume(setup, workspace.state_directory(), workspace.base_directory(), 5);
    ASSERT_TRUE(volume.ok()) << volume.error().message();
    worker = std::make_unique<Worker>(**volume);
  }
  worker.reset();
  EXPECT_TRUE((*volume)->Close().ok());
}

TEST_P(SteadyTest, EveryOperationLeavesTheVolumeWhole) {
  for (uint64_t i = 0; i < 3 && !HasFailure(); ++i) Work(GetParam(), FirstSeed() + 900'001 + i, 1);
}

TEST_P(SteadyTest, EveryFewOperationsLeaveTheVolumeWhole) {
  for (uint64_t i = 0; i < 16 && !HasFailure(); ++i) Work(GetParam(), FirstSeed() + 910'001 + i, 8);
}

INSTANTIATE_TEST_SUITE_P(Setups, SteadyTest, testing::ValuesIn(AllSetups()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace agentfs::crash
