// SPDX-License-Identifier: Apache-2.0
//
// A tree as text, to compare trees.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agentfs/files.h"

namespace agentfs::testing {

enum class DumpTimes : uint8_t { kNo, kYes };
// Everything that can be seen of the tree at `path`, a line a node; equal trees give equal text.
std::string Dump(const Files& files, std::string_view path, DumpTimes times = DumpTimes::kYes);

}  // namespace agentfs::testing
