// SPDX-License-Identifier: Apache-2.0
#include "history.h"

#include <gtest/gtest.h>

#include <utility>

namespace agentfs::crash {

int History::Reach(size_t i) {
  while (states_.size() <= i) {
    State next = states_.back();
    const Operation operation = MakeOperation(seed_, static_cast<uint32_t>(states_.size()));
    codes_.push_back(Apply(operation, large_, &next));
    states_.push_back(std::move(next));
  }
  return codes_[i];
}

void History::Returned(uint32_t i, int code) {
  if (i == 0) return;
  const Operation operation = MakeOperation(seed_, i);
  EXPECT_EQ(code, Reach(i)) << "operation " << i << ": " << ToString(operation);
  acknowledged_ = i;
  if (operation.IsSync() && code == 0) synced_ = i;
}

void History::Returned(const std::vector<Report>& reports) {
  for (const Report& report : reports) Returned(report.operation, report.code);
}

State History::Verify(Volume& volume, size_t first, Crash crash) {
  Reach(acknowledged_ + 1);
  auto checked = volume.Check(false);
  EXPECT_TRUE(checked.ok());
  if (checked.ok()) {
    for (const FsckProblem& problem : checked->problems) {
      ADD_FAILURE() << "fsck: " << problem.what;
    }
  }
  auto actual = Look(volume);
  if (!actual.ok()) {
    ADD_FAILURE() << actual.error().message();
    return states_[first];
  }
  const Match match = FindState({states_, first, acknowledged_ + 1, crash}, *actual);
  if (!match.state) {
    std::string operations;
    for (size_t i = first; i <= acknowledged_ + 1; ++i) {
      operations += "\n  " + std::to_string(i) + ": " +
                    ToString(MakeOperation(seed_, static_cast<uint32_t>(i))) + " = " +
                    std::to_string(codes_[i]);
    }
    ADD_FAILURE() << "no prefix of the acknowledged operations:" << match.differences
                  << "\noperations:" << operations;
    return states_[first];
  }
  return Adopt(states_[*match.state], *actual);
}

}  // namespace agentfs::crash
