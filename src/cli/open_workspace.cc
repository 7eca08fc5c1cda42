// SPDX-License-Identifier: Apache-2.0
#include "cli/open_workspace.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "adapters/fuse/transport/mount_point.h"
#include "agentfs/base_fs.h"
#include "agentfs/blob_store.h"
#include "agentfs/exec_log.h"
#include "agentfs/stores.h"
#include "base/environment.h"
#include "cli/context.h"
#include "cli/server/branch_session.h"
#include "cli/server/mount_record.h"
#include "sys/base_with_host.h"
#include "sys/mount_table.h"
#include "workspace/apply.h"

namespace agentfs::cli {
namespace {

bool IsEmptyOrAbsent(const std::string& file) {
  struct stat st;
  return ::stat(file.c_str(), &st) != 0 ? errno == ENOENT : S_ISREG(st.st_mode) && st.st_size == 0;
}

Result<std::unique_ptr<Store>> OpenStore(const Workspace& workspace, Missing missing) {
  const Layout& layout = workspace.layout;
  const bool bare = layout.kind == WorkspaceKind::kBare;
  StoreOptions options;
  options.create = missing == Missing::kCreate || ::access(layout.making.c_str(), F_OK) == 0;
  options.large_rows = workspace.config.volume.single_file;
  // One that was emptied must not look like a new one.
  if (!options.create && !bare && IsEmptyOrAbsent(layout.database)) {
    return Error(ENOENT, layout.database + ": the workspace has no database",
                 "'agentfs init' makes a new one; restore it from a copy if there is one");
  }
  auto store = OpenSqliteStore(layout.database, VolumeSchema(), options);
  if (store.code() == EINVAL && !bare) {
    return Error(EBADMSG, store.error().message(),
                 "restore it from a copy, or move it away and let 'agentfs init' make a new one");
  }
  if (!store.ok()) return store.error().WithContext(layout.database);
  ::unlink(layout.making.c_str());
  return store;
}

Result<void> TakeBackLostImport(const std::string& mark, control::Operations& operations) {
  std::ifstream in(mark);
  if (!in) return Ok();
  std::string branch, before;
  std::getline(in, branch);
  std::getline(in, before);
  // What else was done in the branch meanwhile stays in the snapshot that this makes.
  if (!before.empty()) {
    auto restored = operations.Restore(branch, before);
    if (!restored.ok() && restored.code() != ENOENT) return restored.error().WithContext(mark);
  }
  ::unlink(mark.c_str());
  return Ok();
}

// What a branch's view of the host must not lead to: itself, and what is no plain directory.
std::vector<std::string> CoveredOnHost(const Layout& layout) {
  std::vector<std::string> covered = {
      "/proc", "/sys",      "/dev",
      "/run",  layout.base, std::filesystem::path(layout.database).parent_path()};
  for (std::string& place : SessionPlaces()) covered.push_back(std::move(place));
  return covered;
}

// A mount of ours looks like a workspace, because it has .agentfs/: its source is the real one.
std::string SourceOfMount(const std::string& path) {
  struct statfs fs;
  if (::statfs(path.c_str(), &fs) == 0 && fs.f_type != FUSE_SUPER_MAGIC) return path;
  auto table = ReadMountTable();
  if (!table.ok()) return path;
  std::string source = path;
  for (const MountEntry& entry : *table) {
    if (entry.point == path && entry.type == fuse::kFilesystemType) source = entry.source;
  }
  return source;
}

// There a view covers the workspace, its state included.
bool IsInSandbox(const std::string& path) {
  struct statfs fs;
  return Environment("AGENTFS") == "1" && ::statfs(path.c_str(), &fs) == 0 &&
         fs.f_type == FUSE_SUPER_MAGIC;
}

}  // namespace

std::string ImportMark(const Layout& layout) { return layout.database + "-importing"; }

Result<Workspace> LocateWorkspace(const Context& context) {
  std::error_code ignored;
  WorkspaceHint hint;
  hint.option = context.workspace;
  hint.environment = Environment("AGENTFS_WORKSPACE");
  hint.current_directory = std::filesystem::current_path(ignored);
  AGENTFS_ASSIGN(WorkspacePlace place, FindWorkspace(hint));
  const std::string source = SourceOfMount(place.path);
  if (source == place.path && IsInSandbox(place.path)) {
    return Error(EPERM, "this is inside of a sandbox of agentfs",
                 "its commands work outside of it");
  }
  if (source != place.path) {
    hint.option = source;
    AGENTFS_ASSIGN(place, FindWorkspace(hint));
  }
  return LoadWorkspace(place);
}

Result<std::unique_ptr<OpenWorkspace>> OpenWorkspace::Open(Workspace workspace, WorkspaceLock lock,
                                                           Missing missing) {
  std::unique_ptr<OpenWorkspace> open(new OpenWorkspace(std::move(workspace), std::move(lock)));
  AGENTFS_TRY(CleanUpAfterServer(open->workspace_.layout));
  AGENTFS_TRY(open->OpenVolume(missing));
  auto recovered = Applier::Recover(open->volume(), open->workspace_.layout);
  if (!recovered.ok()) {
    return Error(
        recovered.code(),
        "an apply was interrupted, and cannot be completed: " + recovered.error().message(),
        "remove the cause and try again; what it replaced is kept meanwhile");
  }
  open->operations_ = std::make_unique<control::Operations>(open->volume(), nullptr, nullptr);
  open->operations_->KeepCheckpoints(open->workspace_.config.checkpoints);
  AGENTFS_TRY(TakeBackLostImport(ImportMark(open->workspace_.layout), *open->operations_));
  return open;
}

Result<FsckReport> OpenWorkspace::CheckTables(const Workspace& workspace, bool repair) {
  AGENTFS_ASSIGN(auto store, OpenStore(workspace, Missing::kFail));
  auto report = CheckVolumeTables(*store, repair);
  if (!report.ok()) return report.error().WithContext(workspace.layout.database);
  AGENTFS_TRY(store->Close());
  return report;
}

Result<void> OpenWorkspace::OpenVolume(Missing missing) {
  const Layout& layout = workspace_.layout;
  std::error_code ignored;
  created_ = !std::filesystem::exists(layout.database, ignored);
  AGENTFS_ASSIGN(auto store, OpenStore(workspace_, missing));
  std::unique_ptr<BlobStore> blobs;
  if (!layout.objects.empty()) {
    AGENTFS_ASSIGN(blobs, OpenHostBlobStore(layout.objects));
  }
  std::unique_ptr<BaseFs> base;
  if (!layout.base.empty()) {
    AGENTFS_ASSIGN(base, OpenHostBase(layout.base, layout.hidden));
    AGENTFS_ASSIGN(base, OpenBaseWithHost(std::move(base), CoveredOnHost(layout)));
  }
  VolumeOptions volume_options = workspace_.config.volume;
  volume_options.state_directory = std::filesystem::path(layout.database).parent_path();
  volume_options.kept_directory = layout.kept;
  auto volume = Volume::Open(std::move(store), std::move(blobs), std::move(base), volume_options);
  if (!volume.ok()) return volume.error().WithContext(layout.database);
  volume_ = std::move(volume).value();
  processes_ = std::make_shared<ProcessTracker>(volume_options.audit.level);
  volume_->SetProcessSource(processes_);
  return EndLostExecs(*volume_);
}

OpenWorkspace::~OpenWorkspace() = default;

void OpenWorkspace::AttachServer(control::MountHost& mounts, control::EventHub& events,
                                 control::ChangeEvents& changes) {
  operations_ = std::make_unique<control::Operations>(volume(), &mounts, &events);
  executions_ = std::make_unique<control::Executions>(*operations_, workspace_.layout.outputs);
  operations_->KeepCheckpoints(workspace_.config.checkpoints);
  changes_ = &changes;
}

std::shared_ptr<void> OpenWorkspace::WatchBranch(const std::string& branch,
                                                 std::shared_ptr<FileSystem> view) {
  return changes_ ? changes_->WatchBranch(branch, std::move(view)) : nullptr;
}

void OpenWorkspace::Settle() {
  if (operations_->mounts()) operations_->mounts()->Settle();
}

void OpenWorkspace::Publish() {
  if (operations_->mounts()) operations_->mounts()->FlushInvalidations();
  if (changes_) changes_->Drain();
}

Result<void> OpenWorkspace::Close() {
  auto closed = volume_->Close();
  if (!closed.ok()) return closed.error().WithContext("saving the changes");
  return Ok();
}

}  // namespace agentfs::cli
