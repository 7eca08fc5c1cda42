// SPDX-License-Identifier: Apache-2.0
#include "agentfs/approvals.h"

#include "core_rig.h"

namespace agentfs {
namespace {

class ApprovalsTest : public CoreTest {};

TEST_F(ApprovalsTest, IsTakenOnceByWhoAskedForIt) {
  OpenOverBase();
  const std::string id = Get(KeepApproval(volume(), 7, "request"));
  EXPECT_EQ(TakeApproval(volume(), 8, id).code(), EPERM);
  EXPECT_EQ(Get(TakeApproval(volume(), 7, id)), "request");
  EXPECT_EQ(TakeApproval(volume(), 7, id).code(), EALREADY);
  EXPECT_EQ(TakeApproval(volume(), 7, "a0").code(), ENOENT);
}

TEST_F(ApprovalsTest, NoTwoHaveTheSameId) {
  OpenOverBase();
  EXPECT_NE(Get(KeepApproval(volume(), 7, "r")), Get(KeepApproval(volume(), 7, "r")));
}

}  // namespace
}  // namespace agentfs
