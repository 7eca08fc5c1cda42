// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "adapters/fuse/dispatcher.h"
#include "adapters/fuse/wire.h"

namespace agentfs::fuse {
namespace {

Result<AllocateMode> ToAllocateMode(uint32_t mode) {
  switch (mode) {
    case 0:
      return AllocateMode::kAllocate;
    case FALLOC_FL_KEEP_SIZE:
      return AllocateMode::kKeepSize;
    case FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE:
      return AllocateMode::kPunchHole;
    case FALLOC_FL_ZERO_RANGE:
      return AllocateMode::kZeroRange;
    case FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE:
      return AllocateMode::kZeroRangeKeepSize;
    default:
      return Error(EOPNOTSUPP);
  }
}

}  // namespace

// With ENOSYS the kernel opens on its own from then on. What it caches stays right without us.
Dispatcher::Answer Dispatcher::Open(Request& request) {
  if (capabilities_.Has(Feature::kNoOpen)) return Error(ENOSYS);
  const auto in = request.Arguments<fuse_open_in>();
  int flags = static_cast<int>(in.flags) & ~(O_CREAT | O_EXCL | O_NOCTTY);
  if (!capabilities_.Has(Feature::kAtomicTruncate)) flags &= ~O_TRUNC;
  if ((flags & O_TRUNC) != 0 && direct_ != nullptr) {
    AGENTFS_TRY(direct_->SetSize(request.inode, 0));
  }
  Caller caller = CallerOf(request);
  caller.clears_set_id = (in.open_flags & FUSE_OPEN_KILL_SUIDGID) != 0;
  AGENTFS_TRY(request.fs().Open(caller, request.node(), flags));
  AGENTFS_ASSIGN(const OpenOut out, OpenFile(caller, request.inode, flags));
  return Give(request, out);
}

Result<OpenOut> Dispatcher::OpenFile(const Caller& caller, Inode& inode, int flags) {
  if (direct_ != nullptr) {
    // We would not hear of writes that are to be synced.
    const bool cached = (flags & O_ACCMODE) == O_RDONLY || (flags & O_DSYNC) != 0;
    return direct_->Open(caller, inode,
                         cached ? DirectFiles::Wish::kCached : DirectFiles::Wish::kDirectIfEmpty);
  }
  OpenOut out{};
  out.open_flags = FOPEN_KEEP_CACHE | FOPEN_NOFLUSH;
  if (opens_ != nullptr) out.fh = opens_->Opened(caller, inode.fs(), *inode.node);
  // What is read is to be asked for.
  if (out.fh != 0) out.open_flags &= ~uint32_t{FOPEN_KEEP_CACHE};
  return out;
}

// A descriptor is closed: who has written through passthrough is told here if it could not be kept.
Dispatcher::Answer Dispatcher::Flush(Request& request) {
  if (direct_ == nullptr) return Error(ENOSYS);
  AGENTFS_TRY(direct_->Settle(request.inode));
  return size_t{0};
}

Dispatcher::Answer Dispatcher::Release(Request& request) {
  if (direct_ != nullptr) {
    direct_->Release(request.inode, request.Arguments<fuse_release_in>().fh);
  } else if (opens_ != nullptr) {
    opens_->Released(request.Arguments<fuse_release_in>().fh, request.fs());
  }
  return size_t{0};
}

Dispatcher::Answer Dispatcher::Read(Request& request) {
  const auto in = request.Arguments<fuse_read_in>();
  if (in.offset == 0) {
    const uint64_t parent = request.inode.parent.load(std::memory_order_relaxed);
    if (listings_.Read(parent)) invalidator_.Data(parent);
  }
  const std::span<char> space = request.exchange.space();
  const size_t size = std::min<size_t>(in.size, space.size());
  auto count = request.fs().Read(request.node(), in.offset, space.first(size));
  if (opens_ != nullptr && count.ok()) opens_->Read(in.fh, *count);
  return count;
}

// Who appends through this mount to what is written elsewhere, too, appends to its end as it is and
// not as the kernel remembers it.
Result<size_t> Dispatcher::Put(Request& request, const Caller& caller, const fuse_write_in& in,
                               std::span<const char> data) {
  const bool appends = (in.flags & O_APPEND) != 0 && !caller.written_back &&
                       request.inode.changed_elsewhere.load(std::memory_order_acquire);
  if (!appends) return request.fs().Write(caller, request.node(), in.offset, data);
  AGENTFS_ASSIGN(const uint64_t end, request.fs().Append(caller, request.node(), data));
  if (end != in.offset) invalidator_.Data(request.inode.id);
  return data.size();
}

Dispatcher::Answer Dispatcher::Write(Request& request) {
  const auto in = request.Arguments<fuse_write_in>();
  std::span<const char> data = request.exchange.Payload(sizeof in);
  data = data.first(std::min<size_t>(in.size, data.size()));
  Caller caller = CallerOf(request);
  caller.clears_set_id = (in.write_flags & FUSE_WRITE_KILL_SUIDGID) != 0;
  if ((in.write_flags & FUSE_WRITE_CACHE) != 0) {
    caller.written_back = true;
    caller.pid = 0;
    mappings_written_->store(true);
  }
  const Result<size_t> put = Put(request, caller, in, data);
  // A store to a mapping of a snapshot's file: the kernel would go on showing it.
  if (put.code() == EROFS && caller.written_back) invalidator_.Data(request.inode.id);
  AGENTFS_ASSIGN(const size_t written, put);
  // What a mapping wrote bears the handle of one who has the file open to write.
  if (opens_ != nullptr) opens_->Written(in.fh, written);
  AGENTFS_TRY(SyncIfAsked(request, in));
  fuse_write_out out{};
  out.size = static_cast<uint32_t>(written);
  return Give(request, out);
}

// O_SYNC and O_DSYNC: after a write past its cache the kernel does not ask for a sync of its own.
Result<void> Dispatcher::SyncIfAsked(Request& request, const fuse_write_in& in) {
  if ((in.flags & O_DSYNC) == 0 || (in.write_flags & FUSE_WRITE_CACHE) != 0) return Ok();
  const bool all = (in.flags & O_SYNC) == O_SYNC;
  request.exchange.WillWait();
  return all ? request.fs().Sync(request.node()) : request.fs().SyncData(request.node());
}

Dispatcher::Answer Dispatcher::Sync(Request& request) {
  request.exchange.WillWait();
  if (direct_ != nullptr) AGENTFS_TRY(direct_->SettleForSync(request.inode));
  const bool data_only =
      (request.Arguments<fuse_fsync_in>().fsync_flags & FUSE_FSYNC_FDATASYNC) != 0;
  AGENTFS_TRY(data_only ? request.fs().SyncData(request.node())
                        : request.fs().Sync(request.node()));
  return size_t{0};
}

Dispatcher::Answer Dispatcher::SyncAll(Request& request) {
  request.exchange.WillWait();
  if (direct_ != nullptr) direct_->SettleAll();
  AGENTFS_TRY(request.fs().Sync(request.node()));
  return size_t{0};
}

Dispatcher::Answer Dispatcher::Allocate(Request& request) {
  const auto in = request.Arguments<fuse_fallocate_in>();
  AGENTFS_ASSIGN(const AllocateMode mode, ToAllocateMode(in.mode));
  if (direct_ != nullptr) {
    AGENTFS_ASSIGN(const bool done,
                   direct_->Allocate(request.inode, in.mode, in.offset, in.length));
    if (done) return size_t{0};
  }
  AGENTFS_TRY(request.fs().Allocate(CallerOf(request), request.node(), mode, in.offset, in.length));
  return size_t{0};
}

Dispatcher::Answer Dispatcher::Seek(Request& request) {
  const auto in = request.Arguments<fuse_lseek_in>();
  if (in.whence != SEEK_DATA && in.whence != SEEK_HOLE) return Error(EINVAL);
  const SeekTarget target = in.whence == SEEK_DATA ? SeekTarget::kData : SeekTarget::kHole;
  if (direct_ != nullptr) AGENTFS_TRY(direct_->Settle(request.inode));
  fuse_lseek_out out{};
  AGENTFS_ASSIGN(out.offset, request.fs().Seek(request.node(), in.offset, target));
  return Give(request, out);
}

Result<uint64_t> Dispatcher::Copy(Request& request) {
  const auto in = request.Arguments<fuse_copy_file_range_in>();
  const Inode* target = inodes_.Get(in.nodeid_out);
  if (target == nullptr) return Error(ESTALE);
  if (target->tree != request.inode.tree) return Error(EXDEV);  // the kernel copies then
  if (target->direct.load(std::memory_order_acquire)) return Error(EXDEV);
  if (direct_ != nullptr) AGENTFS_TRY(direct_->Settle(request.inode));
  AGENTFS_ASSIGN(const uint64_t copied,
                 request.fs().CopyRange(CallerOf(request), request.node(), in.off_in, *target->node,
                                        in.off_out, in.len));
  if (opens_ != nullptr) {
    opens_->Read(in.fh_in, copied);
    opens_->Written(in.fh_out, copied);
  }
  return copied;
}

Dispatcher::Answer Dispatcher::CopyRange(Request& request) {
  AGENTFS_ASSIGN(const uint64_t copied, Copy(request));
  fuse_write_out out{};
  out.size = static_cast<uint32_t>(copied);  // the kernel asks for less than 4 GiB
  return Give(request, out);
}

Dispatcher::Answer Dispatcher::CopyRange64(Request& request) {
  AGENTFS_ASSIGN(const uint64_t copied, Copy(request));
  return Give(request, CopyFileRangeOut{copied});
}

}  // namespace agentfs::fuse
