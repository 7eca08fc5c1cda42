// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operation.h"
#include "world.h"

namespace agentfs::model {

// A run that found a difference: the steps up to it.
struct Finding {
  std::string difference;
  std::vector<Operation> operations;
};

// `steps` random operations on a new world, the whole tree compared every now and then.
std::optional<Finding> RunRandom(const WorldOptions& options, uint64_t seed, size_t steps);

// Exactly these operations.
std::optional<Finding> Replay(const WorldOptions& options,
                              const std::vector<Operation>& operations);

// As few of the operations as still find a difference, looked for during `seconds` at most.
Finding Shrink(const WorldOptions& options, Finding finding, double seconds);

}  // namespace agentfs::model
