// SPDX-License-Identifier: Apache-2.0
#include "store/schema.h"

namespace agentfs {
namespace {

constexpr auto kInt = ColumnType::kInt;
constexpr auto kText = ColumnType::kText;

constexpr Column kMetaKey[] = {{"name", kText}};
constexpr Column kMetaValue[] = {{"value", kInt}};

constexpr Column kLayersKey[] = {{"layer", kInt}};
constexpr Column kLayersValue[] = {{"parent", kInt},       {"sealed", kInt}, {"created_ns", kInt},
                                   {"stored_bytes", kInt}, {"files", kInt},  {"directories", kInt},
                                   {"total_size", kInt}};

constexpr Column kBranchesKey[] = {{"name", kText}};
constexpr Column kBranchesValue[] = {{"layer", kInt}, {"created_ns", kInt}};

constexpr Column kSnapshotsKey[] = {{"number", kInt}};
constexpr Column kSnapshotsValue[] = {
    {"name", kText}, {"layer", kInt}, {"branch", kText}, {"message", kText}, {"created_ns", kInt}};

constexpr Column kNodesKey[] = {{"node", kInt}, {"layer", kInt}};
constexpr Column kNodesValue[] = {
    {"mode", kInt},       {"uid", kInt},           {"gid", kInt},        {"nlink", kInt},
    {"rdev", kInt},       {"size", kInt},          {"atime", kInt},      {"atime_ns", kInt},
    {"mtime", kInt},      {"mtime_ns", kInt},      {"ctime", kInt},      {"ctime_ns", kInt},
    {"btime", kInt},      {"btime_ns", kInt},      {"parent", kInt},     {"born", kInt},
    {"kind", kInt},       {"content", kInt},       {"object", kInt},     {"stored", kInt},
    {"base_end", kInt},   {"base_size", kInt},     {"base_mtime", kInt}, {"base_mtime_ns", kInt},
    {"base_ctime", kInt}, {"base_ctime_ns", kInt}, {"base_inode", kInt}, {"has_base", kInt},
    {"base_path", kText}, {"target", kText}};

constexpr Column kEntriesKey[] = {{"parent", kInt}, {"name", kText}, {"layer", kInt}};
constexpr Column kEntriesValue[] = {{"node", kInt}, {"type", kInt}, {"since_ms", kInt}};

constexpr Column kXattrsKey[] = {{"node", kInt}, {"name", kText}, {"layer", kInt}};
constexpr Column kXattrsValue[] = {{"present", kInt}};

constexpr Column kDataKey[] = {{"content", kInt}, {"chunk", kInt}, {"layer", kInt}};
constexpr Column kDataValue[] = {{"present", kInt}};

constexpr Column kSpansKey[] = {{"content", kInt}, {"span", kInt}, {"layer", kInt}};

constexpr Column kObjectsKey[] = {{"content", kInt}, {"layer", kInt}, {"object", kInt}};

constexpr Column kOrphansKey[] = {{"layer", kInt}, {"node", kInt}, {"content", kInt}};

constexpr Table kTables[] = {
    {"meta", kMetaKey, kMetaValue, "", ""},
    {"layers", kLayersKey, kLayersValue, "", ""},
    {"branches", kBranchesKey, kBranchesValue, "", ""},
    {"snapshots", kSnapshotsKey, kSnapshotsValue, "", ""},
    {"nodes", kNodesKey, kNodesValue, "", "layer"},
    {"entries", kEntriesKey, kEntriesValue, "", "layer"},
    {"xattrs", kXattrsKey, kXattrsValue, "value", ""},
    {"data", kDataKey, kDataValue, "bytes", ""},
    {"spans", kSpansKey, {}, "runs", ""},
    {"objects", kObjectsKey, {}, "", ""},
    {"orphans", kOrphansKey, {}, "", ""},
};

constexpr Schema kSchema = {kTables, 2};

}  // namespace

const Schema& VolumeSchema() { return kSchema; }

}  // namespace agentfs
