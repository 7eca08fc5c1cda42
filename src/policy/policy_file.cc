// SPDX-License-Identifier: Apache-2.0
#include "policy/policy_file.h"

#include <fmt/core.h>

#include <toml++/toml.h>
#include <array>
#include <functional>

namespace agentfs::policy {
namespace {

constexpr std::array<std::pair<std::string_view, Purpose>, 3> kPurposes = {
    {{"general", Purpose::kGeneral}, {"build", Purpose::kBuild}, {"publish", Purpose::kPublish}}};

int LineOf(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

// Where something is wrong.
struct Spot {
  const std::string& file;
  std::string what;  // "rule no-push", "filesystem"

  Error Complain(int line, std::string_view why) const {
    return Error(EINVAL,
                 fmt::format("{}:{}: {}{}{}", file, line, what, what.empty() ? "" : ": ", why));
  }
};

// A string, or a list of strings.
Result<std::vector<std::string>> Strings(const toml::node& node, std::string_view key,
                                         const Spot& spot) {
  std::vector<std::string> out;
  if (const auto* one = node.as_string()) {
    out.push_back(one->get());
    return out;
  }
  const toml::array* list = node.as_array();
  if (!list) {
    return spot.Complain(LineOf(node), fmt::format("{} must be a string or a list of them", key));
  }
  for (const toml::node& each : *list) {
    const auto* text = each.as_string();
    if (!text) return spot.Complain(LineOf(each), fmt::format("{} must hold strings", key));
    out.push_back(text->get());
  }
  return out;
}

Result<std::string> OneString(const toml::node& node, std::string_view key, const Spot& spot) {
  const auto* text = node.as_string();
  if (!text) return spot.Complain(LineOf(node), fmt::format("{} must be a string", key));
  return text->get();
}

// The keys of [[rule]].
class RuleReader {
 public:
  RuleReader(const Spot& spot, Origin origin) : spot_(spot), origin_(origin) {}

  Result<Rule> Read(const toml::table& table) {
    rule_.line = LineOf(table);
    for (const auto& [key, node] : table) AGENTFS_TRY(ReadKey(key.str(), node));
    if (!has_action_) return spot_.Complain(rule_.line, "action is missing");
    const bool about_all = rule_.programs.empty() && rule_.subcommands.empty() &&
                           rule_.flags.empty() && rule_.paths.empty() && rule_.categories.empty() &&
                           rule_.purposes.empty();
    if (about_all) {
      return spot_.Complain(rule_.line,
                            "it is about nothing: name a program, a subcommand, flags, "
                            "paths, a category or a purpose");
    }
    // Those of the built-in rules are the tests' to check, not each command's.
    if (origin_ == Origin::kBuiltIn) return std::move(rule_);
    if (auto checked = rule_.CheckExamples(); !checked.ok()) {
      return spot_.Complain(rule_.line, checked.error().message());
    }
    return std::move(rule_);
  }

 private:
  Result<void> ReadKey(std::string_view key, const toml::node& node) {
    if (key == "action") return ReadAction(node);
    if (key == "name" || key == "justification") {
      AGENTFS_ASSIGN(std::string text, OneString(node, key, spot_));
      (key == "name" ? rule_.name : rule_.justification) = std::move(text);
      return Ok();
    }
    AGENTFS_ASSIGN(const auto strings, Strings(node, key, spot_));
    if (key == "paths") return ReadPaths(node, strings);
    if (key == "category") return ReadCategories(node, strings);
    if (key == "purpose") return ReadPurposes(node, strings);
    if (key == "overrides") return ReadOverrides(node, strings);
    if (key == "program")
      rule_.programs = strings;
    else if (key == "subcommand")
      rule_.subcommands = strings;
    else if (key == "flags")
      rule_.flags = strings;
    else if (key == "match")
      rule_.match = strings;
    else if (key == "not_match")
      rule_.not_match = strings;
    else
      return spot_.Complain(LineOf(node), fmt::format("{} is not a key of rules", key));
    return Ok();
  }

  Result<void> ReadAction(const toml::node& node) {
    AGENTFS_ASSIGN(const std::string name, OneString(node, "action", spot_));
    const auto action = ActionNamed(name);
    if (!action) {
      return spot_.Complain(LineOf(node),
                            "action must be one of allow, allow_with_checkpoint, "
                            "require_approval, deny");
    }
    rule_.action = *action;
    has_action_ = true;
    return Ok();
  }

  Result<void> ReadPaths(const toml::node& node, const std::vector<std::string>& globs) {
    for (const std::string& text : globs) {
      auto glob = PathGlob::Compile(text);
      if (!glob.ok()) {
        return spot_.Complain(LineOf(node),
                              fmt::format("paths \"{}\": {}", text, glob.error().message()));
      }
      rule_.paths.push_back(std::move(*glob));
    }
    return Ok();
  }

  Result<void> ReadCategories(const toml::node& node, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const auto category = CategoryNamed(name);
      if (!category) {
        return spot_.Complain(LineOf(node), fmt::format("there is no category {}", name));
      }
      rule_.categories.push_back(*category);
    }
    return Ok();
  }

  Result<void> ReadPurposes(const toml::node& node, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      bool found = false;
      for (const auto& [each, purpose] : kPurposes) {
        if (each != name) continue;
        rule_.purposes.push_back(purpose);
        found = true;
      }
      if (!found) {
        return spot_.Complain(LineOf(node), "purpose must be one of general, build, publish");
      }
    }
    return Ok();
  }

  Result<void> ReadOverrides(const toml::node& node, const std::vector<std::string>& names) {
    if (origin_ != Origin::kUser) {
      return spot_.Complain(LineOf(node), "only the user's own file may override built-in rules");
    }
    for (const std::string& name : names) {
      bool found = name == kNetworkRule;
      for (const Rule& rule : BuiltInPolicy().rules) found |= rule.name == name;
      if (!found) {
        return spot_.Complain(LineOf(node), fmt::format("there is no built-in rule {}", name));
      }
    }
    rule_.overrides = names;
    return Ok();
  }

  const Spot& spot_;
  const Origin origin_;
  Rule rule_;
  bool has_action_ = false;
};

class PolicyReader {
 public:
  PolicyReader(const std::string& file, Origin origin) : file_(file) {
    policy_.file = file;
    policy_.origin = origin;
  }

  Result<Policy> Read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      if (key.str() == "network") {
        AGENTFS_TRY(ReadNetwork(node));
      } else if (key.str() == "rule") {
        AGENTFS_TRY(ReadRules(node));
      } else if (key.str() == "filesystem") {
        AGENTFS_TRY(ReadPaths(node));
      } else {
        return Spot{file_, ""}.Complain(LineOf(node),
                                        fmt::format("{} is not a key of policies", key.str()));
      }
    }
    return std::move(policy_);
  }

 private:
  Result<void> ReadNetwork(const toml::node& node) {
    const Spot spot{file_, ""};
    AGENTFS_ASSIGN(const std::string name, OneString(node, "network", spot));
    policy_.network = NetworkNamed(name);
    if (!policy_.network) {
      return spot.Complain(LineOf(node), "network must be one of allow, ask, deny");
    }
    return Ok();
  }

  Result<void> ReadRules(const toml::node& node) {
    const toml::array* rules = node.as_array();
    if (!rules || !rules->is_array_of_tables()) {
      return Spot{file_, ""}.Complain(LineOf(node), "rules are written as [[rule]]");
    }
    for (const toml::node& each : *rules) {
      const toml::table& table = *each.as_table();
      const std::string number = std::to_string(policy_.rules.size() + 1);
      const auto name = table["name"].value<std::string>();
      const Spot spot{file_, "rule " + (name ? *name : number)};
      AGENTFS_ASSIGN(Rule rule, RuleReader(spot, policy_.origin).Read(table));
      if (rule.name.empty()) rule.name = "rule " + number;
      if (rule.justification.empty()) rule.justification = "the rule says so";
      policy_.rules.push_back(std::move(rule));
    }
    return Ok();
  }

  Result<void> ReadPaths(const toml::node& node) {
    const Spot spot{file_, "filesystem"};
    const toml::table* table = node.as_table();
    if (!table) return spot.Complain(LineOf(node), "it must be a table");
    PathRuleTexts texts;
    for (const auto& [key, list] : *table) {
      AGENTFS_ASSIGN(auto globs, Strings(list, key.str(), spot));
      if (key.str() == "deny_read")
        texts.deny_read = std::move(globs);
      else if (key.str() == "deny_write")
        texts.deny_write = std::move(globs);
      else if (key.str() == "allow_write")
        texts.allow_write = std::move(globs);
      else
        return spot.Complain(LineOf(list), fmt::format("{} is not one of its keys", key.str()));
    }
    auto paths = PathRules::Compile(texts);
    if (!paths.ok()) return spot.Complain(LineOf(node), paths.error().message());
    policy_.paths = std::move(*paths);
    return Ok();
  }

  const std::string file_;
  Policy policy_;
};

}  // namespace

Result<Policy> ParsePolicy(std::string_view text, const std::string& file, Origin origin) {
  try {
    const toml::table table = toml::parse(text);
    return PolicyReader(file, origin).Read(table);
  } catch (const toml::parse_error& error) {
    return Error(EINVAL,
                 fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()));
  }
}

}  // namespace agentfs::policy
