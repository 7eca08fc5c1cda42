// SPDX-License-Identifier: Apache-2.0
#include "describe.h"

#include "policy/shell/parse.h"

namespace agentfs::shell {
namespace {

std::string Describe(const Word& word) {
  std::string out = word.literal ? "[" : "?[";
  out += word.text + (word.pattern ? "]*" : "]");
  for (const Script& each : word.substitutions) out += "{" + Describe(each) + "}";
  return out;
}

std::string Describe(const Redirection& redirection) {
  static constexpr const char* kSigns[] = {"<", ">", "&", "<<", "<<<"};
  const std::string fd = redirection.fd < 0 ? "" : std::to_string(redirection.fd);
  return fd + kSigns[static_cast<int>(redirection.kind)] + Describe(*redirection.target);
}

std::string Describe(const Command& command) {
  std::string out;
  if (command.kind == CommandKind::kFunction) out += "function ";
  out += command.name;
  for (const Assignment& each : command.assignments) out += each.name + "=" + Describe(each.value);
  for (const Word& each : command.words) out += Describe(each);
  for (const Script& each : command.bodies) out += "{" + Describe(each) + "}";
  for (const Redirection& each : command.redirections) out += Describe(each);
  return out;
}

}  // namespace

std::string Describe(const Script& script) {
  std::string out;
  for (const Pipeline& pipeline : script.pipelines) {
    if (&pipeline != script.pipelines.data()) out += "; ";
    for (const Command& command : pipeline.commands) {
      if (&command != pipeline.commands.data()) out += " | ";
      out += Describe(command);
    }
  }
  return out;
}

std::string DescribeText(std::string_view text) {
  auto script = ParseScript(text);
  return script.ok() ? Describe(*script) : "error";
}

}  // namespace agentfs::shell
