// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "agentfs/result.h"
#include "subject.h"

namespace agentfs::model {

struct ComparisonRules {
  // Whether directories count their subdirectories as links, in both subjects.
  bool directory_links = true;
  // A modification time from here on was set by a clock: two of them need not be equal.
  int64_t clock_start = 0;
};

// The first difference between two trees in names, types, modes, owners, link structure, sizes,
// content, devices, link targets, modification times and xattrs; empty if there is none.
std::string CompareTrees(posix::Subject& expected, posix::Subject& actual,
                         const ComparisonRules& rules);

// The difference between two nodes' attributes, except what CompareTrees finds out by the way.
std::string CompareAttributes(const Attr& expected, const Attr& actual,
                              const ComparisonRules& rules);

// Copies everything below the root, with hard links, owners, modes, modification times and xattrs,
// into the empty `to`.
Result<void> CopyTree(posix::Subject& from, posix::Subject& to);

// All paths below the root, parents before children.
Result<std::vector<std::string>> ListTree(posix::Subject& subject);

}  // namespace agentfs::model
