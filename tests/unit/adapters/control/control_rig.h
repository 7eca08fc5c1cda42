// SPDX-License-Identifier: Apache-2.0
//
// A control service over a volume in memory, with mounts that only remember what was asked of them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "adapters/control/operations.h"
#include "adapters/control/service.h"

namespace agentfs::control {

class FakeMounts : public MountHost {
 public:
  Result<MountState> Mount(const MountRequest& request) override;
  Result<void> Unmount(std::string_view point, UnmountForce force) override;
  std::vector<MountState> List() override;
  std::vector<MountUser> Users(std::string_view point) override;
  Result<void> FlushPages(std::string_view branch) override;
  void Settle() override {}
  void FlushInvalidations() override {}
  void BranchReplaced(std::string_view branch) override;
  Result<std::string> SessionRoot() override { return std::string("/run/session"); }
  Result<BindState> Bind(const BindRequest& request) override;
  std::vector<BoundProcess> ListBound() override { return {{8, "make", "main", "/base"}}; }
  bool Release(std::string_view branch) override;
  void Forget(std::string_view, const std::vector<Touched::Name>&) override {}

  Result<std::string> BeginRun(const RunRequest& request) override;
  std::vector<RunRequest> Runs() override { return {}; }
  void EndRun(uint64_t) override {}
  void NoteExec(uint64_t, uint64_t, AuditLevel) override {}
  std::vector<std::string> Calls();
  bool busy = false;

 private:
  absl::Mutex mu_;
  std::vector<MountState> mounts_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mu_);
};

class FakeHost : public ServiceHost {
 public:
  Result<CommandOutcome> RunCommand(CommandRequest request, const Peer& peer) override;
  Result<void> Shutdown(UnmountForce) override { return Ok(); }
  void Describe(nlohmann::ordered_json& status) override {
    if (out_of_memory.exchange(false)) throw std::bad_alloc();
    status["described"] = true;
  }
  std::atomic<bool> out_of_memory = false;  // the next Describe is
};

class ControlTest : public testing::Test {
 protected:
  ControlTest();

  // The answer to a request from this process.
  nlohmann::json Ask(const std::string& name, const nlohmann::json& arguments = {},
                     const Peer& peer = {}, const std::string& payload = {});
  // The same for one whose success is expected: its result.
  nlohmann::json Do(const std::string& name, const nlohmann::json& arguments = {});

  std::unique_ptr<Volume> volume_;
  FakeMounts mounts_;
  FakeHost host_;
  EventHub events_;
  std::unique_ptr<Operations> operations_;
  std::unique_ptr<ControlService> service_;
};

}  // namespace agentfs::control
