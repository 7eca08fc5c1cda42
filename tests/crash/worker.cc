// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <utility>

#include "rig.h"
#include "view_subject.h"

namespace agentfs::crash {
namespace {

using Kind = Operation::Kind;

Result<std::unique_ptr<posix::Subject>> OpenBranch(Volume& volume, const std::string& branch) {
  AGENTFS_ASSIGN(auto fs, volume.OpenBranch(branch));
  auto subject = posix::MakeViewSubject(std::move(fs));
  subject->Become(posix::kRoot);
  return subject;
}

}  // namespace

int Worker::Perform(const Operation& operation) {
  switch (operation.kind) {
    case Kind::kSnapshot:
    case Kind::kSyncedSnapshot:
    case Kind::kDeleteSnapshot:
    case Kind::kCreateBranch:
    case Kind::kDeleteBranch:
    case Kind::kRestore:
    case Kind::kCollectGarbage:
      return PerformOnVolume(operation).code();
    default:
      return PerformOnBranch(operation).code();
  }
}

Result<void> Worker::PerformOnVolume(const Operation& operation) {
  const auto dropped = [](auto result) -> Result<void> {
    AGENTFS_TRY(result);
    return Ok();
  };
  switch (operation.kind) {
    case Kind::kSnapshot:
      return dropped(
          volume_.CreateSnapshot(operation.branch, operation.other, "", Durability::kNone));
    case Kind::kSyncedSnapshot:
      return dropped(
          volume_.CreateSnapshot(operation.branch, operation.other, "", Durability::kSynced));
    case Kind::kDeleteSnapshot:
      return volume_.DeleteSnapshot(operation.other);
    case Kind::kCreateBranch:
      return dropped(volume_.CreateBranch(operation.branch, operation.other));
    case Kind::kDeleteBranch:
      LetGo();
      return volume_.DeleteBranch(operation.branch);
    case Kind::kRestore:
      return volume_.Restore(operation.branch, operation.other);
    default:
      return dropped(volume_.CollectGarbage());
  }
}

Result<void> Worker::PerformOnBranch(const Operation& operation) {
  AGENTFS_ASSIGN(auto branch, OpenBranch(volume_, operation.branch));
  const std::string& path = operation.path;
  switch (operation.kind) {
    case Kind::kCreate: {
      AGENTFS_TRY(branch->Open(path, O_WRONLY | O_CREAT | O_EXCL, 0666));
      return Ok();
    }
    case Kind::kMakeDirectory:
      return branch->MakeDirectory(path);
    case Kind::kSymlink:
      return branch->MakeSymlink("to/" + std::to_string(operation.number), path);
    case Kind::kChmod:
      return branch->Chmod(path, operation.number & 0777);
    case Kind::kSetXattr:
      return branch->SetXattr(path, "user.x" + std::to_string(operation.number % 3),
                              std::to_string(operation.number));
    case Kind::kRemoveXattr:
      return branch->RemoveXattr(path, "user.x" + std::to_string(operation.number % 3));
    case Kind::kUnlink:
      return branch->Unlink(path);
    case Kind::kUnlinkHeld:
      return UnlinkHeld(std::move(branch), operation);
    case Kind::kRemoveDirectory:
      return branch->RemoveDirectory(path);
    case Kind::kRename:
      return branch->Rename(path, operation.other);
    case Kind::kExchange:
      return branch->Rename(path, operation.other, RenameMode::kExchange);
    case Kind::kLink:
      return branch->Link(path, operation.other);
    default:
      return PerformOnFile(*branch, operation);
  }
}

Result<void> Worker::PerformOnFile(posix::Subject& branch, const Operation& operation) {
  if (operation.kind == Kind::kSync) {
    AGENTFS_ASSIGN(auto root, branch.Open("", O_RDONLY | O_DIRECTORY));
    return root->Sync();
  }
  AGENTFS_ASSIGN(auto file, branch.Open(operation.path, O_WRONLY | O_APPEND));
  switch (operation.kind) {
    case Kind::kAppend: {
      AGENTFS_TRY(file->Append(operation.Data()));
      return Ok();
    }
    case Kind::kTruncate:
      return file->Truncate(operation.offset);
    case Kind::kPunch:
      return file->Allocate(AllocateMode::kPunchHole, operation.offset, operation.length);
    default: {
      AGENTFS_TRY(file->Write(operation.offset, operation.Data()));
      return Ok();
    }
  }
}

Result<void> Worker::UnlinkHeld(std::unique_ptr<posix::Subject> branch,
                                const Operation& operation) {
  AGENTFS_ASSIGN(auto file, branch->Open(operation.path, O_RDONLY));
  AGENTFS_TRY(branch->Unlink(operation.path));
  held_.push_back({std::move(branch), std::move(file)});
  return Ok();
}

}  // namespace agentfs::crash
