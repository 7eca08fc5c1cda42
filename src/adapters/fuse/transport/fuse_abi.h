// SPDX-License-Identifier: Apache-2.0
//
// The kernel's FUSE protocol as it is up to 7.45: the distribution's header (7.37) and, in our
// namespace and under our names, what newer kernels have and it lacks. With a newer header
// installed the two do not clash.
#pragma once

#include <linux/fuse.h>
#include <sys/ioctl.h>

#include <cstddef>
#include <cstdint>

namespace agentfs::fuse {

inline constexpr uint32_t kProtocolMajor = 7;
inline constexpr uint32_t kProtocolMinor = 45;        // the newest that we know
inline constexpr uint32_t kOldestProtocolMinor = 31;  // Linux 5.4; what we support starts at 5.15

// Opcodes.
inline constexpr uint32_t kOpStatx = 52;
inline constexpr uint32_t kOpCopyFileRange64 = 53;

// Notifications.
inline constexpr int kNotifyIncEpoch = 8;  // 7.44

// FOPEN_*: flags of an answer to OPEN and CREATE.
inline constexpr uint32_t kOpenPassthrough = 1u << 7;

// Flags of INIT above bit 31 go into flags2.
inline constexpr uint64_t kInitCreateSuppGroup = 1ull << 34;
inline constexpr uint64_t kInitHasExpireOnly = 1ull << 35;
inline constexpr uint64_t kInitDirectIoAllowMmap = 1ull << 36;
inline constexpr uint64_t kInitPassthrough = 1ull << 37;
inline constexpr uint64_t kInitNoExportSupport = 1ull << 38;
inline constexpr uint64_t kInitHasResend = 1ull << 39;
inline constexpr uint64_t kInitAllowIdmap = 1ull << 40;
inline constexpr uint64_t kInitOverIoUring = 1ull << 41;
inline constexpr uint64_t kInitRequestTimeout = 1ull << 42;

// The answer to INIT as 7.40 and later read it; older kernels see padding in the new members.
struct InitOut {
  uint32_t major;
  uint32_t minor;
  uint32_t max_readahead;
  uint32_t flags;
  uint16_t max_background;
  uint16_t congestion_threshold;
  uint32_t max_write;
  uint32_t time_gran;
  uint16_t max_pages;
  uint16_t map_alignment;
  uint32_t flags2;
  uint32_t max_stack_depth;  // of passthrough's backing files; 7.40
  uint16_t request_timeout;  // seconds; 7.43
  uint16_t unused[11];
};
static_assert(sizeof(InitOut) == sizeof(fuse_init_out));
static_assert(offsetof(InitOut, flags2) == offsetof(fuse_init_out, flags2));
static_assert(offsetof(InitOut, max_stack_depth) == 36);

// fuse_open_out, whose last member is the backing file's id with kOpenPassthrough.
struct OpenOut {
  uint64_t fh;
  uint32_t open_flags;
  int32_t backing_id;
};
static_assert(sizeof(OpenOut) == sizeof(fuse_open_out));

// STATX (7.39).
struct StatxIn {
  uint32_t getattr_flags;
  uint32_t reserved;
  uint64_t fh;
  uint32_t sx_flags;
  uint32_t sx_mask;
};
static_assert(sizeof(StatxIn) == 24);

struct StatxTime {
  int64_t seconds;
  uint32_t nanoseconds;
  int32_t reserved;
};
static_assert(sizeof(StatxTime) == 16);

struct StatxData {
  uint32_t mask;
  uint32_t blksize;
  uint64_t attributes;
  uint32_t nlink;
  uint32_t uid;
  uint32_t gid;
  uint16_t mode;
  uint16_t spare0;
  uint64_t ino;
  uint64_t size;
  uint64_t blocks;
  uint64_t attributes_mask;
  StatxTime atime;
  StatxTime btime;
  StatxTime ctime;
  StatxTime mtime;
  uint32_t rdev_major;
  uint32_t rdev_minor;
  uint32_t dev_major;
  uint32_t dev_minor;
  uint64_t spare2[14];
};
static_assert(sizeof(StatxData) == 256);

struct StatxOut {
  uint64_t attr_valid;
  uint32_t attr_valid_nsec;
  uint32_t flags;
  uint64_t spare[2];
  StatxData stat;
};
static_assert(sizeof(StatxOut) == 288);

// COPY_FILE_RANGE_64 has COPY_FILE_RANGE's arguments and this answer.
struct CopyFileRangeOut {
  uint64_t bytes_copied;
};
static_assert(sizeof(CopyFileRangeOut) == 8);

// Passthrough: registering a backing file with the connection (7.40).
struct BackingMap {
  int32_t fd;
  uint32_t flags;
  uint64_t padding;
};
static_assert(sizeof(BackingMap) == 16);

inline constexpr unsigned long kIoctlClone = _IOR(229, 0, uint32_t);
inline constexpr unsigned long kIoctlBackingOpen = _IOW(229, 1, BackingMap);
inline constexpr unsigned long kIoctlBackingClose = _IOW(229, 2, uint32_t);
static_assert(kIoctlClone == 0x8004e500);
static_assert(kIoctlBackingOpen == 0x4010e501);
static_assert(kIoctlBackingClose == 0x4004e502);

// FUSE over io_uring (7.42): one buffer for headers, one for everything else, per queue entry.
struct UringEntryState {
  uint64_t flags;
  uint64_t commit_id;  // names the request when it is answered
  uint32_t payload_size;
  uint32_t padding;
  uint64_t reserved;
};
static_assert(sizeof(UringEntryState) == 32);

struct UringRequestHeader {
  char in_out[128];  // fuse_in_header, then fuse_out_header
  char op_in[128];   // the operation's fixed arguments
  UringEntryState state;
};
static_assert(sizeof(UringRequestHeader) == 288);

inline constexpr uint32_t kUringRegister = 1;
inline constexpr uint32_t kUringCommitAndFetch = 2;

// In the command area of a 128-byte SQE.
struct UringCommand {
  uint64_t flags;
  uint64_t commit_id;
  uint16_t queue;
  uint8_t padding[6];
};
static_assert(sizeof(UringCommand) == 24);

}  // namespace agentfs::fuse
