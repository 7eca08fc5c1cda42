// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/container/flat_hash_map.h"
#include "workspace/apply.h"
#include "workspace/apply_step.h"

namespace agentfs {

// The steps that make the base what the plan's changes say, in an order in which each is possible:
// files go, directories come, names move, directories go, files come, attributes are set.
Result<ApplyRecord> MakeSteps(const ApplyPlan& plan, const HostTree& base);

// Gives steps what the branch has, or what was merged. The plan must outlive it.
class PlanSource final : public ApplySource {
 public:
  explicit PlanSource(const ApplyPlan& plan);
  Result<void> Read(const ApplyStep& step, uint64_t* size,
                    const std::function<Result<void>(uint64_t, std::string_view)>& take) override;
  Result<std::string> Target(const ApplyStep& step) override;
  uint64_t Device(const ApplyStep& step) override;

 private:
  const PathChange& ChangeOf(const ApplyStep& step) const { return *changes_.at("/" + step.path); }

  const ApplyPlan& plan_;
  absl::flat_hash_map<std::string, const PathChange*> changes_;
};

}  // namespace agentfs
