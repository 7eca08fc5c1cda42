// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace agentfs::cli {

// What trying something showed.
struct Finding {
  enum class State : uint8_t {
    kGood,
    kLess,     // works without it, slower or with less
    kMissing,  // `mount` or `run` does not work
  };
  std::string name;
  State state = State::kGood;
  std::string detail;
  std::string remedy;  // empty: there is nothing to do
};

// Tries everything, in processes and directories of its own, and leaves nothing behind.
// `state_directory` is where large content would be kept.
std::vector<Finding> CheckMachine(const std::string& state_directory);

}  // namespace agentfs::cli
