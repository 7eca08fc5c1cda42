// SPDX-License-Identifier: Apache-2.0
//
// The states that a volume goes through, as operations are performed on it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agentfs/volume.h"
#include "compare.h"
#include "model.h"
#include "victim.h"

namespace agentfs::crash {

class History {
 public:
  History(State first, uint64_t seed, LargeContent large)
      : seed_(seed), large_(large), states_{std::move(first)} {}

  // Operation number i (from 1) has returned with `code`; a test failure if it should not have.
  void Returned(uint32_t i, int code);
  void Returned(const std::vector<Report>& reports);
  size_t acknowledged() const { return acknowledged_; }
  // Everything up to this operation is on stable storage.
  size_t synced() const { return synced_; }

  // Checks the volume as it is after a crash: fsck is clean, and the state is one of those from
  // `first` to the operation that was under way. Returns the state to go on from.
  State Verify(Volume& volume, size_t first, Crash crash = Crash::kProcess);

 private:
  // Makes states_[i] be there; gives the errno of operation i.
  int Reach(size_t i);

  const uint64_t seed_;
  const LargeContent large_;
  std::vector<State> states_;  // after 0, 1, 2, ... operations
  std::vector<int> codes_ = {0};
  size_t acknowledged_ = 0;
  size_t synced_ = 0;
};

}  // namespace agentfs::crash
