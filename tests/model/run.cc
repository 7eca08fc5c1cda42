// SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "generator.h"

namespace agentfs::model {
namespace {

constexpr size_t kStepsPerCheck = 60;

// What kind of difference it is: the text without numbers and names.
std::string KindOf(const std::string& difference) {
  std::string kind;
  bool quoted = false;
  for (char c : difference) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c < '0' || c > '9')) kind += c;
  }
  return kind;
}

}  // namespace

std::optional<Finding> RunRandom(const WorldOptions& options, uint64_t seed, size_t steps) {
  World world(options);
  Generator generator(seed);
  std::vector<Operation> done;
  for (size_t i = 1; i <= steps; ++i) {
    done.push_back(i % kStepsPerCheck == 0 ? Operation{} : generator.Next(world));
    std::string difference = world.Execute(done.back());
    if (!difference.empty()) return Finding{std::move(difference), std::move(done)};
  }
  std::string difference = world.Finish();
  if (!difference.empty()) return Finding{std::move(difference), std::move(done)};
  return std::nullopt;
}

std::optional<Finding> Replay(const WorldOptions& options,
                              const std::vector<Operation>& operations) {
  World world(options);
  for (size_t i = 0; i < operations.size(); ++i) {
    std::string difference = world.Execute(operations[i]);
    if (!difference.empty()) {
      return Finding{std::move(difference),
                     {operations.begin(), operations.begin() + static_cast<ptrdiff_t>(i) + 1}};
    }
  }
  std::string difference = world.Finish();
  if (!difference.empty()) return Finding{std::move(difference), operations};
  return std::nullopt;
}

Finding Shrink(const WorldOptions& options, Finding finding, double seconds) {
  const auto start = std::chrono::steady_clock::now();
  const auto expired = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >
           seconds;
  };
  // Another bug met on the way would be shrunken in place of this one.
  const std::string kind = KindOf(finding.difference);
  for (size_t piece = std::max<size_t>(finding.operations.size() / 2, 1); !expired();) {
    bool smaller = false;
    for (size_t at = 0; at < finding.operations.size() && !expired();) {
      std::vector<Operation> rest = finding.operations;
      const auto first = rest.begin() + static_cast<ptrdiff_t>(at);
      rest.erase(first, first + static_cast<ptrdiff_t>(std::min(piece, rest.size() - at)));
      auto found = Replay(options, rest);
      if (found && KindOf(found->difference) == kind) {
        finding = std::move(*found);
        smaller = true;
      } else {
        at += piece;
      }
    }
    if (piece == 1 && !smaller) break;
    piece = std::max<size_t>(piece / 2, 1);
  }
  return finding;
}

}  // namespace agentfs::model
