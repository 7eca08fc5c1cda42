// SPDX-License-Identifier: Apache-2.0
#include "vfs/hiding_fs.h"

namespace agentfs {
namespace {

Result<std::string> PathBelow(FileSystem& filesystem, Node& directory, std::string_view name) {
  AGENTFS_ASSIGN(std::string path, filesystem.PathOf(directory));
  if (path != "/") path += '/';
  path += name;
  return path;
}

}  // namespace

bool HidingFs::Hides(Node& parent, std::string_view name) const {
  if (!hidden_->MayHide(name)) return false;
  const Result<std::string> path = PathBelow(inner(), parent, name);
  return !path.ok() || hidden_->Hides(*path);
}

Result<void> HidingFs::CheckFound(Node& parent, std::string_view name) const {
  if (Hides(parent, name)) return Error(ENOENT);
  return Ok();
}

Result<void> HidingFs::CheckMade(Node& parent, std::string_view name) const {
  if (Hides(parent, name)) return Error(EACCES);
  return Ok();
}

Result<void> HidingFs::CheckMoved(Node& parent, std::string_view name) const {
  const Result<std::string> path = PathBelow(inner(), parent, name);
  if (path.ok() && hidden_->HidesBeneath(*path + "/")) return Error(EACCES);
  return Ok();
}

Result<Found> HidingFs::Lookup(const Caller& caller, Node& parent, std::string_view name) {
  AGENTFS_TRY(CheckFound(parent, name));
  return inner().Lookup(caller, parent, name);
}

Result<Found> HidingFs::Create(const Caller& caller, Node& parent, std::string_view name,
                               uint32_t mode) {
  AGENTFS_TRY(CheckMade(parent, name));
  return inner().Create(caller, parent, name, mode);
}

Result<Found> HidingFs::MakeDirectory(const Caller& caller, Node& parent, std::string_view name,
                                      uint32_t mode) {
  AGENTFS_TRY(CheckMade(parent, name));
  return inner().MakeDirectory(caller, parent, name, mode);
}

Result<Found> HidingFs::MakeNode(const Caller& caller, Node& parent, std::string_view name,
                                 uint32_t mode, uint64_t rdev) {
  AGENTFS_TRY(CheckMade(parent, name));
  return inner().MakeNode(caller, parent, name, mode, rdev);
}

Result<Found> HidingFs::MakeSymlink(const Caller& caller, Node& parent, std::string_view name,
                                    std::string_view target) {
  AGENTFS_TRY(CheckMade(parent, name));
  return inner().MakeSymlink(caller, parent, name, target);
}

Result<Attr> HidingFs::Link(const Caller& caller, Node& node, Node& parent, std::string_view name) {
  AGENTFS_TRY(CheckMade(parent, name));
  return inner().Link(caller, node, parent, name);
}

Result<void> HidingFs::Unlink(const Caller& caller, Node& parent, std::string_view name) {
  AGENTFS_TRY(CheckFound(parent, name));
  return inner().Unlink(caller, parent, name);
}

Result<void> HidingFs::RemoveDirectory(const Caller& caller, Node& parent, std::string_view name) {
  AGENTFS_TRY(CheckFound(parent, name));
  return inner().RemoveDirectory(caller, parent, name);
}

Result<void> HidingFs::Rename(const Caller& caller, Node& parent, std::string_view name,
                              Node& new_parent, std::string_view new_name, RenameMode mode) {
  const bool exchange = mode == RenameMode::kExchange;
  AGENTFS_TRY(CheckFound(parent, name));
  if (exchange) AGENTFS_TRY(CheckFound(new_parent, new_name));
  AGENTFS_TRY(CheckMoved(parent, name));
  if (exchange) AGENTFS_TRY(CheckMoved(new_parent, new_name));
  AGENTFS_TRY(CheckMade(new_parent, new_name));
  return inner().Rename(caller, parent, name, new_parent, new_name, mode);
}

Result<std::string> HidingFs::TopOf(Node& directory) const {
  AGENTFS_ASSIGN(std::string top, PathBelow(inner(), directory, ""));
  if (!hidden_->HidesBeneath(top)) return std::string();
  return top;
}

Result<void> HidingFs::ReadDirectory(const Caller& caller, Node& node, uint64_t cursor,
                                     const DirVisitor& visit) {
  const Result<std::string> top = TopOf(node);
  // One that was removed has nothing in it.
  if (!top.ok() || top->empty()) return inner().ReadDirectory(caller, node, cursor, visit);
  return inner().ReadDirectory(caller, node, cursor, [&](const DirEntry& entry) {
    if (hidden_->Hides(*top + std::string(entry.name))) return Visit::kContinue;
    return visit(entry);
  });
}

Result<void> HidingFs::ReadDirectoryPlus(const Caller& caller, Node& node, uint64_t cursor,
                                         const DirAttrVisitor& visit) {
  const Result<std::string> top = TopOf(node);
  if (!top.ok() || top->empty()) return inner().ReadDirectoryPlus(caller, node, cursor, visit);
  return inner().ReadDirectoryPlus(caller, node, cursor,
                                   [&](const DirEntry& entry, const Found& found) {
                                     if (hidden_->Hides(*top + std::string(entry.name)))
                                       return Visit::kContinue;
                                     return visit(entry, found);
                                   });
}

}  // namespace agentfs
