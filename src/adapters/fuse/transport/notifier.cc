// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/notifier.h"

#include <sys/uio.h>

#include <cerrno>
#include <initializer_list>

#include "sys/fd.h"

namespace agentfs::fuse {
namespace {

iovec Part(const void* data, size_t size) { return {const_cast<void*>(data), size}; }

// Whether the kernel had something of it.
Result<bool> Tell(int device, int code, std::initializer_list<iovec> body) {
  fuse_out_header header{};
  header.error = code;  // with unique 0 it is a notification, and this its kind
  iovec parts[4] = {Part(&header, sizeof(header))};
  size_t count = 1;
  header.len = sizeof(header);
  for (const iovec& part : body) {
    parts[count++] = part;
    header.len += static_cast<uint32_t>(part.iov_len);
  }
  ssize_t sent;
  do {
    sent = ::writev(device, parts, static_cast<int>(count));
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return true;
  switch (errno) {
    case ENOENT:
    case ENODEV:
    case ENOTCONN:
    case ECONNABORTED:
      return false;
    default:
      return ErrnoError().WithContext("cannot notify the kernel");
  }
}

Result<void> Send(int device, int code, std::initializer_list<iovec> body) {
  AGENTFS_TRY(Tell(device, code, body));
  return Ok();
}

}  // namespace

Result<bool> DeviceNotifier::InvalidateInode(uint64_t node, int64_t offset, int64_t length) const {
  fuse_notify_inval_inode_out out{};
  out.ino = node;
  out.off = offset;
  out.len = length;
  return Tell(device_, FUSE_NOTIFY_INVAL_INODE, {Part(&out, sizeof(out))});
}

Result<void> DeviceNotifier::InvalidateEntry(uint64_t parent, std::string_view name,
                                             Entry how) const {
  fuse_notify_inval_entry_out out{};
  out.parent = parent;
  out.namelen = static_cast<uint32_t>(name.size());
  if (how == Entry::kExpire && capabilities_.Has(Feature::kExpireOnly)) {
    out.flags = FUSE_EXPIRE_ONLY;
  }
  return Send(device_, FUSE_NOTIFY_INVAL_ENTRY,
              {Part(&out, sizeof(out)), Part(name.data(), name.size()), Part("", 1)});
}

Result<void> DeviceNotifier::Deleted(uint64_t parent, uint64_t child, std::string_view name) const {
  fuse_notify_delete_out out{};
  out.parent = parent;
  out.child = child;
  out.namelen = static_cast<uint32_t>(name.size());
  auto sent = Send(device_, FUSE_NOTIFY_DELETE,
                   {Part(&out, sizeof(out)), Part(name.data(), name.size()), Part("", 1)});
  // A directory that the kernel still believes to have entries, or a mount point, is dropped less
  // thoroughly: it is looked up again.
  if (sent.code() == ENOTEMPTY || sent.code() == EBUSY) {
    return InvalidateEntry(parent, name, Entry::kDrop);
  }
  return sent;
}

Result<void> DeviceNotifier::InvalidateAllEntries() const {
  if (!capabilities_.CanExpireAll()) {
    return Error(ENOSYS, "this kernel cannot drop all entries at once", "use Linux 6.16 or later");
  }
  return Send(device_, kNotifyIncEpoch, {});
}

}  // namespace agentfs::fuse
