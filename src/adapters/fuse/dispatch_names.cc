// SPDX-License-Identifier: Apache-2.0
//
// Names: looking up, making, removing, renaming; forgetting.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include <cstring>
#include <utility>

#include "adapters/fuse/dispatcher.h"
#include "adapters/fuse/wire.h"

namespace agentfs::fuse {
namespace {

std::string_view NameAfter(const Exchange& exchange, size_t fixed) {
  std::span<const char> payload = exchange.Payload(fixed);
  return TakeName(payload);
}

Result<RenameMode> ToRenameMode(uint32_t flags) {
  switch (flags) {
    case 0:
      return RenameMode::kReplace;
    case RENAME_NOREPLACE:
      return RenameMode::kNoReplace;
    case RENAME_EXCHANGE:
      return RenameMode::kExchange;
    case RENAME_WHITEOUT:
      return RenameMode::kWhiteout;
    case RENAME_NOREPLACE | RENAME_WHITEOUT:
      return RenameMode::kNoReplaceWhiteout;
    default:
      return Error(EINVAL);
  }
}

}  // namespace

bool Dispatcher::IsControl(const Inode& inode, std::string_view name) {
  return name == kControlName && inode.tree->kind() != Tree::Kind::kVirtual &&
         inode.node->id() == kRootNode;
}

uint64_t Dispatcher::Valid(const Tree& tree, uint64_t changes) {
  return tree.foreign_changes() == changes ? tree.ValidSeconds() : 0;
}

// It is noted first: an answer that says "keep it" must be one that can be taken back.
uint64_t Dispatcher::ValidEntry(const Inode& directory, std::string_view name, uint64_t changes) {
  if (names_ != nullptr && !names_->Add(directory.id, name)) return 0;
  return Valid(*directory.tree, changes);
}

void Dispatcher::Refresh(Inode& inode, Attr* attr) {
  if (!inode.direct.load(std::memory_order_acquire)) return;
  if (!direct_->Settle(inode).ok()) return;
  if (auto now = inode.fs().GetAttr(*inode.node); now.ok()) *attr = *now;
}

fuse_entry_out Dispatcher::Tell(const Inode& directory, std::string_view name, Inode& inode,
                                const Attr& attr, uint64_t changes) {
  inode.parent.store(directory.id, std::memory_order_relaxed);
  const uint64_t valid = ValidEntry(directory, name, changes);
  inode.told.store(valid == 0 ? 0 : changes + 1, std::memory_order_relaxed);
  return ToEntry(inode, attr, valid);
}

Dispatcher::Answer Dispatcher::GiveEntry(Request& request, std::string_view name, Found found,
                                         uint64_t changes) {
  Inode& inode = inodes_.Learn(request.inode.tree, std::move(found.node));
  Refresh(inode, &found.attr);
  if (request.inode.tree->foreign_changes() != changes) inode.changed_elsewhere = true;
  return Give(request, Tell(request.inode, name, inode, found.attr, changes));
}

// The root of another tree, at a name that is looked up anew each time.
Dispatcher::Answer Dispatcher::GiveRoot(Request& request, const std::shared_ptr<Tree>& tree) {
  const uint64_t changes = tree->foreign_changes();
  NodeRef root = tree->Root();
  AGENTFS_ASSIGN(const Attr attr, tree->fs().GetAttr(*root));
  return GiveOf(request, tree, {std::move(root), attr}, changes, 0);
}

Dispatcher::Answer Dispatcher::GiveOf(Request& request, const std::shared_ptr<Tree>& tree,
                                      Found found, uint64_t changes, uint64_t entry_valid) {
  Inode& inode = inodes_.Learn(tree, std::move(found.node));
  inode.parent.store(request.inode.id, std::memory_order_relaxed);
  fuse_entry_out entry = ToEntry(inode, found.attr, ValidAttr(inode, changes));
  entry.entry_valid = entry_valid;
  return Give(request, entry);
}

// Unlike ENOENT, an entry without a node is remembered.
Dispatcher::Answer Dispatcher::GiveAbsent(Request& request, std::string_view name,
                                          uint64_t changes) {
  fuse_entry_out entry{};
  entry.entry_valid = ValidEntry(request.inode, name, changes);
  if (entry.entry_valid == 0) return Error(ENOENT);
  return Give(request, entry);
}

Dispatcher::Answer Dispatcher::Lookup(Request& request) {
  const std::string_view name = NameAfter(request.exchange, 0);
  const std::shared_ptr<Tree>& tree = request.inode.tree;
  if (tree->kind() == Tree::Kind::kVirtual) return LookupVirtual(request, name);
  if (IsControl(request.inode, name)) {
    if (tree->kind() == Tree::Kind::kSnapshot) return Error(ENOENT);
    return GiveRoot(request, forest_.OpenControl(*tree));
  }
  const uint64_t changes = tree->foreign_changes();
  Result<Found> found = request.fs().Lookup(CallerOf(request), request.node(), name);
  if (found.ok()) return GiveEntry(request, name, std::move(*found), changes);
  if (found.code() == ENOENT) return GiveAbsent(request, name, changes);
  return found.error();
}

Dispatcher::Answer Dispatcher::LookupVirtual(Request& request, std::string_view name) {
  auto& virtual_tree = static_cast<VirtualTree&>(request.fs());
  if (const auto ref = virtual_tree.RefAt(request.node(), name)) {
    AGENTFS_ASSIGN(const std::shared_ptr<Tree> tree, forest_.OpenRef(*ref));
    return GiveRoot(request, tree);
  }
  AGENTFS_ASSIGN(Found found, virtual_tree.Lookup(CallerOf(request), request.node(), name));
  const uint64_t valid = virtual_tree.HasFixedName(*found.node) ? kForever : 0;
  return GiveOf(request, request.inode.tree, std::move(found), 0, valid);
}

// ---- making

Dispatcher::Answer Dispatcher::MakeNode(Request& request) {
  const auto in = request.Arguments<fuse_mknod_in>();
  const std::string_view name = NameAfter(request.exchange, sizeof in);
  if (IsControl(request.inode, name)) return Error(EEXIST);
  Caller caller = CallerOf(request);
  caller.umask = in.umask;
  const uint64_t changes = request.inode.tree->foreign_changes();
  AGENTFS_ASSIGN(Found made, request.fs().MakeNode(caller, request.node(), name, in.mode,
                                                   UnpackDevice(in.rdev)));
  return GiveEntry(request, name, std::move(made), changes);
}

Dispatcher::Answer Dispatcher::MakeDirectory(Request& request) {
  const auto in = request.Arguments<fuse_mkdir_in>();
  const std::string_view name = NameAfter(request.exchange, sizeof in);
  if (IsControl(request.inode, name)) return Error(EEXIST);
  Caller caller = CallerOf(request);
  caller.umask = in.umask;
  const uint64_t changes = request.inode.tree->foreign_changes();
  AGENTFS_ASSIGN(Found made, request.fs().MakeDirectory(caller, request.node(), name, in.mode));
  return GiveEntry(request, name, std::move(made), changes);
}

Dispatcher::Answer Dispatcher::MakeSymlink(Request& request) {
  std::span<const char> payload = request.exchange.Payload(0);
  const std::string_view name = TakeName(payload);
  const std::string_view target = TakeName(payload);
  if (IsControl(request.inode, name)) return Error(EEXIST);
  const uint64_t changes = request.inode.tree->foreign_changes();
  AGENTFS_ASSIGN(Found made,
                 request.fs().MakeSymlink(CallerOf(request), request.node(), name, target));
  return GiveEntry(request, name, std::move(made), changes);
}

// Without a name for a file that has none.
Dispatcher::Answer Dispatcher::GiveCreated(Request& request, std::string_view name, Found found,
                                           uint64_t changes, uint32_t flags) {
  struct {
    fuse_entry_out entry;
    OpenOut open;
  } out{};
  const std::shared_ptr<Tree>& tree = request.inode.tree;
  Inode& inode = inodes_.Learn(tree, std::move(found.node));
  auto opened = OpenFile(CallerOf(request), inode, static_cast<int>(flags));
  if (!opened.ok()) {
    ForgetInode(inode.id, 1);
    return opened.error();
  }
  const uint64_t valid =
      name.empty() ? Valid(*tree, changes) : ValidEntry(request.inode, name, changes);
  Refresh(inode, &found.attr);
  out.entry = ToEntry(inode, found.attr, valid);
  out.open = *opened;
  if (direct_ == nullptr && WritesPastCache(flags)) out.open.open_flags |= FOPEN_DIRECT_IO;
  return Give(request, out);
}

// A write into the kernel's cache asks first whether the file has capabilities: a message for each
// new file, as many as reading the content later takes. Not for logs, which are read on the way.
bool Dispatcher::WritesPastCache(uint32_t flags) const {
  return capabilities_.DirectWritesAreSeen() && (flags & O_ACCMODE) == O_WRONLY &&
         (flags & O_APPEND) == 0;
}

// Without O_EXCL a file that somebody has made meanwhile will do.
Result<Found> Dispatcher::CreateOrOpen(Request& request, const Caller& caller,
                                       const fuse_create_in& in, std::string_view name) {
  Result<Found> made = request.fs().Create(caller, request.node(), name, in.mode);
  if (made.ok() || made.code() != EEXIST || (in.flags & O_EXCL) != 0) return made;
  AGENTFS_ASSIGN(Found found, request.fs().Lookup(caller, request.node(), name));
  if (S_ISDIR(found.attr.mode)) return Error(EISDIR);
  if (!S_ISREG(found.attr.mode)) return Error(ESTALE);  // the kernel looks it up again
  if ((in.flags & O_TRUNC) != 0) {
    AttrChange change;
    change.size = 0;
    AGENTFS_ASSIGN(found.attr, request.fs().SetAttr(caller, *found.node, change));
  }
  return found;
}

Dispatcher::Answer Dispatcher::Create(Request& request) {
  const auto in = request.Arguments<fuse_create_in>();
  const std::string_view name = NameAfter(request.exchange, sizeof in);
  if (IsControl(request.inode, name)) return Error(EEXIST);
  Caller caller = CallerOf(request);
  caller.umask = in.umask;
  caller.clears_set_id = (in.open_flags & FUSE_OPEN_KILL_SUIDGID) != 0;
  const uint64_t changes = request.inode.tree->foreign_changes();
  AGENTFS_ASSIGN(Found found, CreateOrOpen(request, caller, in, name));
  return GiveCreated(request, name, std::move(found), changes, in.flags);
}

Dispatcher::Answer Dispatcher::CreateUnnamed(Request& request) {
  const auto in = request.Arguments<fuse_create_in>();
  Caller caller = CallerOf(request);
  caller.umask = in.umask;
  const uint64_t changes = request.inode.tree->foreign_changes();
  AGENTFS_ASSIGN(Found made, request.fs().CreateUnnamed(caller, request.node(), in.mode));
  return GiveCreated(request, "", std::move(made), changes, in.flags);
}

Dispatcher::Answer Dispatcher::Link(Request& request) {
  const auto in = request.Arguments<fuse_link_in>();
  const std::string_view name = NameAfter(request.exchange, sizeof in);
  if (IsControl(request.inode, name)) return Error(EEXIST);
  Inode* target = inodes_.Get(in.oldnodeid);
  if (target == nullptr) return Error(ESTALE);
  if (target->tree != request.inode.tree) return Error(EXDEV);
  const uint64_t changes = target->tree->foreign_changes();
  AGENTFS_ASSIGN(const Attr attr,
                 request.fs().Link(CallerOf(request), *target->node, request.node(), name));
  return GiveEntry(request, name, Found{target->node, attr}, changes);
}

// ---- removing

Dispatcher::Answer Dispatcher::Unlink(Request& request) {
  const std::string_view name = NameAfter(request.exchange, 0);
  if (IsControl(request.inode, name)) return Error(EPERM);
  AGENTFS_TRY(request.fs().Unlink(CallerOf(request), request.node(), name));
  return size_t{0};
}

Dispatcher::Answer Dispatcher::RemoveDirectory(Request& request) {
  const std::string_view name = NameAfter(request.exchange, 0);
  if (IsControl(request.inode, name)) return Error(EPERM);
  AGENTFS_TRY(request.fs().RemoveDirectory(CallerOf(request), request.node(), name));
  return size_t{0};
}

Dispatcher::Answer Dispatcher::Rename(Request& request) {
  const auto in = request.Arguments<fuse_rename_in>();
  return RenameTo(request, in.newdir, 0, request.exchange.Payload(sizeof in));
}

Dispatcher::Answer Dispatcher::Rename2(Request& request) {
  const auto in = request.Arguments<fuse_rename2_in>();
  return RenameTo(request, in.newdir, in.flags, request.exchange.Payload(sizeof in));
}

Dispatcher::Answer Dispatcher::RenameTo(Request& request, uint64_t new_parent, uint32_t flags,
                                        std::span<const char> names) {
  const std::string_view name = TakeName(names);
  const std::string_view new_name = TakeName(names);
  AGENTFS_ASSIGN(const RenameMode mode, ToRenameMode(flags));
  const Inode* parent = inodes_.Get(new_parent);
  if (parent == nullptr) return Error(ESTALE);
  if (parent->tree != request.inode.tree) return Error(EXDEV);
  if (IsControl(request.inode, name) || IsControl(*parent, new_name)) return Error(EPERM);
  if (names_ != nullptr) {
    names_->Add(new_parent, new_name);
    names_->Add(request.inode.id, name);
  }
  AGENTFS_TRY(
      request.fs().Rename(CallerOf(request), request.node(), name, *parent->node, new_name, mode));
  return size_t{0};
}

Dispatcher::Answer Dispatcher::ReadLink(Request& request) {
  AGENTFS_ASSIGN(const std::string target,
                 request.fs().ReadLink(CallerOf(request), request.node()));
  const std::span<char> space = request.exchange.space();
  if (target.size() > space.size()) return Error(ENAMETOOLONG);
  std::memcpy(space.data(), target.data(), target.size());
  return target.size();
}

// ---- forgetting

void Dispatcher::Forget(Exchange& exchange) {
  ForgetInode(exchange.header().nodeid, exchange.Arguments<fuse_forget_in>().nlookup);
  exchange.NoAnswer();
}

void Dispatcher::ForgetInode(uint64_t id, uint64_t count) {
  listings_.Forget(id);
  if (names_ != nullptr) names_->Forget(id);
  inodes_.Forget(id, count);
}

void Dispatcher::BatchForget(Exchange& exchange) {
  const auto in = exchange.Arguments<fuse_batch_forget_in>();
  const std::span<const char> items = exchange.Payload(sizeof in);
  for (size_t i = 0; i < in.count && (i + 1) * sizeof(fuse_forget_one) <= items.size(); ++i) {
    fuse_forget_one one;
    std::memcpy(&one, items.data() + i * sizeof one, sizeof one);
    ForgetInode(one.nodeid, one.nlookup);
  }
  exchange.NoAnswer();
}

}  // namespace agentfs::fuse
