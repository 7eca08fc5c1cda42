// SPDX-License-Identifier: Apache-2.0
#include "workspace/history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "agentfs/exec_log.h"
#include "agentfs/files.h"
#include "agentfs/op_log.h"
#include "base/clock.h"
#include "sys/fd.h"
#include "workspace/checkpoint.h"

namespace agentfs {
namespace {

std::string AppliesFile(const Layout& layout) {
  return std::filesystem::path(layout.database).parent_path() / "applies.log";
}

// One line for each apply; names of branches and snapshots have no spaces.
std::vector<HistoryEvent> ReadApplies(const Layout& layout) {
  std::vector<HistoryEvent> events;
  if (layout.kind == WorkspaceKind::kBare) return events;
  std::ifstream file(AppliesFile(layout));
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    HistoryEvent event;
    std::string what, paths;
    if (!(in >> event.time_ns >> what >> event.branch >> event.ref >> paths)) continue;
    event.kind = what == "undo" ? HistoryEvent::Kind::kApplyUndone : HistoryEvent::Kind::kApply;
    event.text = paths + (paths == "1" ? " path" : " paths");
    events.push_back(std::move(event));
  }
  return events;
}

HistoryEvent EventOf(const SnapshotInfo& snapshot) {
  HistoryEvent event;
  event.time_ns = ToNanoseconds(snapshot.created);
  event.branch = snapshot.branch;
  event.ref = snapshot.name;
  event.text = snapshot.message;
  if (!IsCheckpoint(snapshot)) return event;
  const size_t colon = snapshot.message.find(": ");
  const bool run = snapshot.message.starts_with("before run");
  const bool tool = snapshot.message.starts_with("before tool");
  event.kind = run    ? HistoryEvent::Kind::kRun
               : tool ? HistoryEvent::Kind::kMcp
                      : HistoryEvent::Kind::kExec;
  event.text = snapshot.message.substr(colon + 2);
  return event;
}

HistoryEvent::Kind KindOf(const ExecRecord& exec) {
  if (exec.start.kind == exec_kinds::kApply) return HistoryEvent::Kind::kApply;
  if (exec.start.kind == exec_kinds::kMcp) return HistoryEvent::Kind::kMcp;
  return exec.start.kind == exec_kinds::kRun ? HistoryEvent::Kind::kRun : HistoryEvent::Kind::kExec;
}

HistoryEvent EventOf(const ExecRecord& exec) {
  HistoryEvent event;
  event.kind = KindOf(exec);
  event.exec = exec.id;
  if (exec.status >= 0) event.status = exec.status;
  event.time_ns = exec.start_ns;
  event.branch = exec.start.branch;
  if (exec.start.snapshot != 0) event.ref = "s" + std::to_string(exec.start.snapshot);
  event.text = CommandText(exec.start);
  return event;
}

Result<std::vector<ExecRecord>> AllExecs(Volume& volume) {
  std::vector<ExecRecord> execs;
  AGENTFS_TRY(ListExecs(volume, [&](const ExecRecord& exec) {
    execs.push_back(exec);
    return Visit::kContinue;
  }));
  return execs;
}

bool Covers(const ExecRecord& exec, int64_t time_ns) {
  return exec.start_ns <= time_ns && (exec.end_ns == 0 || time_ns <= exec.end_ns);
}

// The line of an apply says how much it was; its record says the rest.
void AddApplies(const std::vector<ExecRecord>& execs, std::vector<HistoryEvent> applies,
                std::vector<HistoryEvent>& events) {
  for (HistoryEvent& apply : applies) {
    const auto recorded = std::ranges::find_if(events, [&](const HistoryEvent& event) {
      return event.kind == apply.kind && event.exec != 0 && event.branch == apply.branch &&
             std::ranges::any_of(execs, [&](const ExecRecord& exec) {
               return exec.id == event.exec && Covers(exec, apply.time_ns);
             });
    });
    if (recorded == events.end()) {
      events.push_back(std::move(apply));
    } else {
      recorded->ref = apply.ref;
      recorded->text = apply.text;
    }
  }
}

Result<std::optional<Attr>> AttrAt(const std::shared_ptr<FileSystem>& view,
                                   const std::string& path) {
  Result<Found> found = Files(view).Resolve(path, FollowLinks::kNo);
  if (found.ok()) return std::optional<Attr>(found->attr);
  const int code = found.code();
  if (code == ENOENT || code == ENOTDIR || code == ESTALE) return std::optional<Attr>();
  return found.error();
}

bool SameVersion(const std::optional<Attr>& a, const std::optional<Attr>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->node == b->node && a->mode == b->mode && a->size == b->size && a->mtime == b->mtime &&
         a->uid == b->uid && a->gid == b->gid;
}

// An exec that changed a path, and the layer that has the change.
struct Changer {
  uint64_t layer;
  uint64_t exec;
};

// Of what is done to a directory only its renaming concerns what is in it.
bool Concerns(const OpRecord& op, const std::string& path) {
  if (op.kind == OpKind::kOpen || op.kind == OpKind::kRead) return false;
  return op.kind == OpKind::kRename || op.path == path || op.path2 == path;
}

// In the order of time.
Result<std::vector<Changer>> ChangersOf(Volume& volume, const std::string& branch,
                                        const std::string& path) {
  std::vector<Changer> changers;
  OpFilter filter;
  filter.path = [&path](const std::string& each) {
    return each == path ||
           (path.size() > each.size() && path[each.size()] == '/' && path.starts_with(each));
  };
  AGENTFS_TRY(ScanOps(volume, filter, [&](const OpRecord& op) {
    if (op.branch == branch && op.error == 0 && Concerns(op, path)) {
      changers.push_back({op.layer, op.process.exec});
    }
    return Visit::kContinue;
  }));
  return changers;
}

// The exec of the last change in the layers after `before` up to `last`; 0: none.
uint64_t LastBetween(const std::vector<Changer>& changers, uint64_t before, uint64_t last) {
  for (auto it = changers.rbegin(); it != changers.rend(); ++it) {
    if (it->layer > before && it->layer <= last) return it->exec;
  }
  return 0;
}

}  // namespace

Result<std::vector<HistoryEvent>> ReadHistory(Volume& volume, const Layout& layout) {
  AGENTFS_ASSIGN(const auto execs, AllExecs(volume));
  std::vector<HistoryEvent> events;
  std::set<std::string> told;  // the checkpoints of the execs
  for (const ExecRecord& exec : execs) {
    events.push_back(EventOf(exec));
    told.insert(events.back().ref);
  }
  AddApplies(execs, ReadApplies(layout), events);
  for (const SnapshotInfo& snapshot : volume.ListSnapshots()) {
    const bool known = IsCheckpoint(snapshot) && told.contains(snapshot.name);
    if (!known && snapshot.message != "before apply") events.push_back(EventOf(snapshot));
  }
  std::stable_sort(events.begin(), events.end(), [](const HistoryEvent& a, const HistoryEvent& b) {
    return a.time_ns > b.time_ns;
  });
  return events;
}

Result<void> NoteApply(const Layout& layout, HistoryEvent::Kind kind, int64_t time_ns,
                       const std::string& branch, const std::string& snapshot, size_t paths) {
  for (const HistoryEvent& known : ReadApplies(layout)) {
    if (known.kind == kind && known.time_ns == time_ns) return Ok();
  }
  std::ostringstream line;
  line << time_ns << (kind == HistoryEvent::Kind::kApplyUndone ? " undo " : " apply ") << branch
       << " " << snapshot << " " << paths << "\n";
  AGENTFS_ASSIGN(const Fd file,
                 OpenAt(AT_FDCWD, AppliesFile(layout), O_WRONLY | O_CREAT | O_APPEND, 0600));
  const std::string text = line.str();
  if (::write(file.get(), text.data(), text.size()) < 0) return ErrnoError();
  return Ok();
}

Result<std::vector<FileVersion>> VersionsOf(Volume& volume, const std::string& branch,
                                            const std::string& path) {
  AGENTFS_ASSIGN(const auto changers, ChangersOf(volume, branch, path));
  std::vector<FileVersion> versions;
  uint64_t before = 0;  // the layer of the ref that was looked at last
  auto add = [&](const std::string& ref, const std::shared_ptr<FileSystem>& view,
                 const Timestamp& time, uint64_t layer) -> Result<void> {
    AGENTFS_ASSIGN(const auto attr, AttrAt(view, path));
    const bool same = versions.empty() ? !attr : SameVersion(versions.back().attr, attr);
    if (!same) versions.push_back({ref, time, attr, LastBetween(changers, before, layer)});
    before = layer;
    return Ok();
  };
  for (const SnapshotInfo& snapshot : volume.ListSnapshots()) {
    if (snapshot.branch != branch) continue;
    AGENTFS_ASSIGN(const auto view, volume.OpenSnapshot(snapshot.name));
    AGENTFS_TRY(add(snapshot.name, view, snapshot.created, snapshot.layer.value));
  }
  AGENTFS_ASSIGN(const auto view, volume.OpenBranch(branch));
  AGENTFS_ASSIGN(const auto now, AttrAt(view, path));
  AGENTFS_TRY(add(branch, view, now ? now->mtime : Now(), UINT64_MAX));
  std::reverse(versions.begin(), versions.end());
  return versions;
}

}  // namespace agentfs
