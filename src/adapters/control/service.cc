// SPDX-License-Identifier: Apache-2.0
#include "adapters/control/service.h"
#include "agentfs/exec_log.h"

#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "adapters/control/execution_json.h"
#include "adapters/control/json.h"
#include "base/json_depth.h"
#include "exec/json_bytes.h"

namespace agentfs::control {

using Json = nlohmann::ordered_json;

namespace {

// Reads the arguments of a request, remembers the first that is wrong.
class Arguments {
 public:
  explicit Arguments(const Json& json) : json_(json) {}

  std::string Text(const char* name, std::string fallback = {}) {
    return Get<std::string>(name, std::move(fallback), &Json::is_string, "a string");
  }
  std::string Required(const char* name) {
    if (!json_.contains(name)) Complain(name, "is missing");
    return Text(name);
  }
  std::vector<std::string> Texts(const char* name) {
    std::vector<std::string> texts;
    const auto it = json_.find(name);
    if (it == json_.end()) return texts;
    for (const Json& each : *it) {
      if (each.is_string()) texts.push_back(each.get<std::string>());
    }
    if (!it->is_array() || texts.size() != it->size()) Complain(name, "must be a list of strings");
    return texts;
  }
  bool Flag(const char* name) { return Get(name, false, &Json::is_boolean, "true or false"); }
  uint32_t Number(const char* name, uint32_t fallback) {
    return Get(name, fallback, &Json::is_number_unsigned, "a number");
  }

  Result<void> Check() const {
    if (error_) return *error_;
    return Ok();
  }

 private:
  template <typename T>
  T Get(const char* name, T fallback, bool (Json::*is)() const noexcept, const char* kind) {
    auto it = json_.find(name);
    if (it == json_.end()) return fallback;
    if (!((*it).*is)()) {
      Complain(name, "must be " + std::string(kind));
      return fallback;
    }
    return it->template get<T>();
  }
  void Complain(const std::string& name, const std::string& why) {
    if (!error_) error_ = Error(EINVAL, "argument '" + name + "' " + why);
  }

  const Json& json_;
  std::optional<Error> error_;
};

std::string Success(Json result) {
  Json answer = {{"ok", true}};
  if (!result.is_null()) answer["result"] = std::move(result);
  return Dump(answer);
}

std::vector<std::string> SplitAtNul(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\0'), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

struct Parsed {
  std::string name;
  Json arguments = Json::object();
};

Result<Parsed> Parse(const std::string& text) {
  if (IsJsonTooDeep(text)) return Error(EBADMSG, "the request is nested too deeply");
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Error(EBADMSG, "the request is not a JSON object");
  auto version = json.find("version");
  if (version == json.end() || !version->is_number_integer()) {
    return Error(EBADMSG, "the request has no version");
  }
  if (*version != kProtocolVersion) {
    return Error(EPROTONOSUPPORT,
                 "the request is of protocol version " + Dump(*version) + ", this is " +
                     std::to_string(kProtocolVersion),
                 "use the agentfs that runs the server, or end the server");
  }
  auto name = json.find("request");
  if (name == json.end() || !name->is_string()) return Error(EBADMSG, "the request has no name");
  Parsed parsed{*name};
  auto arguments = json.find("arguments");
  if (arguments != json.end()) parsed.arguments = *arguments;
  if (!parsed.arguments.is_object()) return Error(EBADMSG, "the arguments are not an object");
  return parsed;
}

}  // namespace

// One request being executed.
class RequestRun {
 public:
  RequestRun(ControlService& service, const Parsed& parsed, Request& request, const Peer& peer)
      : service_(service),
        operations_(service.operations_),
        json_(parsed.arguments),
        arguments_(parsed.arguments),
        request_(request),
        peer_(peer) {}

  Result<Json> Execute(const std::string& name);

 private:
  using Handler = Result<Json> (RequestRun::*)();
  // Whether a process inside a mount may ask for it, for its own branch.
  enum class Inside : uint8_t { kNo, kOwnBranch };
  struct Entry {
    std::string_view name;
    Handler handler;
    Inside inside;
  };
  static const std::array<Entry, 27> kRequests;

  Result<std::string> Branch();
  Result<MountHost*> Mounts();
  Result<ServiceHost*> Host();

  Result<Json> Capabilities();
  Result<Json> Status();
  Result<Json> Statistics();
  Result<Json> Flush();
  Result<Json> SnapshotCreate();
  Result<Json> SnapshotList();
  Result<Json> SnapshotDelete();
  Result<Json> BranchCreate();
  Result<Json> BranchList();
  Result<Json> BranchDelete();
  Result<Json> BranchBind();
  Result<Json> Session();
  Result<Json> Restore();
  Result<Json> Mount();
  Result<Json> Unmount();
  Result<Json> UnmountAll();
  Result<Json> Shutdown();
  Result<Json> Command();
  Result<Json> Subscribe();
  Result<Json> Leave();
  Result<Json> RunBegin();
  Result<Json> ExecBegin();
  Result<Json> ExecEnd();
  Result<Json> ExecRefuse();
  Result<Json> ApprovalKeep();
  Result<Json> ApprovalTake();
  Result<Executions*> AllExecutions();
  ExecutionPeer Asker() const { return {peer_.uid, peer_.pid, peer_.connection}; }
  Result<Json> RunEnd();

  ControlService& service_;
  Operations& operations_;
  const Json& json_;
  Arguments arguments_;
  Request& request_;
  const Peer& peer_;
};

const std::array<RequestRun::Entry, 27> RequestRun::kRequests = {{
    {"capabilities", &RequestRun::Capabilities, Inside::kOwnBranch},
    {"status", &RequestRun::Status, Inside::kNo},
    {"statistics", &RequestRun::Statistics, Inside::kNo},
    {"flush", &RequestRun::Flush, Inside::kNo},
    {"snapshot.create", &RequestRun::SnapshotCreate, Inside::kOwnBranch},
    {"snapshot.list", &RequestRun::SnapshotList, Inside::kOwnBranch},
    {"snapshot.delete", &RequestRun::SnapshotDelete, Inside::kNo},
    {"branch.create", &RequestRun::BranchCreate, Inside::kNo},
    {"branch.list", &RequestRun::BranchList, Inside::kNo},
    {"branch.delete", &RequestRun::BranchDelete, Inside::kNo},
    {"branch.bind", &RequestRun::BranchBind, Inside::kNo},
    {"session", &RequestRun::Session, Inside::kNo},
    {"restore", &RequestRun::Restore, Inside::kNo},
    {"mount", &RequestRun::Mount, Inside::kNo},
    {"umount", &RequestRun::Unmount, Inside::kNo},
    {"umount-all", &RequestRun::UnmountAll, Inside::kNo},
    {"shutdown", &RequestRun::Shutdown, Inside::kNo},
    {"command", &RequestRun::Command, Inside::kNo},
    {"subscribe", &RequestRun::Subscribe, Inside::kNo},
    {"leave", &RequestRun::Leave, Inside::kNo},
    {"run.begin", &RequestRun::RunBegin, Inside::kNo},
    {"exec.begin", &RequestRun::ExecBegin, Inside::kNo},
    {"exec.end", &RequestRun::ExecEnd, Inside::kNo},
    {"exec.refuse", &RequestRun::ExecRefuse, Inside::kNo},
    {"approval.keep", &RequestRun::ApprovalKeep, Inside::kNo},
    {"approval.take", &RequestRun::ApprovalTake, Inside::kNo},
    {"run.end", &RequestRun::RunEnd, Inside::kNo},
}};

Result<Json> RequestRun::Execute(const std::string& name) {
  for (const Entry& entry : kRequests) {
    if (entry.name != name) continue;
    if (!peer_.inside.empty() && entry.inside == Inside::kNo) {
      return Error(EPERM, "'" + name + "' cannot be asked for from inside a mount",
                   "ask from outside, with the agentfs command");
    }
    return (this->*entry.handler)();
  }
  return Error(ENOSYS, "there is no request '" + name + "'",
               "the request 'capabilities' lists those that there are");
}

// The branch that the request is about: inside a mount that mount's, else main if none is named.
Result<std::string> RequestRun::Branch() {
  const std::string own = peer_.inside.empty() ? std::string(kMainBranch) : peer_.inside;
  std::string branch = arguments_.Text("branch", own);
  AGENTFS_TRY(arguments_.Check());
  if (!peer_.inside.empty() && branch != own) {
    return Error(EPERM, "branch '" + branch + "' is not the one of this mount, '" + own + "'");
  }
  return branch;
}

Result<MountHost*> RequestRun::Mounts() {
  if (operations_.mounts() == nullptr) return Error(EOPNOTSUPP, "there are no mounts here");
  return operations_.mounts();
}

Result<ServiceHost*> RequestRun::Host() {
  if (service_.host_ == nullptr) return Error(EOPNOTSUPP, "only a server does this");
  return service_.host_;
}

Result<Json> RequestRun::Capabilities() {
  Json names = Json::array();
  for (const Entry& entry : kRequests) {
    if (peer_.inside.empty() || entry.inside == Inside::kOwnBranch) names.push_back(entry.name);
  }
  return Json{{"program", service_.program_version_},
              {"version", kProtocolVersion},
              {"requests", std::move(names)}};
}

Result<Json> RequestRun::Status() {
  AGENTFS_ASSIGN(Json json, StatusJson(operations_));
  if (service_.host_ != nullptr) service_.host_->Describe(json);
  return json;
}

Result<Json> RequestRun::Statistics() { return StatisticsJson(operations_); }

Result<Json> RequestRun::Flush() {
  AGENTFS_TRY(operations_.Flush());
  return Json();
}

Result<Json> RequestRun::SnapshotCreate() {
  AGENTFS_ASSIGN(const std::string branch, Branch());
  const std::string name = arguments_.Text("name"), message = arguments_.Text("message");
  AGENTFS_TRY(arguments_.Check());
  AGENTFS_ASSIGN(SnapshotInfo snapshot, operations_.CreateSnapshot(branch, name, message));
  return SnapshotJson(snapshot);
}

Result<Json> RequestRun::SnapshotList() {
  Json json = Json::array();
  for (const SnapshotInfo& snapshot : operations_.volume().ListSnapshots()) {
    if (!peer_.inside.empty() && snapshot.branch != peer_.inside) continue;
    json.push_back(SnapshotJson(snapshot));
  }
  return json;
}

Result<Json> RequestRun::SnapshotDelete() {
  const std::string name = arguments_.Required("name");
  AGENTFS_TRY(arguments_.Check());
  AGENTFS_TRY(operations_.DeleteSnapshot(name));
  return Json();
}

Result<Json> RequestRun::BranchCreate() {
  const std::string name = arguments_.Required("name");
  const std::string from = arguments_.Text("from", std::string(kMainBranch));
  AGENTFS_TRY(arguments_.Check());
  AGENTFS_ASSIGN(BranchInfo branch, operations_.CreateBranch(name, from));
  return BranchJson(operations_.volume(), branch);
}

Result<Json> RequestRun::BranchList() { return BranchesJson(operations_.volume()); }

Result<Json> RequestRun::BranchDelete() {
  const std::string name = arguments_.Required("name");
  AGENTFS_TRY(arguments_.Check());
  AGENTFS_TRY(operations_.DeleteBranch(name));
  return Json();
}

Result<Json> RequestRun::BranchBind() {
  AGENTFS_ASSIGN(MountHost * mounts, Mounts());
  BindRequest bind;
  bind.branch = arguments_.Text("name", std::string(kMainBranch));
  bind.pid = arguments_.Number("pid", 0);
  bind.path = request_.payload;
  bind.caller = peer_.pid;
  AGENTFS_TRY(arguments_.Check());
  if (bind.pid == 0) return Error(EINVAL, "argument 'pid' is missing");
  AGENTFS_ASSIGN(const BindState state, mounts->Bind(bind));
  return BindJson(state);
}

Result<Json> RequestRun::Session() {
  AGENTFS_ASSIGN(MountHost * mounts, Mounts());
  AGENTFS_ASSIGN(const std::string root, mounts->SessionRoot());
  return Json{{"root", root}};
}

Result<Json> RequestRun::Restore() {
  AGENTFS_ASSIGN(const std::string branch, Branch());
  const std::string ref = arguments_.Required("ref");
  AGENTFS_TRY(arguments_.Check());
  AGENTFS_ASSIGN(SnapshotInfo before, operations_.Restore(branch, ref));
  return Json{{"replaced", SnapshotJson(before)}};
}

Result<Json> RequestRun::Mount() {
  AGENTFS_ASSIGN(MountHost * mounts, Mounts());
  MountRequest mount;
  mount.point = request_.payload;
  mount.pid = peer_.pid;
  mount.branch = arguments_.Text("branch");
  mount.snapshot = arguments_.Text("snapshot");
  mount.profile = arguments_.Text("profile", "default");
  mount.read_only = arguments_.Flag("read_only");
  mount.allow_other = arguments_.Flag("allow_other");
  if (arguments_.Flag("hold")) mount.held_by = peer_.connection;
  AGENTFS_TRY(arguments_.Check());
  AGENTFS_ASSIGN(MountState state, mounts->Mount(mount));
  return MountJson(state);
}

namespace {

// Mounts that somebody has asked for: the session with all branches goes on its own.
size_t CountViews(MountHost& mounts) {
  size_t count = 0;
  for (const MountState& mount : mounts.List()) {
    if (!mount.branch.empty() || !mount.snapshot.empty()) ++count;
  }
  return count;
}

}  // namespace

Result<Json> RequestRun::Unmount() {
  AGENTFS_ASSIGN(MountHost * mounts, Mounts());
  const auto force = arguments_.Flag("force") ? UnmountForce::kYes : UnmountForce::kNo;
  AGENTFS_TRY(arguments_.Check());
  AGENTFS_TRY(mounts->Unmount(request_.payload, force));
  AGENTFS_TRY(operations_.volume().Flush(Durability::kSynced));
  return Json{{"mounts_left", CountViews(*mounts)}};
}

Result<Json> RequestRun::UnmountAll() {
  AGENTFS_ASSIGN(MountHost * mounts, Mounts());
  const auto force = arguments_.Flag("force") ? UnmountForce::kYes : UnmountForce::kNo;
  AGENTFS_TRY(arguments_.Check());
  Json points = Json::array();
  std::optional<Error> first;
  for (const MountState& mount : mounts->List()) {
    auto done = mounts->Unmount(mount.point, force);
    if (done.ok()) points.push_back(mount.point);
    if (!done.ok() && !first) first = done.error();
  }
  AGENTFS_TRY(operations_.volume().Flush(Durability::kSynced));
  if (first) return *first;
  return Json{{"unmounted", points}, {"mounts_left", CountViews(*mounts)}};
}

Result<Json> RequestRun::Shutdown() {
  AGENTFS_ASSIGN(ServiceHost * host, Host());
  const auto force = arguments_.Flag("force") ? UnmountForce::kYes : UnmountForce::kNo;
  AGENTFS_TRY(arguments_.Check());
  AGENTFS_TRY(host->Shutdown(force));
  return Json();
}

Result<Json> RequestRun::Command() {
  AGENTFS_ASSIGN(ServiceHost * host, Host());
  CommandRequest command;
  const std::string program = arguments_.Required("program");
  command.umask = arguments_.Number("umask", 022);
  command.no_color = arguments_.Flag("no_color");
  AGENTFS_TRY(arguments_.Check());
  if (program != service_.program_version_) {
    return Error(EPROTONOSUPPORT,
                 "the workspace is served by agentfs " + service_.program_version_ +
                     ", and this is agentfs " + program,
                 "'agentfs umount --all' ends the server, then this one can be used");
  }
  if (request_.descriptors.size() != 3) return Error(EBADMSG, "a command takes 3 descriptors");
  // The directory, then the arguments.
  command.arguments = SplitAtNul(request_.payload);
  if (command.arguments.empty()) return Error(EBADMSG, "a command takes a directory");
  command.directory = command.arguments.front();
  command.arguments.erase(command.arguments.begin());
  command.in = std::move(request_.descriptors[0]);
  command.out = std::move(request_.descriptors[1]);
  command.err = std::move(request_.descriptors[2]);
  AGENTFS_ASSIGN(CommandOutcome outcome, host->RunCommand(std::move(command), peer_));
  return Json{{"status", outcome.status}, {"broken_pipe", outcome.broken_pipe}};
}

Result<Json> RequestRun::Subscribe() {
  arguments_.Text("branch");
  AGENTFS_TRY(arguments_.Check());
  if (peer_.connection == 0 || operations_.events() == nullptr) {
    return Error(EOPNOTSUPP, "events come over a connection to the server only");
  }
  return Json();
}

Result<Json> RequestRun::Leave() { return Json{{"leaving", false}}; }

Result<Json> RequestRun::RunBegin() {
  RunRequest run;
  ExecStart start;
  run.branch = arguments_.Text("branch", std::string(kMainBranch));
  run.command = request_.payload;
  run.pid = peer_.pid;
  run.connection = peer_.connection;
  start.command = arguments_.Texts("argv");
  start.directory = arguments_.Text("directory");
  const std::string audit = arguments_.Text("audit");
  AGENTFS_TRY(arguments_.Check());
  run.hidden = GetByteList(json_, "hidden");
  run.audit = AuditLevelNamed(audit);
  if (!audit.empty() && !run.audit) return Error(EINVAL, "audit: '" + audit + "' is no level");
  if (run.connection == 0) return Error(EOPNOTSUPP, "a run needs a connection to the server");
  if (start.command.empty()) {
    start.shell = true;
    start.command = {run.command};
  }
  start.branch = run.branch;
  start.uid = peer_.uid;
  const std::optional<AuditLevel> level = run.audit;
  AGENTFS_ASSIGN(const RunState state, operations_.BeginRun(std::move(run)));
  start.snapshot = state.checkpoint_number;
  AGENTFS_ASSIGN(const uint64_t exec, BeginExec(operations_.volume(), start));
  operations_.NoteExec(peer_.connection, exec, level);
  return Json{{"branch", state.branch},
              {"created", state.created},
              {"checkpoint", state.checkpoint},
              {"session", state.session},
              {"namespaces_of", state.namespaces_of},
              {"exec", exec},
              {"uid", ::geteuid()}};
}

Result<Executions*> RequestRun::AllExecutions() {
  if (service_.executions_ == nullptr) return Error(EOPNOTSUPP, "only a server does this");
  return service_.executions_;
}

Result<Json> RequestRun::ExecBegin() {
  AGENTFS_ASSIGN(Executions * executions, AllExecutions());
  return AnswerExecBegin(*executions, json_, Asker());
}

Result<Json> RequestRun::ExecEnd() {
  AGENTFS_ASSIGN(Executions * executions, AllExecutions());
  return AnswerExecEnd(*executions, json_, request_.payload, Asker());
}

Result<Json> RequestRun::ExecRefuse() {
  AGENTFS_ASSIGN(Executions * executions, AllExecutions());
  return AnswerExecRefuse(*executions, json_, Asker());
}

Result<Json> RequestRun::ApprovalKeep() {
  AGENTFS_ASSIGN(Executions * executions, AllExecutions());
  AGENTFS_ASSIGN(const std::string id, executions->KeepApproval(request_.payload, Asker()));
  return Json{{"id", id}};
}

Result<Json> RequestRun::ApprovalTake() {
  AGENTFS_ASSIGN(Executions * executions, AllExecutions());
  const std::string id = arguments_.Required("id");
  AGENTFS_TRY(arguments_.Check());
  AGENTFS_ASSIGN(const std::string request, executions->TakeApproval(id, Asker()));
  return Json{{"request", request}};
}

Result<Json> RequestRun::RunEnd() {
  const uint32_t exec = arguments_.Number("exec", 0);
  agentfs::ExecEnd end;
  end.status = static_cast<int>(arguments_.Number("status", 0));
  end.signal = static_cast<int>(arguments_.Number("signal", 0));
  AGENTFS_TRY(arguments_.Check());
  AGENTFS_TRY(EndExec(operations_.volume(), exec, end));
  return Json();
}

bool ControlService::IsLeave(const std::string& text) {
  auto parsed = Parse(text);
  return parsed.ok() && parsed->name == "leave";
}

std::string ControlService::LeavingAnswer() { return Success(Json{{"leaving", true}}); }

std::string ControlService::Answer(const Error& error) {
  Json json = ErrorJson(error);
  json["errno"] = error.code();
  return Dump({{"ok", false}, {"error", std::move(json)}});
}

std::string ControlService::Greeting() const {
  return Dump(
      {{"server", "agentfs"}, {"program", program_version_}, {"version", kProtocolVersion}});
}

std::string ControlService::Execute(Request request, const Peer& peer) {
  auto parsed = Parse(request.text);
  if (!parsed.ok()) return Answer(parsed.error());
  RequestRun run(*this, *parsed, request, peer);
  if (peer.inside.empty()) {
    auto result = run.Execute(parsed->name);
    return result.ok() ? Success(std::move(result).value()) : Answer(result.error());
  }
  if (!inside_mu_.TryLock()) {
    return Answer(
        Error(EBUSY, "another request from inside a mount is being worked on", "try again"));
  }
  auto result = run.Execute(parsed->name);
  inside_mu_.Unlock();
  return result.ok() ? Success(std::move(result).value()) : Answer(result.error());
}

Result<std::string> ControlService::SubscribedBranch(const std::string& text) {
  AGENTFS_ASSIGN(Parsed parsed, Parse(text));
  if (parsed.name != "subscribe") return Error(ENOMSG);
  Arguments arguments(parsed.arguments);
  std::string branch = arguments.Text("branch");
  AGENTFS_TRY(arguments.Check());
  return branch;
}

}  // namespace agentfs::control
