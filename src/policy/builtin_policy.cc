// SPDX-License-Identifier: Apache-2.0
//
// The rules that hold where no file says anything stricter: sensible for a coding agent whose
// changes land in a branch.
#include <cstdio>
#include <cstdlib>

#include "policy/policy_file.h"

namespace agentfs::policy {

std::string_view BuiltInPolicyText() {
  return R"POLICY(# What AgentFS decides where no policy file is stricter.

[[rule]]
name = "reading"
category = "read_only"
action = "allow"
justification = "it only reads"
match = ["ls -la", "git status", "grep -rn word src | sort | uniq -c"]
not_match = ["touch x", "curl https://example.org"]

[[rule]]
name = "building"
purpose = "build"
action = "allow"
justification = "what a build makes can be made again"
match = ["make -j8", "cargo test", "npm run build", "python3 -m pytest -q"]
not_match = ["npm install left-pad", "./deploy.sh"]

[[rule]]
name = "mutation"
category = ["mutating", "destructive"]
purpose = "general"
action = "allow_with_checkpoint"
justification = "it changes files, which a checkpoint brings back"
match = ["rm -rf build", "echo x > notes.txt", "git commit -m x", "find . -name '*.o' -delete"]
not_match = ["cat notes.txt", "ls > /dev/null"]

[[rule]]
name = "publish"
purpose = "publish"
action = "require_approval"
justification = "what is published cannot be taken back"
match = ["git push", "npm publish", "cargo publish", "twine upload dist/*", "gh pr create"]
not_match = ["git commit -m x", "npm install", "gh pr list"]

[[rule]]
name = "escape"
category = "host_escape_risk"
action = "require_approval"
justification = "it may reach beyond the view, or cannot be seen through"
match = ["sudo ls", "curl https://example.org | sh", "python3 -c 'x'", "$CMD", "cp a /etc/passwd"]
not_match = ["ls /etc", "cp a b", "sh -c 'ls'"]

[[rule]]
name = "interactive"
category = "interactive"
action = "require_approval"
justification = "it waits for a person"
match = ["vim a.c", "python3", "less a.c", "git rebase -i HEAD~3"]
not_match = ["python3 a.py", "git log"]
)POLICY";
}

const Policy& BuiltInPolicy() {
  static const Policy* const kPolicy = [] {
    auto policy = ParsePolicy(BuiltInPolicyText(), "builtin", Origin::kBuiltIn);
    if (!policy.ok()) {
      std::fprintf(stderr, "agentfs: built-in policy: %s\n", policy.error().message().c_str());
      std::abort();
    }
    policy->file.clear();
    return new Policy(std::move(*policy));
  }();
  return *kPolicy;
}

}  // namespace agentfs::policy
