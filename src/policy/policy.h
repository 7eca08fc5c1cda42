// SPDX-License-Identifier: Apache-2.0
//
// Policies, and deciding with them: a request in, a decision out. Pure and immutable; any number of
// threads may ask. policy_file.h reads policies from text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/classify.h"
#include "policy/decision.h"
#include "policy/path_rules.h"
#include "policy/rule.h"

namespace agentfs::policy {

// What commands that talk to other machines may do; from the least to the most strict.
enum class Network : uint8_t { kAllow, kAsk, kDeny };
std::optional<Network> NetworkNamed(std::string_view name);
std::string_view NetworkName(Network network);

// The built-in rule that follows the setting; the others are in BuiltInPolicyText.
inline constexpr std::string_view kNetworkRule = "network";

// Whose policy it is. Only the user's own file may set built-in rules aside.
enum class Origin : uint8_t { kWorkspace, kUser, kBuiltIn };
std::string_view OriginName(Origin origin);

struct Policy {
  Origin origin = Origin::kBuiltIn;
  std::string file;  // where it was read; empty: built in
  std::optional<Network> network;
  std::vector<Rule> rules;
  PathRules paths;
};

struct PolicyRequest {
  // One of them: words, or text for a shell.
  std::vector<std::string> arguments;
  std::string text;
  Surroundings surroundings;
  Network network = Network::kAllow;  // the sandbox's; a policy can make it stricter
};

// A part of a command with the rule that decided about it.
struct PartVerdict {
  Part part;
  Action action = Action::kAllow;
  std::string rule;
  std::string reason;
};

struct Explanation {
  ExecutionDecision decision;
  std::vector<PartVerdict> parts;
};

// The policies in force; the strictest answer of all of them, for the strictest part, is the one.
class PolicySet {
 public:
  // In the order in which they are asked: of two equally strict rules the first is named. The
  // built-in policy is added.
  explicit PolicySet(std::vector<Policy> policies);

  ExecutionDecision Decide(const PolicyRequest& request) const { return Explain(request).decision; }
  Explanation Explain(const PolicyRequest& request) const;

  const std::vector<Policy>& policies() const { return policies_; }
  // The filesystem permissions of all of them, for a GuardedFs; null: there are none.
  std::shared_ptr<const AccessRules> Permissions() const;

 private:
  struct Question;

  PartVerdict Judge(Part part, const Question& question) const;
  Network StrictestNetwork(Network asked) const;

  std::vector<Policy> policies_;
};

const Policy& BuiltInPolicy();
// Its text, in the form of policy files.
std::string_view BuiltInPolicyText();

}  // namespace agentfs::policy
