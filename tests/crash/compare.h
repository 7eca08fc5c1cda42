// SPDX-License-Identifier: Apache-2.0
//
// Finds out which of the states that a volume went through is the one that it has after a crash.
//
// Names, types, modes, links, sizes, xattrs, the set of branches and snapshots, and the content of
// what is kept in rows must be exactly those of one state. Content that has ever been in an object
// is overwritten in place, before the rows that describe it are committed, so it may be newer than
// the rest: each byte of it must be what it is in that state or in a later one (also of the
// operation that was under way). Not whole pages, because a file that shrank and was then written
// has, in one page, the tail from before and the bytes from after. In snapshots nothing is
// overwritten: their content is exact. After a power cut, content that was overwritten since the
// last sync may also be older, down to that sync; what was never synced is nowhere to be seen, for
// no row is on the disk before the pages that it maps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model.h"

namespace agentfs::crash {

enum class Crash : uint8_t { kProcess, kPower };

// states[i] is the one after i operations; those before `first` and after `last` are excluded.
struct Candidates {
  const std::vector<State>& states;
  size_t first = 0;
  size_t last = 0;
  Crash crash = Crash::kProcess;
};

struct Match {
  std::optional<size_t> state;
  std::string differences;  // of each candidate, if there is no match
};
Match FindState(const Candidates& candidates, const State& actual);

// `state` with the content that `actual`, which matches it, has: where to go on from.
State Adopt(const State& state, const State& actual);

}  // namespace agentfs::crash
