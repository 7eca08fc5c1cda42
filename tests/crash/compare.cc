// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace agentfs::crash {
namespace {

using Trees = std::map<std::string, std::shared_ptr<const Tree>>;
enum class Contents : uint8_t { kExact, kMayDiffer };

// Compares what is there with one candidate.
class Comparison {
 public:
  Comparison(const Candidates& candidates, size_t state)
      : candidates_(candidates), state_(state), expected_(candidates.states[state]) {}

  std::string Difference(const State& actual) {
    std::string text = Names("branches", expected_.branches, actual.branches);
    if (text.empty()) text = Names("snapshots", expected_.snapshots, actual.snapshots);
    if (!text.empty()) return text;
    for (const auto& [name, tree] : expected_.branches) {
      text = CompareTrees(*tree, *actual.branches.at(name), Contents::kMayDiffer);
      if (!text.empty()) return "branch " + name + ": " + text;
    }
    const Trees& synced = candidates_.states[candidates_.first].snapshots;
    for (const auto& [name, tree] : expected_.snapshots) {
      const bool exact = candidates_.crash == Crash::kProcess || synced.contains(name);
      text = CompareTrees(*tree, *actual.snapshots.at(name),
                          exact ? Contents::kExact : Contents::kMayDiffer);
      if (!text.empty()) return "snapshot " + name + ": " + text;
    }
    return "";
  }

 private:
  template <typename Map>
  static std::string Names(const char* what, const Map& expected, const Map& actual) {
    std::string differences;
    for (const auto& [name, value] : expected) {
      if (!actual.contains(name)) differences += " lacks " + name;
    }
    for (const auto& [name, value] : actual) {
      if (!expected.contains(name)) differences += " has " + name;
    }
    return differences.empty() ? "" : what + std::string(":") + differences;
  }

  std::string CompareTrees(const Tree& expected, const Tree& actual, Contents contents) {
    std::string text = Names("names", expected.names, actual.names);
    std::map<uint64_t, uint64_t> there, back;
    for (auto it = expected.names.begin(); text.empty() && it != expected.names.end(); ++it) {
      const auto& [path, id] = *it;
      const uint64_t actual_id = actual.names.at(path);
      if (there.emplace(id, actual_id).first->second != actual_id ||
          back.emplace(actual_id, id).first->second != id) {
        text = "the hard links differ";
      } else {
        text = CompareInodes(id, *expected.inodes.at(id), *actual.inodes.at(actual_id), contents);
      }
      if (!text.empty()) text = path + ": " + text;
    }
    return text;
  }

  std::string CompareInodes(uint64_t id, const Inode& expected, const Inode& actual,
                            Contents contents) {
    if (expected.mode != actual.mode) {
      return "mode " + std::to_string(expected.mode) + ", is " + std::to_string(actual.mode);
    }
    if (expected.xattrs != actual.xattrs) return "other xattrs";
    if (expected.content.size() != actual.content.size()) {
      return "size " + std::to_string(expected.content.size()) + ", is " +
             std::to_string(actual.content.size());
    }
    if (expected.content == actual.content) return "";
    size_t at = 0;
    if (contents == Contents::kMayDiffer && EverInObject(id)) {
      const auto versions = VersionsOf(id);
      while (at < actual.content.size() && Allowed(versions, expected, actual, at)) ++at;
      if (at == actual.content.size()) return "";
    } else {
      at = static_cast<size_t>(
          std::mismatch(expected.content.begin(), expected.content.end(), actual.content.begin())
              .first -
          expected.content.begin());
    }
    return "content differs at " + std::to_string(at) + " of " +
           std::to_string(actual.content.size());
  }

  template <typename Visitor>
  void VisitVersions(uint64_t id, size_t first, const Visitor& visit) const {
    for (size_t i = first; i <= candidates_.last; ++i) {
      const State& state = candidates_.states[i];
      for (const Trees* trees : {&state.branches, &state.snapshots}) {
        for (const auto& [name, tree] : *trees) {
          auto it = tree->inodes.find(id);
          if (it != tree->inodes.end()) visit(it->second.get());
        }
      }
    }
  }

  bool EverInObject(uint64_t id) const {
    bool in_object = false;
    VisitVersions(id, 0, [&](const Inode* inode) { in_object |= inode->in_object; });
    return in_object;
  }

  std::set<const Inode*> VersionsOf(uint64_t id) const {
    std::set<const Inode*> versions;
    const size_t first = candidates_.crash == Crash::kPower ? candidates_.first : state_;
    VisitVersions(id, first, [&](const Inode* inode) { versions.insert(inode); });
    return versions;
  }

  static bool Allowed(const std::set<const Inode*>& versions, const Inode& expected,
                      const Inode& actual, size_t at) {
    const char byte = actual.content[at];
    if (byte == expected.content[at]) return true;
    return std::any_of(versions.begin(), versions.end(), [&](const Inode* version) {
      return at < version->content.size() && version->content[at] == byte;
    });
  }

  const Candidates& candidates_;
  const size_t state_;
  const State& expected_;
};

void AdoptTrees(Trees* trees, const Trees& actual) {
  for (auto& [name, tree] : *trees) {
    auto adopted = std::make_shared<Tree>(*tree);
    for (const auto& [path, id] : adopted->names) {
      const Inode& seen = *actual.at(name)->At(path);
      if (adopted->inodes[id]->content == seen.content) continue;
      auto inode = std::make_shared<Inode>(*adopted->inodes[id]);
      inode->content = seen.content;
      adopted->inodes[id] = std::move(inode);
    }
    tree = std::move(adopted);
  }
}

}  // namespace

Match FindState(const Candidates& candidates, const State& actual) {
  Match match;
  for (size_t i = candidates.first; i <= candidates.last; ++i) {
    const std::string difference = Comparison(candidates, i).Difference(actual);
    if (difference.empty()) {
      match.state = i;
      return match;
    }
    match.differences += "\n  after " + std::to_string(i) + " operations: " + difference;
  }
  return match;
}

State Adopt(const State& state, const State& actual) {
  State adopted = state;
  AdoptTrees(&adopted.branches, actual.branches);
  AdoptTrees(&adopted.snapshots, actual.snapshots);
  return adopted;
}

}  // namespace agentfs::crash
