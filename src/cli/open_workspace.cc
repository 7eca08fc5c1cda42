// SPDX-License-Identifier: Apache-2.0
#include "cli/open_workspace.h"

#include <filesystem>

#include "agentfs/base_fs.h"
#include "agentfs/blob_store.h"
#include "agentfs/stores.h"

namespace agentfs::cli {
namespace {

Result<std::unique_ptr<Store>> OpenStore(const Workspace& workspace, Missing missing) {
  const Layout& layout = workspace.layout;
  StoreOptions options;
  options.create = missing == Missing::kCreate;
  options.large_rows = workspace.config.volume.single_file;
  auto store = OpenSqliteStore(layout.database, VolumeSchema(), options);
  if (store.code() == ENOENT) {
    return Error(ENOENT, layout.database + ": the workspace has no database",
                 "'agentfs init' completes the workspace");
  }
  if (!store.ok()) return store.error().WithContext(layout.database);
  return store;
}

}  // namespace

Result<std::unique_ptr<OpenWorkspace>> OpenWorkspace::Open(Workspace workspace, WorkspaceLock lock,
                                                           Missing missing) {
  std::unique_ptr<OpenWorkspace> open(new OpenWorkspace(std::move(workspace), std::move(lock)));
  AGENTFS_TRY(open->OpenVolume(missing));
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
  }
  VolumeOptions volume_options = workspace_.config.volume;
  volume_options.state_directory = std::filesystem::path(layout.database).parent_path();
  auto volume = Volume::Open(std::move(store), std::move(blobs), std::move(base), volume_options);
  if (!volume.ok()) return volume.error().WithContext(layout.database);
  volume_ = std::move(volume).value();
  return Ok();
}

OpenWorkspace::~OpenWorkspace() = default;

Result<void> OpenWorkspace::Close() {
  auto closed = volume_->Close();
  if (!closed.ok()) return closed.error().WithContext("saving the changes");
  return Ok();
}

}  // namespace agentfs::cli
