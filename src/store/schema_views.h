// SPDX-License-Identifier: Apache-2.0
//
// The tables of a volume as people ask about them, in SQL. docs/audit.md explains each column.
#pragma once

#include <span>

#include "agentfs/store.h"

namespace agentfs {

std::span<const NamedQuery> VolumeViews();
std::span<const NamedQuery> VolumeViewIndexes();

}  // namespace agentfs
