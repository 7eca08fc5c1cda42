// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "adapters/fuse/dispatcher.h"
#include "adapters/fuse/wire.h"

namespace agentfs::fuse {
namespace {

Timestamp ToTimestamp(uint64_t seconds, uint32_t nanoseconds) {
  return {static_cast<int64_t>(seconds), nanoseconds};
}

AttrChange ToChange(const fuse_setattr_in& in) {
  AttrChange change;
  if ((in.valid & FATTR_MODE) != 0) change.mode = in.mode & 07777;
  if ((in.valid & FATTR_UID) != 0) change.uid = in.uid;
  if ((in.valid & FATTR_GID) != 0) change.gid = in.gid;
  if ((in.valid & FATTR_SIZE) != 0) change.size = in.size;
  change.atime_now = (in.valid & FATTR_ATIME_NOW) != 0;
  change.mtime_now = (in.valid & FATTR_MTIME_NOW) != 0;
  if ((in.valid & FATTR_ATIME) != 0 && !change.atime_now) {
    change.atime = ToTimestamp(in.atime, in.atimensec);
  }
  if ((in.valid & FATTR_MTIME) != 0 && !change.mtime_now) {
    change.mtime = ToTimestamp(in.mtime, in.mtimensec);
  }
  // A request to change nothing is the kernel's way of having the set-id bits taken away.
  const uint32_t asks = in.valid & ~uint32_t{FATTR_FH | FATTR_LOCKOWNER | FATTR_KILL_SUIDGID};
  change.clear_set_id = asks == 0;
  return change;
}

}  // namespace

// What the kernel writes itself it must ask for each time: a store to a mapping tells nobody.
uint64_t Dispatcher::ValidAttr(const Inode& inode, uint64_t changes) {
  if (inode.tree->kind() == Tree::Kind::kVirtual) {
    return static_cast<VirtualTree&>(inode.fs()).HasFixedAttributes(*inode.node) ? kForever : 0;
  }
  return inode.direct.load(std::memory_order_acquire) ? 0 : Valid(*inode.tree, changes);
}

Dispatcher::Answer Dispatcher::GetAttr(Request& request) {
  const Tree& tree = *request.inode.tree;
  const uint64_t changes = tree.foreign_changes();
  if (direct_ != nullptr) (void)direct_->Settle(request.inode).ok();
  AGENTFS_ASSIGN(const Attr attr, request.fs().GetAttr(request.node()));
  return Give(request, ToAttrOut(attr, tree, ValidAttr(request.inode, changes)));
}

Dispatcher::Answer Dispatcher::Statx(Request& request) {
  const Tree& tree = *request.inode.tree;
  const uint64_t changes = tree.foreign_changes();
  if (direct_ != nullptr) (void)direct_->Settle(request.inode).ok();
  AGENTFS_ASSIGN(const Attr attr, request.fs().GetAttr(request.node()));
  return Give(request, ToStatx(attr, tree, ValidAttr(request.inode, changes)));
}

Dispatcher::Answer Dispatcher::SetAttr(Request& request) {
  const auto in = request.Arguments<fuse_setattr_in>();
  const Tree& tree = *request.inode.tree;
  const uint64_t changes = tree.foreign_changes();
  Caller caller = CallerOf(request);
  caller.clears_set_id = (in.valid & FATTR_KILL_SUIDGID) != 0;
  if (direct_ != nullptr) {
    if ((in.valid & FATTR_SIZE) != 0) {
      AGENTFS_TRY(direct_->SetSize(request.inode, in.size));
    } else {
      AGENTFS_TRY(direct_->Settle(request.inode));
    }
  }
  AGENTFS_ASSIGN(const Attr attr, request.fs().SetAttr(caller, request.node(), ToChange(in)));
  return Give(request, ToAttrOut(attr, tree, ValidAttr(request.inode, changes)));
}

Dispatcher::Answer Dispatcher::StatFs(Request& request) {
  AGENTFS_ASSIGN(const FsStats stats, request.fs().StatFs());
  fuse_statfs_out out{};
  out.st.blocks = stats.blocks;
  out.st.bfree = stats.blocks_free;
  out.st.bavail = stats.blocks_available;
  out.st.files = stats.files;
  out.st.ffree = stats.files_free;
  out.st.bsize = static_cast<uint32_t>(stats.block_size);
  out.st.frsize = static_cast<uint32_t>(stats.block_size);
  out.st.namelen = stats.name_max;
  return Give(request, out);
}

}  // namespace agentfs::fuse
