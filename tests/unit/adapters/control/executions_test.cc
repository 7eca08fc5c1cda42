// SPDX-License-Identifier: Apache-2.0
#include "adapters/control/executions.h"

#include "agentfs/exec_log.h"
#include "agentfs/files.h"
#include "control_rig.h"

namespace agentfs::control {
namespace {

class ExecutionsTest : public ControlTest {
 protected:
  ExecutionsTest() : executions_(*operations_, "") {
    request_.argv = {"true"};
    decision_.action = policy::Action::kAllow;
  }

  Result<ExecutionBegun> Begin(uint64_t connection) {
    return executions_.Begin({request_, decision_}, {7, 1, connection});
  }
  ExecutionSummary End(uint64_t connection) {
    auto summary = executions_.End({.status = 3, .signal = 0, .details = "{}"}, connection);
    EXPECT_TRUE(summary.ok()) << summary.error().message();
    return summary.ok() ? *summary : ExecutionSummary();
  }
  void Write(const std::string& path, const std::string& text) {
    auto view = volume_->OpenBranch(request_.branch);
    ASSERT_TRUE(view.ok());
    ASSERT_TRUE(Files(*view).WriteBytes(path, text).ok());
  }
  size_t Snapshots() { return volume_->ListSnapshots().size(); }
  ExecRecord Record(uint64_t exec) { return GetExec(*volume_, exec).value().value(); }

  Executions executions_;
  ExecutionRequest request_;
  policy::ExecutionDecision decision_;
};

TEST_F(ExecutionsTest, TellsWhatWasChangedSinceItBegan) {
  Write("/before", "1");
  const auto begun = Begin(1);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(begun->place.session, "/session");
  Write("/before", "12");
  Write("/new", "123");
  const ExecutionSummary summary = End(1);
  ASSERT_EQ(summary.changed_files.size(), 2u);
  EXPECT_EQ(summary.changed_files[0].path, "/before");
  EXPECT_EQ(summary.changed_files[0].size_before, 1u);
  EXPECT_EQ(summary.changed_files[0].size_after, 2u);
  EXPECT_EQ(summary.changed_files[1].path, "/new");
  EXPECT_EQ(summary.changed_files[1].size_before, std::nullopt);
  EXPECT_NE(summary.checkpoint, "");
  const ExecRecord record = Record(begun->exec);
  EXPECT_EQ(record.status, 3);
  EXPECT_EQ(record.start.uid, 7u);
  EXPECT_EQ(record.start.kind, "exec");
}

TEST_F(ExecutionsTest, KeepsTheCheckpointThatTheModeAsksFor) {
  Write("/f", "1");
  ASSERT_TRUE(Begin(1).ok());
  EXPECT_EQ(End(1).checkpoint, "");  // it changed nothing
  EXPECT_EQ(Snapshots(), 0u);
  request_.checkpoint = CheckpointMode::kAlways;
  ASSERT_TRUE(Begin(1).ok());
  EXPECT_NE(End(1).checkpoint, "");
  EXPECT_EQ(Snapshots(), 1u);
  Write("/f", "2");
  request_.checkpoint = CheckpointMode::kNever;
  ASSERT_TRUE(Begin(1).ok());
  Write("/f", "3");
  const ExecutionSummary summary = End(1);
  EXPECT_EQ(summary.checkpoint, "");
  EXPECT_EQ(summary.changed_files.size(), 1u);
  EXPECT_EQ(Snapshots(), 1u);
}

TEST_F(ExecutionsTest, APointThatAnotherIsComparedWithStays) {
  Write("/f", "1");
  ASSERT_TRUE(Begin(1).ok());
  ASSERT_TRUE(Begin(2).ok());
  EXPECT_EQ(End(1).checkpoint, "");
  Write("/f", "2");
  EXPECT_EQ(End(2).changed_files.size(), 1u);
}

TEST_F(ExecutionsTest, ADirectoryThatIsNotThereMakesNothing) {
  Write("/file", "1");
  request_.branch = "new";
  request_.cwd = "/none";
  EXPECT_EQ(Begin(1).code(), ENOENT);
  request_.cwd = "/file";
  EXPECT_EQ(Begin(1).code(), ENOTDIR);
  EXPECT_EQ(volume_->ListBranches().size(), 1u);
}

TEST_F(ExecutionsTest, AConnectionRunsOneAtATimeAndWhatItLeavesIsLost) {
  const auto begun = Begin(1);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(Begin(1).code(), EBUSY);
  executions_.Abandon(1);
  EXPECT_EQ(Record(begun->exec).status, kExecLost);
  EXPECT_EQ(executions_.End({}, 1).code(), ENOENT);
  EXPECT_TRUE(Begin(1).ok());
}

TEST_F(ExecutionsTest, ARefusalIsRecorded) {
  decision_.action = policy::Action::kDeny;
  decision_.rule = "workspace:no";
  const auto exec = executions_.Refuse({request_, decision_}, {7, 1, 1});
  ASSERT_TRUE(exec.ok());
  EXPECT_EQ(Record(*exec).status, kExecRefused);
  EXPECT_EQ(Record(*exec).start.action, "deny");
  EXPECT_EQ(Record(*exec).start.rule, "workspace:no");
}

}  // namespace
}  // namespace agentfs::control
