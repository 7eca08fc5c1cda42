// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "rig.h"
#include "view_subject.h"

namespace agentfs::crash {
namespace {

Result<Inode> LookAtInode(posix::Subject& subject, const std::string& path, const Attr& attr) {
  Inode inode;
  inode.mode = attr.mode;
  if (S_ISLNK(attr.mode)) {
    AGENTFS_ASSIGN(inode.content, subject.ReadLink(path));
    return inode;
  }
  if (S_ISREG(attr.mode)) {
    AGENTFS_ASSIGN(auto file, subject.Open(path, O_RDONLY));
    AGENTFS_ASSIGN(inode.content, file->Read(0, attr.size + 1));
    if (inode.content.size() != attr.size) {
      return Error(EIO, path + ": has " + std::to_string(attr.size) + " bytes, reads " +
                            std::to_string(inode.content.size()));
    }
  }
  AGENTFS_ASSIGN(auto names, subject.ListXattrs(path));
  for (const std::string& name : names) {
    if (!name.starts_with("user.")) continue;
    AGENTFS_ASSIGN(inode.xattrs[name], subject.GetXattr(path, name));
  }
  return inode;
}

Result<void> LookBelow(posix::Subject& subject, const std::string& directory, Tree* tree) {
  AGENTFS_ASSIGN(auto entries, subject.List(directory));
  for (const posix::Entry& entry : entries) {
    const std::string path = directory.empty() ? entry.name : directory + "/" + entry.name;
    AGENTFS_ASSIGN(const Attr attr, subject.Stat(path));
    tree->names[path] = attr.node.value;
    if (!tree->inodes.contains(attr.node.value)) {
      Result<Inode> inode = LookAtInode(subject, path, attr);
      if (!inode.ok()) return inode.error().WithContext(path);
      tree->inodes[attr.node.value] = std::make_shared<Inode>(std::move(*inode));
    }
    if (S_ISDIR(attr.mode)) AGENTFS_TRY(LookBelow(subject, path, tree));
  }
  return Ok();
}

// Each file has as many links as names.
Result<void> CheckLinks(posix::Subject& subject, const Tree& tree) {
  for (const auto& [path, id] : tree.names) {
    AGENTFS_ASSIGN(const Attr attr, subject.Stat(path));
    if (S_ISDIR(attr.mode) || attr.nlink == tree.Links(id)) continue;
    return Error(EIO, path + ": has " + std::to_string(tree.Links(id)) + " names, says nlink " +
                          std::to_string(attr.nlink));
  }
  return Ok();
}

Result<std::shared_ptr<const Tree>> LookAt(std::shared_ptr<FileSystem> fs) {
  auto subject = posix::MakeViewSubject(std::move(fs));
  subject->Become(posix::kRoot);
  auto tree = std::make_shared<Tree>();
  AGENTFS_TRY(LookBelow(*subject, "", tree.get()));
  AGENTFS_TRY(CheckLinks(*subject, *tree));
  return std::shared_ptr<const Tree>(std::move(tree));
}

}  // namespace

Result<State> Look(Volume& volume) {
  State state;
  for (const BranchInfo& branch : volume.ListBranches()) {
    AGENTFS_ASSIGN(auto fs, volume.OpenBranch(branch.name));
    auto tree = LookAt(std::move(fs));
    if (!tree.ok()) return tree.error().WithContext("branch " + branch.name);
    state.branches[branch.name] = std::move(*tree);
  }
  for (const SnapshotInfo& snapshot : volume.ListSnapshots()) {
    AGENTFS_ASSIGN(auto fs, volume.OpenSnapshot(snapshot.name));
    auto tree = LookAt(std::move(fs));
    if (!tree.ok()) return tree.error().WithContext("snapshot " + snapshot.name);
    state.snapshots[snapshot.name] = std::move(*tree);
  }
  return state;
}

}  // namespace agentfs::crash
