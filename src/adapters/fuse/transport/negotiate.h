// SPDX-License-Identifier: Apache-2.0
//
// FUSE_INIT: what we want of the kernel, and what we got.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "adapters/fuse/transport/fuse_abi.h"
#include "agentfs/result.h"

namespace agentfs::fuse {

// A thing that kernel and server must agree on. The values are the protocol's.
enum class Feature : uint64_t {
  kAsyncRead = FUSE_ASYNC_READ,
  // Wrong with zero-message opens: the kernel then drops O_TRUNC silently.
  kAtomicTruncate = FUSE_ATOMIC_O_TRUNC,
  kExportSupport = FUSE_EXPORT_SUPPORT,
  kBigWrites = FUSE_BIG_WRITES,
  kDontMask = FUSE_DONT_MASK,
  kReaddirplus = FUSE_DO_READDIRPLUS,
  kReaddirplusAuto = FUSE_READDIRPLUS_AUTO,
  kAsyncDirectIo = FUSE_ASYNC_DIO,
  kWriteback = FUSE_WRITEBACK_CACHE,  // not together with kPassthrough
  kNoOpen = FUSE_NO_OPEN_SUPPORT,     // OPEN may be answered ENOSYS, once for all
  kParallelDirectories = FUSE_PARALLEL_DIROPS,
  kPosixAcl = FUSE_POSIX_ACL,  // implies default_permissions
  kMaxPages = FUSE_MAX_PAGES,
  kCacheSymlinks = FUSE_CACHE_SYMLINKS,
  kNoOpendir = FUSE_NO_OPENDIR_SUPPORT,  // OPENDIR may be answered ENOSYS, once for all
  kHandleKillpriv2 = FUSE_HANDLE_KILLPRIV_V2,
  kSetxattrExt = FUSE_SETXATTR_EXT,  // SETXATTR's arguments are 16 bytes instead of 8
  kInitExt = FUSE_INIT_EXT,          // needed by all that follow
  kExpireOnly = kInitHasExpireOnly,  // INVAL_ENTRY may expire an entry instead of dropping it
  kPassthrough = kInitPassthrough,
  kOverIoUring = kInitOverIoUring,
};

// A set of them.
class Features {
 public:
  constexpr Features() = default;
  constexpr explicit Features(uint64_t bits) : bits_(bits) {}

  constexpr bool Has(Feature f) const { return (bits_ & static_cast<uint64_t>(f)) != 0; }
  constexpr Features With(Feature f) const { return Features(bits_ | static_cast<uint64_t>(f)); }
  constexpr Features Without(Feature f) const {
    return Features(bits_ & ~static_cast<uint64_t>(f));
  }
  constexpr uint64_t bits() const { return bits_; }

 private:
  uint64_t bits_ = 0;
};

// All that have a name above, in its order.
std::span<const Feature> AllFeatures();
// "parallel-dirops", "passthrough" ...; for people and for status.
std::string_view NameOf(Feature feature);

// What is asked for where nothing else is said: all but atomic truncation, writeback, the longer
// SETXATTR, passthrough and io_uring. Nothing is cached by time or checked by mtime
// (AUTO_INVAL_DATA, EXPLICIT_INVAL_DATA): the server invalidates what it changes.
Features DefaultFeatures();

struct Wanted {
  Features features = DefaultFeatures();
  uint32_t max_write = 1 << 20;     // bytes of one READ or WRITE; whole pages
  uint16_t max_background = 64;     // requests that the kernel may send ahead
  uint32_t minor = kProtocolMinor;  // of the protocol; tests speak older ones
};

struct Capabilities {
  Features features;           // agreed on
  Features offered;            // by the kernel
  uint32_t minor = 0;          // of the protocol 7.x that is spoken
  uint32_t kernel_minor = 0;   // that the kernel speaks
  uint32_t max_write = 0;      // bytes of one READ or WRITE
  uint32_t max_readahead = 0;  // bytes

  bool Has(Feature f) const { return features.Has(f); }
  // Whether writes past the kernel's cache drop what others have cached there (Linux 6.6).
  bool DirectWritesAreSeen() const { return kernel_minor >= 39; }
  // Whether the kernel can be told to look up every entry again (Linux 6.16).
  bool CanExpireAll() const { return minor >= 44; }
};

// Reads the kernel's INIT from a device that has just been mounted and answers it: what is wanted
// and offered. Before any transport starts; waits until the kernel has sent it. ENODEV when the
// filesystem is unmounted meanwhile, EPROTO for a kernel that is too old.
// With kOverIoUring agreed on the kernel holds all requests back until the rings are registered.
Result<Capabilities> Negotiate(int device, const Wanted& wanted);

// The same without a device: the answer to `in`, and what it means.
struct Agreement {
  InitOut answer;
  Capabilities capabilities;
};
Agreement Agree(const fuse_init_in& in, const Wanted& wanted);

}  // namespace agentfs::fuse
