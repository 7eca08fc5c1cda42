// SPDX-License-Identifier: Apache-2.0
//
// Tells the kernel what has changed behind its back, so that it may cache without a time limit.
#pragma once

#include <cstdint>
#include <string_view>

#include "adapters/fuse/transport/negotiate.h"
#include "agentfs/result.h"

namespace agentfs::fuse {

// Any thread, several at a time, with one exception: never one that is serving a request, nor one
// that holds a lock that serving a request needs. The kernel takes the inode's or the directory's
// lock (and waits for pages being read or written), which the request's process may hold: both
// would wait for ever.
//
// What the kernel does not know (ENOENT) and a filesystem that is unmounted (ENODEV, ENOTCONN)
// are no errors: nothing of it is cached.
class Notifier {
 public:
  virtual ~Notifier() = default;

  // Drops the attributes and the pages of [offset, offset + length); length 0 means to the end.
  // A negative offset: the attributes only. Dirty pages are written back first. False: the kernel
  // does not know the inode (yet: an answer that tells of it may be on its way).
  virtual Result<bool> InvalidateInode(uint64_t node, int64_t offset, int64_t length) const = 0;
  Result<bool> InvalidateAttributes(uint64_t node) const { return InvalidateInode(node, -1, 0); }

  enum class Entry : uint8_t {
    kDrop,    // and everything below it
    kExpire,  // it is looked up again, but stays a mount point or a working directory; drops where
              // the kernel cannot (before 6.2)
  };
  virtual Result<void> InvalidateEntry(uint64_t parent, std::string_view name, Entry how) const = 0;

  // `child` is no longer `name` of `parent`: drops the entry and tells those who watch it
  // (inotify). Not found if another node has the name by now.
  virtual Result<void> Deleted(uint64_t parent, uint64_t child, std::string_view name) const = 0;

  // Every entry is looked up again when it is next used. ENOSYS before Linux 6.16 (7.44).
  virtual Result<void> InvalidateAllEntries() const = 0;
};

// The kernel behind a connection's device.
class DeviceNotifier final : public Notifier {
 public:
  // `device` must stay open while the notifier is used.
  DeviceNotifier(int device, const Capabilities& capabilities)
      : device_(device), capabilities_(capabilities) {}

  Result<bool> InvalidateInode(uint64_t node, int64_t offset, int64_t length) const override;
  Result<void> InvalidateEntry(uint64_t parent, std::string_view name, Entry how) const override;
  Result<void> Deleted(uint64_t parent, uint64_t child, std::string_view name) const override;
  Result<void> InvalidateAllEntries() const override;

 private:
  int device_;
  Capabilities capabilities_;
};

}  // namespace agentfs::fuse
