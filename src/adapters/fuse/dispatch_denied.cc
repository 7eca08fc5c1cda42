// SPDX-License-Identifier: Apache-2.0
//
// Attempts that were refused, for the op log.
#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "adapters/fuse/dispatcher.h"
#include "adapters/fuse/wire.h"

namespace agentfs::fuse {
namespace {

// Refusals, not answers about what is there.
bool IsRefusal(int code) {
  switch (code) {
    case EACCES:
    case EPERM:
    case EROFS:
    case EDQUOT:
    case ENOSPC:
    case EFBIG:
    case EMLINK:
    case ETXTBSY:
    case EIO:
      return true;
    default:
      return false;
  }
}

// The kind of what a request wants to change; nothing: it changes nothing.
std::optional<OpKind> KindOf(uint32_t opcode) {
  switch (opcode) {
    case FUSE_CREATE:
    case FUSE_TMPFILE:
      return OpKind::kCreate;
    case FUSE_WRITE:
    case FUSE_COPY_FILE_RANGE:
    case kOpCopyFileRange64:
      return OpKind::kWrite;
    case FUSE_UNLINK:
      return OpKind::kUnlink;
    case FUSE_MKDIR:
      return OpKind::kMkdir;
    case FUSE_RMDIR:
      return OpKind::kRmdir;
    case FUSE_RENAME:
    case FUSE_RENAME2:
      return OpKind::kRename;
    case FUSE_LINK:
      return OpKind::kLink;
    case FUSE_SYMLINK:
      return OpKind::kSymlink;
    case FUSE_MKNOD:
      return OpKind::kMknod;
    case FUSE_SETATTR:
      return OpKind::kSetattr;
    case FUSE_SETXATTR:
      return OpKind::kSetxattr;
    case FUSE_REMOVEXATTR:
      return OpKind::kRemovexattr;
    case FUSE_FALLOCATE:
      return OpKind::kAllocate;
    case FUSE_OPEN:
      return OpKind::kOpen;
    case FUSE_LOOKUP:
    case FUSE_READ:
    case FUSE_READLINK:
    case FUSE_OPENDIR:
    case FUSE_READDIR:
    case FUSE_READDIRPLUS:
      return OpKind::kRead;
    default:
      return std::nullopt;
  }
}

// Where the name begins in a request that has one.
std::optional<size_t> NameAt(uint32_t opcode) {
  switch (opcode) {
    case FUSE_LOOKUP:
    case FUSE_UNLINK:
    case FUSE_RMDIR:
    case FUSE_SYMLINK:
      return 0;
    case FUSE_CREATE:
      return sizeof(fuse_create_in);
    case FUSE_MKDIR:
      return sizeof(fuse_mkdir_in);
    case FUSE_MKNOD:
      return sizeof(fuse_mknod_in);
    case FUSE_LINK:
      return sizeof(fuse_link_in);
    case FUSE_RENAME:
      return sizeof(fuse_rename_in);
    case FUSE_RENAME2:
      return sizeof(fuse_rename2_in);
    default:
      return std::nullopt;
  }
}

}  // namespace

void Dispatcher::NoteDenied(Request& request, int code) {
  const uint32_t opcode = request.header().opcode;
  const std::optional<OpKind> kind = KindOf(opcode);
  if (!kind || !IsRefusal(code)) return;
  DeniedOp denied{.kind = *kind, .error = code, .node = request.node().id()};
  if (opcode == FUSE_SETATTR && (request.Arguments<fuse_setattr_in>().valid & FATTR_SIZE) != 0) {
    denied.kind = OpKind::kTruncate;
  }
  if (const std::optional<size_t> at = NameAt(opcode)) {
    std::span<const char> names = request.exchange.Payload(*at);
    denied.name = TakeName(names);
    if (*kind == OpKind::kRename) {
      // The first member of either structure.
      const Inode* parent = inodes_.Get(request.Arguments<fuse_rename_in>().newdir);
      denied.name2 = TakeName(names);
      if (parent != nullptr && parent->tree == request.inode.tree) {
        denied.node2 = parent->node->id();
      }
    }
  }
  if (opcode == FUSE_LINK) {
    const Inode* old = inodes_.Get(request.Arguments<fuse_link_in>().oldnodeid);
    if (old != nullptr && old->tree == request.inode.tree) {
      denied.name2 = std::exchange(denied.name, {});
      denied.node2 = std::exchange(denied.node, old->node->id());
    }
  }
  request.fs().NoteDenied(CallerOf(request), denied);
}

}  // namespace agentfs::fuse
