// SPDX-License-Identifier: Apache-2.0
#include "volume_rig.h"

#include <unistd.h>

#include <utility>

#include "agentfs/base_fs.h"
#include "agentfs/blob_store.h"
#include "agentfs/stores.h"
#include "view_subject.h"

namespace agentfs::posix {

std::string_view Name(StoreKind kind) {
  switch (kind) {
    case StoreKind::kMemory:
      return "memory";
    case StoreKind::kSqlite:
      return "sqlite";
    case StoreKind::kLmdb:
      return "lmdb";
  }
  return "";
}

Result<std::unique_ptr<Store>> VolumeRig::OpenStore() const {
  switch (options_.store) {
    case StoreKind::kSqlite:
      return OpenSqliteStore(options_.state + "/volume.sqlite", VolumeSchema(),
                             {.large_rows = options_.volume.single_file});
    case StoreKind::kLmdb:
      return OpenLmdbStore(options_.state + "/volume.lmdb", VolumeSchema());
    case StoreKind::kMemory:
      break;
  }
  MemoryStoreOptions memory;
  memory.spill_directory = options_.state;
  return OpenMemoryStore(VolumeSchema(), memory);
}

Result<void> VolumeRig::OpenVolume() {
  AGENTFS_ASSIGN(auto store, OpenStore());
  std::unique_ptr<BlobStore> blobs;
  if (!options_.volume.single_file) {
    AGENTFS_ASSIGN(blobs, options_.store == StoreKind::kMemory
                              ? OpenTemporaryBlobStore(options_.state)
                              : OpenHostBlobStore(options_.state + "/objects"));
  }
  std::unique_ptr<BaseFs> base;
  if (!options_.base.empty()) {
    AGENTFS_ASSIGN(base, OpenHostBase(options_.base));
  }
  AGENTFS_ASSIGN(
      volume_, Volume::Open(std::move(store), std::move(blobs), std::move(base), options_.volume));
  return Ok();
}

Result<std::unique_ptr<VolumeRig>> VolumeRig::Open(RigOptions options) {
  options.volume.audit.level = AuditLevel::kChanges;  // as workspaces have it
  const bool bare = options.base.empty();
  std::unique_ptr<VolumeRig> rig(new VolumeRig(std::move(options)));
  AGENTFS_TRY(rig->OpenVolume());
  if (bare && ::geteuid() != 0) {
    // As with a directory that one has made oneself.
    AGENTFS_ASSIGN(auto subject, rig->Branch(kMainBranch));
    subject->Become({});
    AGENTFS_TRY(subject->Chown("", ::geteuid(), ::getegid()));
  }
  return rig;
}

VolumeRig::~VolumeRig() = default;

Result<void> VolumeRig::Reopen() {
  if (options_.store == StoreKind::kMemory) return Ok();
  AGENTFS_TRY(volume_->Close());
  volume_.reset();
  return OpenVolume();
}

Result<std::unique_ptr<Subject>> VolumeRig::Branch(std::string_view branch) {
  AGENTFS_ASSIGN(auto fs, volume_->OpenBranch(branch));
  return MakeViewSubject(std::move(fs));
}

Result<std::unique_ptr<Subject>> VolumeRig::Snapshot(std::string_view ref) {
  AGENTFS_ASSIGN(auto fs, volume_->OpenSnapshot(ref));
  return MakeViewSubject(std::move(fs));
}

}  // namespace agentfs::posix
