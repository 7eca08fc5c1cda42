// SPDX-License-Identifier: Apache-2.0
#include "vfs/guarded_fs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vfs/outside.h"

namespace agentfs {
namespace {

bool IsHere(std::string_view name) { return name == "." || name == ".."; }

}  // namespace

// ---- the questions

std::optional<std::string> GuardedFs::PathIn(Node& directory, std::string_view name) const {
  const Result<std::string> path = PathBelow(directory, name);
  if (!path.ok()) return std::nullopt;
  return std::string(KnownPath(*path));  // outside of the workspace it is the host's own
}

std::optional<std::string> GuardedFs::PathNow(Node& node) const {
  if (node.id() == inner().Root()->id()) return "/";
  Result<Named> named = inner().NameOf(node);
  if (!named.ok()) return std::nullopt;
  return PathIn(*named->parent, named->name);
}

Result<void> GuardedFs::CheckChanged(Node& parent, std::string_view name) const {
  const auto rules = rules_->Get();
  if (!rules) return Ok();
  const auto path = PathIn(parent, name);
  if (!path || rules->Allows(*path, PathAccess::kWrite)) return Ok();
  return Error(EACCES);
}

Result<void> GuardedFs::CheckNode(Node& node, PathAccess access) const {
  const auto rules = rules_->Get();
  if (!rules) return Ok();
  const auto path = PathNow(node);
  if (path ? rules->Allows(*path, access) : !WasDenied(node.id())) return Ok();
  return Error(EACCES);
}

void GuardedFs::Remember(NodeId node) {
  absl::MutexLock lock(&mu_);
  denied_.insert(node.value);
}

bool GuardedFs::WasDenied(NodeId node) const {
  absl::ReaderMutexLock lock(&mu_);
  return denied_.contains(node.value);
}

// ---- names

Result<Found> GuardedFs::Lookup(const Caller& caller, Node& parent, std::string_view name) {
  const auto rules = rules_->Get();
  if (!rules || IsHere(name)) return inner().Lookup(caller, parent, name);
  AGENTFS_TRY(CheckNode(parent, PathAccess::kRead));
  AGENTFS_ASSIGN(Found found, inner().Lookup(caller, parent, name));
  const auto path = PathIn(parent, name);
  if (path && !rules->Allows(*path, PathAccess::kRead)) Remember(found.node->id());
  return found;
}

Result<Found> GuardedFs::CreateUnnamed(const Caller& caller, Node& parent, uint32_t mode) {
  AGENTFS_TRY(CheckNode(parent, PathAccess::kWrite));
  return inner().CreateUnnamed(caller, parent, mode);
}

// A second name would be one that the rules do not mean.
Result<Attr> GuardedFs::Link(const Caller& caller, Node& node, Node& parent,
                             std::string_view name) {
  AGENTFS_TRY(CheckNode(node, PathAccess::kWrite));
  return NameCheckingFs::Link(caller, node, parent, name);
}

// What a file is called decides about it alone; a directory takes along what is beneath it.
Result<void> GuardedFs::CheckMove(Node& parent, std::string_view name, Node& new_parent,
                                  std::string_view new_name) const {
  const auto rules = rules_->Get();
  if (!rules) return Ok();
  const auto from = PathIn(parent, name), to = PathIn(new_parent, new_name);
  if (!from || !to || rules->SameBeneath(*from, *to)) return Ok();
  const Result<Found> moved = inner().Lookup(Caller{}, parent, name);
  if (!moved.ok() || !S_ISDIR(moved->attr.mode)) return Ok();
  return Error(EACCES);
}

Result<void> GuardedFs::Rename(const Caller& caller, Node& parent, std::string_view name,
                               Node& new_parent, std::string_view new_name, RenameMode mode) {
  AGENTFS_TRY(CheckChanged(parent, name));
  AGENTFS_TRY(CheckChanged(new_parent, new_name));
  AGENTFS_TRY(CheckMove(parent, name, new_parent, new_name));
  if (mode == RenameMode::kExchange) {
    AGENTFS_TRY(CheckMove(new_parent, new_name, parent, name));
  }
  return inner().Rename(caller, parent, name, new_parent, new_name, mode);
}

Result<std::string> GuardedFs::ReadLink(const Caller& caller, Node& node) {
  AGENTFS_TRY(CheckNode(node, PathAccess::kRead));
  return inner().ReadLink(caller, node);
}

Result<void> GuardedFs::ReadDirectory(const Caller& caller, Node& node, uint64_t cursor,
                                      const DirVisitor& visit) {
  AGENTFS_TRY(CheckNode(node, PathAccess::kRead));
  return inner().ReadDirectory(caller, node, cursor, visit);
}

Result<void> GuardedFs::ReadDirectoryPlus(const Caller& caller, Node& node, uint64_t cursor,
                                          const DirAttrVisitor& visit) {
  const auto rules = rules_->Get();
  if (!rules) return inner().ReadDirectoryPlus(caller, node, cursor, visit);
  AGENTFS_TRY(CheckNode(node, PathAccess::kRead));
  const auto directory = PathIn(node, "");
  return inner().ReadDirectoryPlus(
      caller, node, cursor, [&](const DirEntry& entry, const Found& found) {
        if (directory && !rules->Allows(*directory + std::string(entry.name), PathAccess::kRead)) {
          Remember(found.node->id());
        }
        return visit(entry, found);
      });
}

// ---- attributes

Result<Attr> GuardedFs::SetAttr(const Caller& caller, Node& node, const AttrChange& change) {
  AGENTFS_TRY(CheckNode(node, PathAccess::kWrite));
  return inner().SetAttr(caller, node, change);
}

Result<void> GuardedFs::Access(const Caller& caller, Node& node, int mask) {
  if ((mask & W_OK) != 0) {
    AGENTFS_TRY(CheckNode(node, PathAccess::kWrite));
  }
  if ((mask & (R_OK | X_OK)) != 0) {
    AGENTFS_TRY(CheckNode(node, PathAccess::kRead));
  }
  return inner().Access(caller, node, mask);
}

Result<std::string> GuardedFs::GetXattr(const Caller& caller, Node& node, std::string_view name) {
  // Only a user's own may hold what the content does; the kernel asks for others by itself.
  if (name.starts_with("user.")) {
    AGENTFS_TRY(CheckNode(node, PathAccess::kRead));
  }
  return inner().GetXattr(caller, node, name);
}

Result<void> GuardedFs::SetXattr(const Caller& caller, Node& node, std::string_view name,
                                 std::string_view value, XattrMode mode) {
  AGENTFS_TRY(CheckNode(node, PathAccess::kWrite));
  return inner().SetXattr(caller, node, name, value, mode);
}

Result<void> GuardedFs::RemoveXattr(const Caller& caller, Node& node, std::string_view name) {
  AGENTFS_TRY(CheckNode(node, PathAccess::kWrite));
  return inner().RemoveXattr(caller, node, name);
}

// ---- data

Result<void> GuardedFs::Open(const Caller& caller, Node& node, int flags) {
  const int access = flags & O_ACCMODE;
  if (access != O_WRONLY) AGENTFS_TRY(CheckNode(node, PathAccess::kRead));
  if (access != O_RDONLY || (flags & O_TRUNC) != 0) {
    AGENTFS_TRY(CheckNode(node, PathAccess::kWrite));
  }
  return inner().Open(caller, node, flags);
}

// Checked again: where the kernel opens by itself, nobody has asked before.
Result<size_t> GuardedFs::Read(Node& node, uint64_t offset, std::span<char> out) {
  AGENTFS_TRY(CheckNode(node, PathAccess::kRead));
  return inner().Read(node, offset, out);
}

Result<size_t> GuardedFs::Write(const Caller& caller, Node& node, uint64_t offset,
                                std::span<const char> data) {
  AGENTFS_TRY(CheckNode(node, PathAccess::kWrite));
  return inner().Write(caller, node, offset, data);
}

Result<uint64_t> GuardedFs::Append(const Caller& caller, Node& node, std::span<const char> data) {
  AGENTFS_TRY(CheckNode(node, PathAccess::kWrite));
  return inner().Append(caller, node, data);
}

Result<void> GuardedFs::Allocate(const Caller& caller, Node& node, AllocateMode mode,
                                 uint64_t offset, uint64_t length) {
  AGENTFS_TRY(CheckNode(node, PathAccess::kWrite));
  return inner().Allocate(caller, node, mode, offset, length);
}

Result<uint64_t> GuardedFs::CopyRange(const Caller& caller, Node& source, uint64_t source_offset,
                                      Node& target, uint64_t target_offset, uint64_t length) {
  AGENTFS_TRY(CheckNode(source, PathAccess::kRead));
  AGENTFS_TRY(CheckNode(target, PathAccess::kWrite));
  return inner().CopyRange(caller, source, source_offset, target, target_offset, length);
}

}  // namespace agentfs
