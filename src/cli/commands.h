// SPDX-License-Identifier: Apache-2.0
//
// The commands but `fs` (see fs_commands.h): what the command line said, and doing it. The value
// is the exit status.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/volume.h"
#include "workspace/workspace.h"

namespace agentfs::cli {

struct Context;

Result<int> RunVersion(Context& context);
Result<int> RunInit(Context& context, const InitOptions& options);
// Makes a workspace as `init` does and says nothing; one that is there already will do.
Result<Workspace> InitWorkspace(const Context& context, const InitOptions& options);

struct SnapshotOptions {
  std::string name, branch, message;  // create
  std::vector<std::string> names;     // delete
};
Result<int> RunSnapshotCreate(Context& context, const SnapshotOptions& options);
Result<int> RunSnapshotList(Context& context, const SnapshotOptions& options);
Result<int> RunSnapshotDelete(Context& context, const SnapshotOptions& options);

struct BranchOptions {
  std::string name;
  std::string from = std::string(kMainBranch);  // create
  bool force = false;                           // delete
};
Result<int> RunBranchCreate(Context& context, const BranchOptions& options);
Result<int> RunBranchList(Context& context, const BranchOptions& options);
Result<int> RunBranchDelete(Context& context, const BranchOptions& options);
struct BindOptions {
  std::string name;
  uint32_t pid = 0;
  std::string path;  // empty: the workspace's own
};
Result<int> RunBranchBind(Context& context, const BindOptions& options);

struct DiffOptions {
  std::vector<std::string> arguments;  // refs, then paths
  std::string branch;
  bool outside = false;  // what was changed outside of the workspace
  bool stat = false, name_status = false, exit_code = false;
};
Result<int> RunDiff(Context& context, const DiffOptions& options);

struct LogCommand {
  std::string path, branch;
};
Result<int> RunLog(Context& context, const LogCommand& command);

struct AuditCommand {
  std::string path, op, since;
  std::optional<uint64_t> exec, limit;  // a limit of 0: all
};
Result<int> RunAudit(Context& context, const AuditCommand& command);
Result<int> RunAuditExport(Context& context, const AuditCommand& command);
struct AuditPrune {
  std::string before;
  std::optional<uint64_t> keep;
};
Result<int> RunAuditPrune(Context& context, const AuditPrune& command);

struct ApplyCommand {
  std::string branch;
  std::vector<std::string> paths;
  bool dry_run = false, yes = false, merge = false, force = false, undo = false;
};
Result<int> RunApply(Context& context, const ApplyCommand& command);
struct DiscardCommand {
  std::string branch;
  std::vector<std::string> paths;
};
Result<int> RunDiscard(Context& context, const DiscardCommand& command);
struct RestoreCommand {
  std::string ref, branch;
  std::vector<std::string> paths;
};
Result<int> RunRestore(Context& context, const RestoreCommand& command);
struct UndoCommand {
  std::string branch;
};
Result<int> RunUndo(Context& context, const UndoCommand& command);

struct ExportOptions {
  std::string ref;  // empty: main
  std::string format = "tar";
};
// Writes the archive to the command's file (command_file.h).
Result<int> RunExport(Context& context, const ExportOptions& options);
struct PackCommand {
  bool no_history = false;
};
// Writes a database to the command's file.
Result<int> RunPack(Context& context, const PackCommand& command);
// Says that the command's file is there.
Result<int> ReportFile(const Context& context, uint64_t size);
struct ImportOptions {
  std::string file, branch;
  std::string to = "/";
  bool keep_links = false;
};
Result<int> RunImport(Context& context, const ImportOptions& options);

struct SqlCommand {
  std::string query;       // "-": stdin
  double timeout = 10;     // seconds
  uint64_t limit = 10000;  // rows; 0: all
  bool csv = false;
};
Result<int> RunSql(Context& context, const SqlCommand& command);

struct KvOptions {
  std::string key;                // get, set; list: what keys begin with
  std::vector<std::string> keys;  // delete
  std::optional<std::string> value;
  bool string = false;  // the value is a string as it is, not JSON
};
Result<int> RunKvGet(Context& context, const KvOptions& options);
Result<int> RunKvSet(Context& context, const KvOptions& options);
Result<int> RunKvDelete(Context& context, const KvOptions& options);
Result<int> RunKvList(Context& context, const KvOptions& options);

struct ToolOptions {
  std::string name;  // record; list: only of this one
  std::optional<std::string> parameters, result;
  std::string error;
  std::string started, completed;  // empty: now
  uint64_t exec = 0;
  uint64_t limit = 100;
};
Result<int> RunToolRecord(Context& context, const ToolOptions& options);
Result<int> RunToolList(Context& context, const ToolOptions& options);
Result<int> RunToolStats(Context& context, const ToolOptions& options);

struct MountCommand {
  std::string point, branch, snapshot;
  std::string profile = "default";
  bool foreground = false, allow_other = false, read_only = false;
};
Result<int> RunMount(Context& context, const MountCommand& command);
struct UnmountCommand {
  std::string point;
  bool all = false, force = false;
};
Result<int> RunUnmount(Context& context, const UnmountCommand& command);

struct RunCommand {
  std::string branch = std::string(kMainBranch);
  std::vector<std::string> cow, allow, hide;
  bool no_net = false, apply = false, discard = false;
  std::string audit;  // empty: as the workspace is set
  std::vector<std::string> command;
};
Result<int> RunRun(Context& context, const RunCommand& command);
// What changed in a branch since a snapshot, for the end of a run.
struct SummaryOptions {
  std::string branch, since;
};
Result<int> RunSummary(Context& context, const SummaryOptions& options);

struct McpCommand {
  std::string branch = std::string(kMainBranch);
  std::vector<std::string> environment;  // the client's
};
Result<int> RunMcp(Context& context, const McpCommand& command);
// The same inside of the server.
Result<int> RunMcpSession(Context& context, const McpCommand& command);

struct ExecCommand {
  std::optional<std::string> branch, cwd, shell, label;
  std::string checkpoint = "auto";
  bool read_only = false, input = false, no_net = false, show_error = false;
  double timeout = 0;  // seconds; 0: none
  std::vector<std::string> environment, cow, allow, hide, argv;
  std::optional<uint64_t> output_limit;
  std::string approve;             // an approval's id, in place of a command
  std::optional<uint64_t> output;  // an exec's id, in place of a command
};
Result<int> RunExec(Context& context, const ExecCommand& command);
// Prints what an exec has written.
Result<int> RunExecOutput(Context& context, const ExecCommand& command);

Result<int> RunDoctor(Context& context);
struct PolicyOptions {
  std::vector<std::string> arguments;  // of a command; of `test`: files
  std::optional<std::string> shell;    // the command as shell text
  std::string cwd, network;            // empty: here; as the configuration says
};
Result<int> RunPolicyCheck(Context& context, const PolicyOptions& options);
Result<int> RunPolicyExplain(Context& context, const PolicyOptions& options);
Result<int> RunPolicyTest(Context& context, const PolicyOptions& options);

Result<int> RunStatus(Context& context);
Result<int> RunGc(Context& context);
enum class Repair : bool { kNo, kYes };
Result<int> RunFsck(Context& context, Repair repair);

}  // namespace agentfs::cli
