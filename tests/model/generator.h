// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "operation.h"
#include "world.h"

namespace agentfs::model {

// Makes up operations that are likely to do something. The same seed on the same world gives the
// same operations.
class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Operation Next(World& world);
  // Changes by path, without a look at what they do.
  std::vector<Operation> Blind(size_t count);

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }
  bool Chance(unsigned percent) { return Below(100) < percent; }
  template <typename T>
  const T& Pick(const std::vector<T>& values) {
    return values[Below(values.size())];
  }

  Operation PathStep(World& world);
  Operation HandleStep(World& world);
  Operation VolumeStep(World& world);
  Operation Make(const std::vector<std::string>& existing);
  Operation Remove(const std::vector<std::string>& existing);
  Operation Move(const std::vector<std::string>& existing);
  Operation Attributes(const std::vector<std::string>& existing);
  Operation Xattr(const std::vector<std::string>& existing);
  Operation Query(const std::vector<std::string>& existing);
  Operation OpenStep(World& world);
  void FillData(Operation& operation, World& world);

  std::string Existing(const std::vector<std::string>& existing);
  std::string Fresh(const std::vector<std::string>& existing);
  std::string Any(const std::vector<std::string>& existing) {
    return Chance(75) ? Existing(existing) : Fresh(existing);
  }
  std::string Name();
  uint64_t Size();
  uint32_t Mode();

  std::mt19937_64 random_;
  uint64_t names_ = 0;  // given to snapshots and branches
};

}  // namespace agentfs::model
