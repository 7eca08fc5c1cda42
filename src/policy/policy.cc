// SPDX-License-Identifier: Apache-2.0
#include "policy/policy.h"

#include <algorithm>
#include <array>

namespace agentfs::policy {
namespace {

constexpr std::array<std::string_view, 3> kNetworkNames = {"allow", "ask", "deny"};
constexpr std::array<std::string_view, 3> kOriginNames = {"workspace", "user", "builtin"};

constexpr size_t kMaxReason = 200;

Action ActionOf(Network network) {
  switch (network) {
    case Network::kAllow:
      return Action::kAllow;
    case Network::kAsk:
      return Action::kRequireApproval;
    case Network::kDeny:
      break;
  }
  return Action::kDeny;
}

// The strictest answer so far.
class Answer {
 public:
  explicit Answer(PartVerdict& verdict) : verdict_(verdict) {}

  void Offer(Action action, Origin origin, std::string_view rule, std::string_view reason) {
    if (given_ && action <= verdict_.action) return;
    given_ = true;
    verdict_.action = action;
    verdict_.rule = std::string(OriginName(origin)) + ":" + std::string(rule);
    verdict_.reason = reason;
  }
  bool given() const { return given_; }

 private:
  PartVerdict& verdict_;
  bool given_ = false;
};

std::vector<std::string> Overridden(const std::vector<const Rule*>& rules) {
  std::vector<std::string> names;
  for (const Rule* rule : rules) {
    names.insert(names.end(), rule->overrides.begin(), rule->overrides.end());
  }
  return names;
}

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void CheckPaths(const Policy& policy, const Surroundings& surroundings, Answer& answer,
                const Part& part) {
  if (policy.paths.empty()) return;
  for (const PathUse& use : part.paths) {
    const std::string path = PolicyPath(use.path, surroundings);
    const PathVerdict verdict = policy.paths.Check(path, use.access);
    if (verdict.allowed) continue;
    const std::string reason = verdict.glob.empty() ? path + " is not in allow_write"
                                                    : path + " is in " + std::string(verdict.rule) +
                                                          " \"" + std::string(verdict.glob) + "\"";
    answer.Offer(Action::kDeny, policy.origin, verdict.rule, reason);
  }
}

// What a person is told: the part, why the rule is there, and what was found.
std::string FullReason(const PartVerdict& verdict) {
  std::string text = verdict.part.Text();
  text += text.empty() ? "" : ": ";
  text += verdict.reason;
  if (!verdict.part.reasons.empty()) {
    text += " (" + verdict.part.reasons.back().substr(0, kMaxReason) + ")";
  }
  return text;
}

// Each of the policies has to allow it.
class Permissions final : public AccessRules {
 public:
  explicit Permissions(std::vector<PathRules> rules) : rules_(std::move(rules)) {}

  bool Allows(std::string_view path, PathAccess access) const override {
    return std::all_of(rules_.begin(), rules_.end(),
                       [&](const PathRules& rules) { return rules.Check(path, access).allowed; });
  }
  bool SameBeneath(std::string_view from, std::string_view to) const override {
    return std::all_of(rules_.begin(), rules_.end(),
                       [&](const PathRules& rules) { return rules.SameBeneath(from, to); });
  }

 private:
  const std::vector<PathRules> rules_;
};

}  // namespace

struct PolicySet::Question {
  const Surroundings& surroundings;
  Network network;
};

std::optional<Network> NetworkNamed(std::string_view name) {
  for (size_t i = 0; i < kNetworkNames.size(); ++i) {
    if (kNetworkNames[i] == name) return static_cast<Network>(i);
  }
  return std::nullopt;
}

std::string_view NetworkName(Network network) {
  return kNetworkNames[static_cast<size_t>(network)];
}

std::string_view OriginName(Origin origin) { return kOriginNames[static_cast<size_t>(origin)]; }

PolicySet::PolicySet(std::vector<Policy> policies) : policies_(std::move(policies)) {
  policies_.push_back(BuiltInPolicy());
}

Network PolicySet::StrictestNetwork(Network asked) const {
  for (const Policy& policy : policies_) {
    if (policy.network) asked = std::max(asked, *policy.network);
  }
  return asked;
}

PartVerdict PolicySet::Judge(Part part, const Question& question) const {
  PartVerdict verdict;
  Answer answer(verdict);
  std::vector<std::string> set_aside;
  for (const Policy& policy : policies_) {
    std::vector<const Rule*> matching;
    for (const Rule& rule : policy.rules) {
      if (rule.Matches(part, question.surroundings)) matching.push_back(&rule);
    }
    CheckPaths(policy, question.surroundings, answer, part);
    for (const Rule* rule : matching) {
      if (policy.origin == Origin::kBuiltIn && Has(set_aside, rule->name)) continue;
      answer.Offer(rule->action, policy.origin, rule->name, rule->justification);
    }
    if (policy.origin == Origin::kUser) set_aside = Overridden(matching);
  }
  if (part.categories.Has(Category::kNetworked) && !Has(set_aside, kNetworkRule)) {
    const std::string reason =
        "it uses the network (network = " + std::string(NetworkName(question.network)) + ")";
    answer.Offer(ActionOf(question.network), Origin::kBuiltIn, kNetworkRule, reason);
  }
  if (!answer.given()) {
    answer.Offer(Action::kRequireApproval, Origin::kBuiltIn, "none", "no rule is about it");
  }
  verdict.part = std::move(part);
  return verdict;
}

Explanation PolicySet::Explain(const PolicyRequest& request) const {
  Classification found = request.arguments.empty()
                             ? ClassifyText(request.text, request.surroundings)
                             : ClassifyArguments(request.arguments, request.surroundings);
  Explanation explanation;
  explanation.decision.categories = found.categories;
  explanation.decision.rule = "builtin:reading";
  explanation.decision.reason = "there is nothing to run";
  const Question question{request.surroundings, StrictestNetwork(request.network)};
  for (Part& part : found.parts) {
    explanation.parts.push_back(Judge(std::move(part), question));
    const PartVerdict& verdict = explanation.parts.back();
    const bool first = explanation.parts.size() == 1;
    if (!first && verdict.action <= explanation.decision.action) continue;
    explanation.decision.action = verdict.action;
    explanation.decision.rule = verdict.rule;
    explanation.decision.reason = FullReason(verdict);
  }
  return explanation;
}

std::shared_ptr<const AccessRules> PolicySet::Permissions() const {
  std::vector<PathRules> rules;
  for (const Policy& policy : policies_) {
    if (!policy.paths.empty()) rules.push_back(policy.paths);
  }
  if (rules.empty()) return nullptr;
  return std::make_shared<policy::Permissions>(std::move(rules));
}

}  // namespace agentfs::policy
