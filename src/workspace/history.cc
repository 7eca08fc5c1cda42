// SPDX-License-Identifier: Apache-2.0
#include "workspace/history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "agentfs/files.h"
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
  event.kind = run ? HistoryEvent::Kind::kRun : HistoryEvent::Kind::kExec;
  event.text = snapshot.message.substr(colon + 2);
  return event;
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

}  // namespace

Result<std::vector<HistoryEvent>> ReadHistory(Volume& volume, const Layout& layout) {
  std::vector<HistoryEvent> events = ReadApplies(layout);
  for (const SnapshotInfo& snapshot : volume.ListSnapshots()) {
    if (snapshot.message != "before apply") events.push_back(EventOf(snapshot));
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
  std::vector<FileVersion> versions;
  auto add = [&](const std::string& ref, const std::shared_ptr<FileSystem>& view,
                 const Timestamp& time) -> Result<void> {
    AGENTFS_ASSIGN(const auto attr, AttrAt(view, path));
    if (!versions.empty() && SameVersion(versions.back().attr, attr)) return Ok();
    if (versions.empty() && !attr) return Ok();
    versions.push_back({ref, time, attr});
    return Ok();
  };
  for (const SnapshotInfo& snapshot : volume.ListSnapshots()) {
    if (snapshot.branch != branch) continue;
    AGENTFS_ASSIGN(const auto view, volume.OpenSnapshot(snapshot.name));
    AGENTFS_TRY(add(snapshot.name, view, snapshot.created));
  }
  AGENTFS_ASSIGN(const auto view, volume.OpenBranch(branch));
  AGENTFS_ASSIGN(const auto now, AttrAt(view, path));
  AGENTFS_TRY(add(branch, view, now ? now->mtime : Now()));
  std::reverse(versions.begin(), versions.end());
  return versions;
}

}  // namespace agentfs
