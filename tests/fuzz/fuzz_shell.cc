// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a script: the parser ends, and what it gives can be walked and is bounded.
#include <cstdint>
#include <string_view>

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

size_t CountWords(const Command& command, std::string_view text, int depth) {
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
  if (!command.source.empty() && !text.empty()) {
    REQUIRE(command.source.data() >= text.data());
    REQUIRE(command.source.data() + command.source.size() <= text.data() + text.size());
  }
  return count;
}

size_t CountWords(const Script& script, int depth) {
  REQUIRE(depth <= 2 * kMaxDepth);
  size_t count = 0;
  for (const Pipeline& pipeline : script.pipelines) {
    for (const Command& command : pipeline.commands) count += CountWords(command, "", depth);
  }
  return count;
}

void CheckScript(std::string_view text) {
  auto script = ParseScript(text);
  if (!script.ok()) {
    REQUIRE(script.code() == EINVAL);
    return;
  }
  for (const Pipeline& pipeline : script->pipelines) {
    for (const Command& command : pipeline.commands) CountWords(command, text, 0);
  }
  REQUIRE(CountWords(*script, 0) <= 64 * 64 * (text.size() + 1));
}

}  // namespace
}  // namespace agentfs::shell

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  agentfs::shell::CheckScript({reinterpret_cast<const char*>(data), size});
  return 0;
}
