// SPDX-License-Identifier: Apache-2.0
#include "store/schema_views.h"

namespace agentfs {
namespace {

// What each branch's layers have: of the versions of a row the one of the greatest layer among the
// branch's. Names lead down from the root, because a change makes entries all the way up. The order
// of the last joins is fixed: left to itself, SQLite looks for each version through all of a tree.
constexpr std::string_view kFilesView = R"(WITH RECURSIVE
lineage(branch, layer) AS (
  SELECT name, layer FROM branches
  UNION ALL
  SELECT l.branch, y.parent FROM lineage l JOIN layers y ON y.layer = l.layer WHERE y.parent <> 0),
names AS MATERIALIZED (
  SELECT l.branch, e.parent, e.name, e.node, max(e.layer) AS layer
  FROM lineage l JOIN entries e ON e.layer = l.layer GROUP BY l.branch, e.parent, e.name),
versions AS MATERIALIZED (
  SELECT l.branch, n.node, max(n.layer) AS layer
  FROM lineage l JOIN nodes n ON n.layer = l.layer GROUP BY l.branch, n.node),
tree(branch, node, path) AS (
  SELECT name, 1, '' FROM branches
  UNION ALL
  SELECT t.branch, n.node, t.path || '/' || n.name
  FROM tree t JOIN names n ON n.branch = t.branch AND n.parent = t.node WHERE n.node <> 0)
SELECT t.branch AS branch, CASE t.path WHEN '' THEN '/' ELSE t.path END AS path,
  CASE n.mode & 61440 WHEN 32768 THEN 'file' WHEN 16384 THEN 'directory' WHEN 40960 THEN 'symlink'
    WHEN 4096 THEN 'fifo' WHEN 49152 THEN 'socket' WHEN 8192 THEN 'character device'
    WHEN 24576 THEN 'block device' END AS kind,
  n.size AS size, n.mode & 4095 AS mode, printf('%04o', n.mode & 4095) AS permissions,
  n.uid AS uid, n.gid AS gid, n.nlink AS nlink,
  n.atime AS atime, n.mtime AS mtime, n.ctime AS ctime,
  n.mtime * 1000000000 + n.mtime_ns AS mtime_ns,
  CASE n.mode & 61440 WHEN 40960 THEN n.target END AS target,
  CASE n.has_base WHEN 1 THEN '/' || n.base_path END AS base_path,
  v.layer AS version, t.node AS node
FROM tree t CROSS JOIN versions v ON v.branch = t.branch AND v.node = t.node
  CROSS JOIN nodes n ON n.node = v.node AND n.layer = v.layer
WHERE n.nlink > 0)";

constexpr std::string_view kPathsView =
    R"(SELECT p.path AS id, d.branch AS branch, '/' || d.path || p.name AS path, p.writes AS writes,
  nullif(p.last_write, 0) AS last_write, nullif(p.last_op, 0) AS last_op
FROM op_paths p JOIN op_directories d ON d.directory = p.directory)";

constexpr std::string_view kProgramsView =
    R"(SELECT process AS id, exec, pid, ppid, uid, comm, ops, bytes,
  nullif(last_op, 0) AS last_op
FROM op_processes)";

// The numbers of op_rows.kind as words (docs/design/storage-format.md).
#define AGENTFS_OP_NAME(kind)                                                                  \
  "CASE " kind                                                                                 \
  " WHEN 1 THEN 'create' WHEN 2 THEN 'write' WHEN 3 THEN 'truncate' WHEN 4 THEN 'unlink'"      \
  " WHEN 5 THEN 'mkdir' WHEN 6 THEN 'rmdir' WHEN 7 THEN 'rename' WHEN 8 THEN 'link'"           \
  " WHEN 9 THEN 'symlink' WHEN 10 THEN 'mknod' WHEN 11 THEN 'setattr' WHEN 12 THEN 'setxattr'" \
  " WHEN 13 THEN 'removexattr' WHEN 14 THEN 'open' WHEN 15 THEN 'read' WHEN 16 THEN 'dropped'" \
  " WHEN 17 THEN 'restore' WHEN 18 THEN 'allocate' ELSE 'op ' || " kind " END"

constexpr std::string_view kOpsView =
    "SELECT o.op AS id, o.time_ns AS time_ns, d.branch AS branch, o.layer AS layer,\n"
    "  " AGENTFS_OP_NAME("o.kind") R"( AS op,
  '/' || d.path || p.name AS path, '/' || d2.path || p2.name AS path2, nullif(o.node, 0) AS node,
  o.bytes AS bytes, o.bytes_read AS bytes_read, o.errno AS errno,
  nullif(c.pid, 0) AS pid, nullif(c.ppid, 0) AS ppid, c.uid AS uid, nullif(c.comm, '') AS comm,
  o.exec AS exec
FROM op_rows o
  LEFT JOIN op_paths p ON p.path = o.path
  LEFT JOIN op_directories d ON d.directory = p.directory
  LEFT JOIN op_paths p2 ON p2.path = o.path2
  LEFT JOIN op_directories d2 ON d2.directory = p2.directory
  LEFT JOIN op_processes c ON c.process = o.process)";

// A rename or a link changes two paths: such a row counts for both. 1 made, 2 gone, 0 changed: what
// came first and last tells what became of a path. A condition on exec reaches the index.
#define AGENTFS_OP_EFFECT                                          \
  "op * 4 + CASE WHEN second = 1 OR kind IN (1, 5, 9, 10) THEN 1 " \
  "WHEN kind IN (4, 6, 7) THEN 2 ELSE 0 END"
constexpr std::string_view kChangesView = R"(SELECT d.branch AS branch, s.exec AS exec,
  '/' || d.path || p.name AS path,
  CASE WHEN last = 2 AND first = 1 THEN 'temporary' WHEN last = 2 THEN 'deleted'
    WHEN first = 1 THEN 'created' ELSE 'modified' END AS change,
  s.ops AS ops, s.bytes AS bytes, s.first_op AS first_op, s.last_op AS last_op
FROM (
  SELECT exec, CASE second WHEN 0 THEN o.path ELSE o.path2 END AS changed, count(*) AS ops,
    sum(CASE second WHEN 0 THEN bytes ELSE 0 END) AS bytes, min(op) AS first_op,
    max(op) AS last_op, min()" AGENTFS_OP_EFFECT ") % 4 AS first, max(" AGENTFS_OP_EFFECT
                                          R"() % 4 AS last
  FROM op_rows o CROSS JOIN (SELECT 0 AS second UNION ALL SELECT 1)
  WHERE errno = 0 AND path <> 0 AND kind NOT IN (14, 15, 16, 17)
    AND CASE second WHEN 0 THEN kind <> 8 ELSE kind IN (7, 8) END
  GROUP BY exec, changed) s
  JOIN op_paths p ON p.path = s.changed
  JOIN op_directories d ON d.directory = p.directory)";

constexpr std::string_view kExecsView =
    R"(SELECT exec AS id, kind, command, shell, directory, branch,
  CASE snapshot WHEN 0 THEN NULL ELSE 's' || snapshot END AS snapshot,
  nullif(action, '') AS action, nullif(rule, '') AS rule, nullif(reason, '') AS reason,
  start_ns / 1000000000 AS started_at, nullif(end_ns, 0) / 1000000000 AS ended_at,
  (nullif(end_ns, 0) - start_ns) / 1000000 AS duration_ms,
  CASE WHEN end_ns = 0 THEN 'running' WHEN status = -2 THEN 'lost' ELSE 'ended' END AS state,
  CASE WHEN status >= 0 THEN status END AS status, nullif(signal, 0) AS signal, uid,
  nullif(label, '') AS label, start_ns, nullif(end_ns, 0) AS end_ns,
  nullif(CAST(details AS TEXT), '') AS details
FROM exec_rows)";

constexpr std::string_view kToolCallsView =
    R"(SELECT id, name, nullif(parameters, '') AS parameters, nullif(result, '') AS result,
  nullif(error, '') AS error, started_ns / 1000000000 AS started_at,
  nullif(completed_ns, 0) / 1000000000 AS completed_at,
  (nullif(completed_ns, 0) - started_ns) / 1000000 AS duration_ms,
  started_ns, nullif(completed_ns, 0) AS completed_ns, exec
FROM call_rows)";

constexpr std::string_view kKvView =
    R"(SELECT name AS key, CAST(value AS TEXT) AS value, created_ns / 1000000000 AS created_at,
  updated_ns / 1000000000 AS updated_at, created_ns, updated_ns
FROM kv_rows)";

constexpr NamedQuery kViews[] = {
    {"files", kFilesView},
    {"changes", kChangesView},
    {"ops", kOpsView},
    {"paths", kPathsView},
    {"programs", kProgramsView},
    {"execs", kExecsView},
    {"tool_calls", kToolCallsView},
    {"kv", kKvView},
};

// What the questions of docs/audit.md need to be quick with a million rows; 10 bytes a row.
constexpr NamedQuery kIndexes[] = {{"op_rows_by_exec", "op_rows (exec)"}};

}  // namespace

std::span<const NamedQuery> VolumeViews() { return kViews; }
std::span<const NamedQuery> VolumeViewIndexes() { return kIndexes; }

}  // namespace agentfs
