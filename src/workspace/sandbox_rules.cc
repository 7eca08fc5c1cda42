// SPDX-License-Identifier: Apache-2.0
#include "workspace/sandbox_rules.h"

namespace agentfs {

SandboxRules SandboxRules::Default() {
  SandboxRules rules;
  rules.hide = {"~/.ssh", "~/.gnupg", "~/.aws", "~/.netrc", "~/.docker/config.json", "~/.kube"};
  rules.cow = {"~/.claude",
               "~/.claude.json",
               "~/.codex",
               "~/.gemini",
               "~/.aider",
               "~/.cursor",
               "~/.copilot",
               "~/.qwen",
               "~/.config/opencode",
               "~/.local/share/opencode",
               "~/.config/goose",
               "~/.cache/",
               "~/.npm/",
               "~/.cargo",
               "~/go"};
  return rules;
}

}  // namespace agentfs
