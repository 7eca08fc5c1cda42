// SPDX-License-Identifier: Apache-2.0
//
// The tables of a volume, declared once. docs/design/storage-format.md explains each column.
#pragma once

#include "agentfs/store.h"

namespace agentfs {

namespace tables {
inline constexpr TableId kMeta = 0;  // named values: counters, the format's parameters
inline constexpr TableId kLayers = 1;
inline constexpr TableId kBranches = 2;
inline constexpr TableId kSnapshots = 3;
inline constexpr TableId kNodes = 4;
inline constexpr TableId kEntries = 5;
inline constexpr TableId kXattrs = 6;
inline constexpr TableId kData = 7;   // small content: chunks of bytes
inline constexpr TableId kSpans = 8;  // large content: which pages are in which object
inline constexpr TableId kObjects = 9;
inline constexpr TableId kOrphans =
    10;  // rows of a layer to remove: of unlinked nodes in use, of dropped content
// What was done, by whom: records that no view is made of.
inline constexpr TableId kExecs = 11;
inline constexpr TableId kCalls = 12;
inline constexpr TableId kValues = 13;  // kv_rows
inline constexpr TableId kApprovals = 14;
inline constexpr TableId kOps = 15;
inline constexpr TableId kOpPaths = 16;
inline constexpr TableId kOpDirectories = 17;
inline constexpr TableId kOpProcesses = 18;
inline constexpr TableId kFirstOfRecords = kExecs;
inline constexpr TableId kLastOfRecords = kOpProcesses;
inline constexpr TableId kGrowing = 19;  // files whose object says how long they are
}  // namespace tables

// The schema of this version of the program.
const Schema& VolumeSchema();

}  // namespace agentfs
