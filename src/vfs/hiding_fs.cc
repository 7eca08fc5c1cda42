// SPDX-License-Identifier: Apache-2.0
#include "vfs/hiding_fs.h"

namespace agentfs {

bool HidingFs::Hides(Node& parent, std::string_view name) const {
  if (!hidden_->MayHide(name)) return false;
  const Result<std::string> path = PathBelow(parent, name);
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
  const Result<std::string> path = PathBelow(parent, name);
  if (path.ok() && hidden_->HidesBeneath(*path + "/")) return Error(EACCES);
  return Ok();
}

Result<Found> HidingFs::Lookup(const Caller& caller, Node& parent, std::string_view name) {
  AGENTFS_TRY(CheckFound(parent, name));
  return inner().Lookup(caller, parent, name);
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
  AGENTFS_ASSIGN(std::string top, PathBelow(directory, ""));
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
