// SPDX-License-Identifier: Apache-2.0
//
// What the control plane and the command line say in JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "adapters/control/mount_host.h"
#include "adapters/control/operations.h"
#include "agentfs/result.h"
#include "agentfs/volume.h"

namespace agentfs::control {

// One line; names are bytes and JSON is UTF-8: what is none becomes U+FFFD.
std::string Dump(const nlohmann::ordered_json& document);

// {"code": "ENOENT", "message": ..., "remedy": ...}
nlohmann::ordered_json ErrorJson(const Error& error);
nlohmann::ordered_json SnapshotJson(const SnapshotInfo& snapshot);
// With what it stands on, as far as that has a name: "base" or a snapshot's; else null.
nlohmann::ordered_json BranchJson(Volume& volume, const BranchInfo& branch);
nlohmann::ordered_json BranchesJson(Volume& volume);
nlohmann::ordered_json EventJson(const Event& event);
nlohmann::ordered_json BindJson(const BindState& bound);
nlohmann::ordered_json MountJson(const MountState& mount);

// Sizes and counts of the volume, and how often the kernel asked the mounts for what.
Result<nlohmann::ordered_json> StatisticsJson(Operations& operations);
// Branches with what they have of their own, the number of snapshots, mounts with their users.
Result<nlohmann::ordered_json> StatusJson(Operations& operations);

}  // namespace agentfs::control
