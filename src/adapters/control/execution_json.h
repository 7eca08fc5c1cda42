// SPDX-License-Identifier: Apache-2.0
//
// Executions on the control socket: the requests exec.* and approval.*, as the server answers them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "adapters/control/executions.h"
#include "agentfs/result.h"

namespace agentfs::control {

nlohmann::ordered_json BeginJson(const ExecutionBegin& begin);
nlohmann::ordered_json SummaryJson(const ExecutionSummary& summary);
ExecutionSummary SummaryOfJson(const nlohmann::ordered_json& json);

// The requests, by their names after "exec." and "approval.".
Result<nlohmann::ordered_json> AnswerExecBegin(Executions& executions,
                                               const nlohmann::ordered_json& arguments,
                                               const ExecutionPeer& peer);
Result<nlohmann::ordered_json> AnswerExecEnd(Executions& executions,
                                             const nlohmann::ordered_json& arguments,
                                             const std::string& details, const ExecutionPeer& peer);
Result<nlohmann::ordered_json> AnswerExecRefuse(Executions& executions,
                                                const nlohmann::ordered_json& arguments,
                                                const ExecutionPeer& peer);

}  // namespace agentfs::control
