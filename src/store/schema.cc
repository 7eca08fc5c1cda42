// SPDX-License-Identifier: Apache-2.0
#include "store/schema.h"

#include "store/schema_views.h"

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

// The names that people use (ops, execs, tool_calls, kv) are those of views.
constexpr Column kExecsKey[] = {{"exec", kInt}};
constexpr Column kExecsValue[] = {{"kind", kText},      {"command", kText}, {"shell", kInt},
                                  {"directory", kText}, {"branch", kText},  {"snapshot", kInt},
                                  {"action", kText},    {"rule", kText},    {"reason", kText},
                                  {"start_ns", kInt},   {"end_ns", kInt},   {"status", kInt},
                                  {"signal", kInt},     {"uid", kInt},      {"label", kText}};

constexpr Column kCallsKey[] = {{"id", kInt}};
constexpr Column kCallsValue[] = {{"name", kText},  {"parameters", kText}, {"result", kText},
                                  {"error", kText}, {"started_ns", kInt},  {"completed_ns", kInt},
                                  {"exec", kInt}};

constexpr Column kValuesKey[] = {{"name", kText}};
constexpr Column kValuesValue[] = {{"created_ns", kInt}, {"updated_ns", kInt}};

constexpr Column kApprovalsKey[] = {{"id", kText}};
constexpr Column kApprovalsValue[] = {{"created_ns", kInt}, {"used_ns", kInt}, {"uid", kInt}};

// What is asked for most comes first: a scan that looks at no more reads no further.
constexpr Column kOpsKey[] = {{"op", kInt}};
constexpr Column kOpsValue[] = {{"exec", kInt},  {"kind", kInt},       {"errno", kInt},
                                {"path", kInt},  {"process", kInt},    {"path2", kInt},
                                {"bytes", kInt}, {"bytes_read", kInt}, {"layer", kInt},
                                {"node", kInt},  {"time_ns", kInt}};

constexpr Column kOpPathsKey[] = {{"path", kInt}};
constexpr Column kOpPathsValue[] = {{"directory", kInt},
                                    {"name", kText},
                                    {"writes", kInt},
                                    {"last_write", kInt},
                                    {"last_op", kInt}};

constexpr Column kOpDirectoriesKey[] = {{"directory", kInt}};
constexpr Column kOpDirectoriesValue[] = {{"branch", kText}, {"path", kText}};

constexpr Column kOpProcessesKey[] = {{"process", kInt}};
constexpr Column kOpProcessesValue[] = {{"exec", kInt},  {"pid", kInt},    {"ppid", kInt},
                                        {"uid", kInt},   {"comm", kText},  {"ops", kInt},
                                        {"bytes", kInt}, {"last_op", kInt}};

constexpr Column kGrowingKey[] = {{"content", kInt}, {"layer", kInt}};
constexpr Column kGrowingValue[] = {{"node", kInt}, {"object", kInt}};

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
    {"exec_rows", kExecsKey, kExecsValue, "details", "", 3},
    {"call_rows", kCallsKey, kCallsValue, "", "", 3},
    {"kv_rows", kValuesKey, kValuesValue, "value", "", 3},
    {"approval_rows", kApprovalsKey, kApprovalsValue, "request", "", 3},
    {"op_rows", kOpsKey, kOpsValue, "", "", 3},
    {"op_paths", kOpPathsKey, kOpPathsValue, "", "", 3},
    {"op_directories", kOpDirectoriesKey, kOpDirectoriesValue, "", "", 3},
    {"op_processes", kOpProcessesKey, kOpProcessesValue, "", "", 3},
    {"growing", kGrowingKey, kGrowingValue, "", "", 4},
};

}  // namespace

const Schema& VolumeSchema() {
  static const Schema schema = {kTables, 4, 2, VolumeViews(), VolumeViewIndexes()};
  return schema;
}

}  // namespace agentfs
