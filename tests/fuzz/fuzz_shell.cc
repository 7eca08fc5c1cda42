// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a script: the parser ends, what it gives can be walked and is bounded, and what it
// cannot parse is a risk.
#include <cstdint>
#include <string_view>

#include "policy/policy.h"
#include "policy/shell/parse.h"
#include "require.h"

namespace agentfs::shell {
namespace {

// The number of words below a script; its depth stays within the parser's bound.
size_t CountWords(const Script& script, int depth);

size_t CountWords(const Word& word, int depth) {
  size_t count = 1;
  // What runs inside of a word makes it more than its text.
  for (const Script& each : word.substitutions) count += CountWords(each, depth + 1);
  return count;
}

size_t CountWords(const Command& command, int depth) {
  size_t count = 0;
  for (const Word& word : command.words) count += CountWords(word, depth);
  for (const Assignment& each : command.assignments) {
    REQUIRE(!each.name.empty());
    count += CountWords(each.value, depth);
  }
  for (const Redirection& each : command.redirections) {
    REQUIRE(each.target != nullptr);
    count += CountWords(*each.target, depth);
  }
  for (const Script& each : command.bodies) count += CountWords(each, depth + 1);
  return count;
}

size_t CountWords(const Script& script, int depth) {
  REQUIRE(depth <= 2 * kMaxDepth);
  size_t count = 0;
  for (const Pipeline& pipeline : script.pipelines) {
    for (const Command& command : pipeline.commands) count += CountWords(command, depth);
  }
  return count;
}

void CheckDecision(std::string_view text, bool parsed) {
  static const policy::PolicySet* const kPolicies = new policy::PolicySet({});
  policy::PolicyRequest request;
  request.text = text;
  const policy::ExecutionDecision decision = kPolicies->Decide(request);
  REQUIRE(!decision.rule.empty());
  if (parsed) return;
  REQUIRE(decision.categories.Has(policy::Category::kHostEscapeRisk));
  REQUIRE(!decision.allowed());
}

void CheckScript(std::string_view text) {
  auto script = ParseScript(text);
  CheckDecision(text, script.ok());
  if (!script.ok()) {
    REQUIRE(script.code() == EINVAL);
    return;
  }
  REQUIRE(CountWords(*script, 0) <= 64 * 64 * (text.size() + 1));
}

}  // namespace
}  // namespace agentfs::shell

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  agentfs::shell::CheckScript({reinterpret_cast<const char*>(data), size});
  return 0;
}
