// SPDX-License-Identifier: Apache-2.0
//
// What comes back for a request, whatever became of it: docs/schema/execution-envelope.schema.json.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/request.h"
#include "policy/decision.h"

namespace agentfs {

inline constexpr int kEnvelopeVersion = 1;

enum class ExecutionState : uint8_t {
  kCompleted,         // the command ended by itself, or by a signal
  kTimedOut,          // it was ended, with all that it had started
  kCancelled,         // the same, because the caller wanted it
  kDenied,            // by the policy; nothing was created
  kApprovalRequired,  // a person has to say yes first; nothing was created
  kSandboxFailed,     // the sandbox could not be had; the command did not run
  kNotRun,            // for another reason: see the error
};
std::string_view StateName(ExecutionState state);

// A path that is not what it was before the command.
struct ChangedFile {
  enum class Kind : uint8_t { kAdded, kRemoved, kModified, kRenamed };
  std::string path;  // in the workspace; now, of what was removed: before
  Kind kind = Kind::kModified;
  std::string old_path;                             // of what was renamed
  std::optional<uint64_t> size_before, size_after;  // none: it was not, is not there
};

// What the command wrote to one stream.
struct CapturedOutput {
  std::string bytes;       // the first of them, as many as were asked for
  uint64_t total = 0;      // how many there were
  bool truncated = false;  // there were more than `bytes`
};

struct OperationCount {
  std::string operation;  // "read", "write", "unlink", ...
  uint64_t count = 0;
};

// What the policy refused the command while it ran.
struct ExecutionDenial {
  std::string operation, path;
};

struct ExecutionResult {
  policy::ExecutionDecision decision;
  ExecutionState state = ExecutionState::kNotRun;
  uint64_t exec = 0;             // its id in the workspace's history; 0: it has none
  std::optional<int> exit_code;  // as a shell has it: 126, 127 if it could not be started
  std::optional<int> signal;     // that ended it
  CapturedOutput out, err;
  int64_t duration_us = 0;  // from the start of the sandbox to its end
  int64_t cpu_us = 0;       // of the command and all that it waited for
  uint64_t max_rss = 0;     // bytes, of the largest of these
  bool read_only = false;
  std::string checkpoint;  // the snapshot from before; empty: none was kept
  std::vector<ChangedFile> changed_files;
  uint64_t changed_files_total = 0;  // more than there are in the list: it was cut
  uint64_t changed_outside = 0;      // paths of the branch that are not the workspace's
  std::vector<OperationCount> operations;
  std::vector<ExecutionDenial> denials;
};

struct ExecutionEnvelope {
  ExecutionRequest request;
  // What is known, since a decision was made.
  std::optional<ExecutionResult> result;
  // Why the command did not run.
  std::optional<ExecutionFailure> error;
  std::string approval_id;  // where approval is needed, or was given

  // The command ran in its sandbox and ended by itself with status 0.
  bool success() const;
};

// The versioned document. Output and names are bytes and JSON is UTF-8: where they are none, a
// member "..._base64" has the bytes, and the plain one shows U+FFFD for what is wrong.
nlohmann::ordered_json EnvelopeJson(const ExecutionEnvelope& envelope);
// The same as one line of text.
std::string EnvelopeText(const ExecutionEnvelope& envelope);

nlohmann::ordered_json DecisionJson(const policy::ExecutionDecision& decision);

}  // namespace agentfs
