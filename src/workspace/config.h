// SPDX-License-Identifier: Apache-2.0
//
// config.toml: what a person may set for a workspace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agentfs/result.h"
#include "agentfs/volume.h"
#include "workspace/checkpoint.h"
#include "workspace/sandbox_rules.h"

namespace agentfs {

struct Config {
  Config() { volume.audit.level = AuditLevel::kChanges; }

  // The base's absolute path; empty: the directory that holds `.agentfs`.
  std::string base;
  // How long a command waits for another one to finish with the workspace.
  uint32_t lock_timeout_ms = 10'000;
  // How long a server stays that has nothing to do and never had a mount.
  uint32_t server_idle_ms = 1'000;
  // How long it stays after the last command that ran in a sandbox, for the next one.
  uint32_t server_linger_ms = 10'000;
  // Whether mounts use FUSE over io_uring where they can. Root turns the kernel's switch for it
  // (enable_uring) on while a mount is made, if it is off.
  bool server_io_uring = true;
  VolumeOptions volume;
  CheckpointPolicy checkpoints;
  SandboxRules sandbox = SandboxRules::Default();
};

// Keys that are absent keep their defaults. EINVAL, with file and line, for what is no TOML, an
// unknown key or a value of the wrong kind.
Result<Config> ParseConfig(std::string_view text, const std::string& file_name);
Result<Config> LoadConfig(const std::string& file);

// A commented file that ParseConfig reads back to the same values.
std::string RenderConfig(const Config& config);

}  // namespace agentfs
