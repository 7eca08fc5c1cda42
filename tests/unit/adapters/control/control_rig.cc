// SPDX-License-Identifier: Apache-2.0
#include "control_rig.h"

#include <unistd.h>

#include <algorithm>

#include "agentfs/stores.h"

namespace agentfs::control {

Result<MountState> FakeMounts::Mount(const MountRequest& request) {
  absl::MutexLock lock(&mu_);
  MountState state;
  state.point = request.point;
  state.branch = request.branch;
  state.profile = request.profile;
  mounts_.push_back(state);
  return state;
}

Result<void> FakeMounts::Unmount(std::string_view point, UnmountForce force) {
  if (busy && force == UnmountForce::kNo) return Error(EBUSY, "in use");
  absl::MutexLock lock(&mu_);
  const auto gone =
      std::erase_if(mounts_, [&](const MountState& each) { return each.point == point; });
  return gone > 0 ? Ok() : Error(ENOENT);
}

std::vector<MountState> FakeMounts::List() {
  absl::MutexLock lock(&mu_);
  return mounts_;
}

std::vector<MountUser> FakeMounts::Users(std::string_view) { return {{7, "vim"}}; }

Result<void> FakeMounts::FlushPages(std::string_view branch) {
  absl::MutexLock lock(&mu_);
  calls_.push_back("flush " + std::string(branch));
  return Ok();
}

void FakeMounts::BranchReplaced(std::string_view branch) {
  absl::MutexLock lock(&mu_);
  calls_.push_back("replaced " + std::string(branch));
}

Result<BindState> FakeMounts::Bind(const BindRequest& request) {
  BindState state;
  state.branch = request.branch;
  state.path = request.path;
  state.processes = {{request.pid, "make"}};
  return state;
}

bool FakeMounts::Release(std::string_view branch) {
  absl::MutexLock lock(&mu_);
  calls_.push_back("release " + std::string(branch));
  return true;
}

Result<std::string> FakeMounts::BeginRun(const RunRequest& request) {
  absl::MutexLock lock(&mu_);
  calls_.push_back("run " + request.branch);
  return std::string("/session");
}

std::vector<std::string> FakeMounts::Calls() {
  absl::MutexLock lock(&mu_);
  return calls_;
}

// Writes what it was given to the output.
Result<CommandOutcome> FakeHost::RunCommand(CommandRequest request, const Peer&) {
  std::string text = request.directory;
  for (const std::string& argument : request.arguments) text += "|" + argument;
  if (::write(request.out.get(), text.data(), text.size()) < 0) return Error(errno);
  return CommandOutcome{42, false};
}

ControlTest::ControlTest() {
  auto store = OpenMemoryStore(VolumeSchema());
  volume_ = std::move(Volume::Open(std::move(store).value(), nullptr, nullptr, {})).value();
  operations_ = std::make_unique<Operations>(*volume_, &mounts_, &events_);
  service_ = std::make_unique<ControlService>(*operations_, &host_, "1.2.3");
}

nlohmann::json ControlTest::Ask(const std::string& name, const nlohmann::json& arguments,
                                const Peer& peer, const std::string& payload) {
  nlohmann::json request = {{"version", kProtocolVersion}, {"request", name}};
  if (!arguments.is_null()) request["arguments"] = arguments;
  return nlohmann::json::parse(service_->Execute({request.dump(), payload, {}}, peer));
}

nlohmann::json ControlTest::Do(const std::string& name, const nlohmann::json& arguments) {
  auto answer = Ask(name, arguments);
  EXPECT_EQ(answer["ok"], true) << name << answer;
  return answer["result"];
}

}  // namespace agentfs::control
