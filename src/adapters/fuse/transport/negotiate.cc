// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/negotiate.h"

#include <fmt/core.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "adapters/fuse/transport/page_buffer.h"
#include "sys/fd.h"

namespace agentfs::fuse {
namespace {

struct Named {
  Feature feature;
  std::string_view name;
};

constexpr std::array kNamed = {
    Named{Feature::kAsyncRead, "async-read"},
    Named{Feature::kAtomicTruncate, "atomic-truncate"},
    Named{Feature::kExportSupport, "export"},
    Named{Feature::kBigWrites, "big-writes"},
    Named{Feature::kDontMask, "dont-mask"},
    Named{Feature::kReaddirplus, "readdirplus"},
    Named{Feature::kReaddirplusAuto, "readdirplus-auto"},
    Named{Feature::kAsyncDirectIo, "async-direct-io"},
    Named{Feature::kWriteback, "writeback"},
    Named{Feature::kNoOpen, "no-open"},
    Named{Feature::kParallelDirectories, "parallel-directories"},
    Named{Feature::kPosixAcl, "posix-acl"},
    Named{Feature::kMaxPages, "max-pages"},
    Named{Feature::kCacheSymlinks, "cache-symlinks"},
    Named{Feature::kNoOpendir, "no-opendir"},
    Named{Feature::kHandleKillpriv2, "killpriv-v2"},
    Named{Feature::kSetxattrExt, "setxattr-ext"},
    Named{Feature::kInitExt, "init-ext"},
    Named{Feature::kExpireOnly, "expire-only"},
    Named{Feature::kPassthrough, "passthrough"},
    Named{Feature::kOverIoUring, "io_uring"},
};

constexpr auto kAll = [] {
  std::array<Feature, kNamed.size()> all{};
  for (size_t i = 0; i < all.size(); ++i) all[i] = kNamed[i].feature;
  return all;
}();

constexpr uint32_t kPagesWithoutMaxPages = 32;
constexpr uint32_t kMostPages = 256;

Features AgreedOn(Features offered, Features wanted) {
  Features agreed(offered.bits() & wanted.bits());
  if (!agreed.Has(Feature::kInitExt)) agreed = Features(agreed.bits() & UINT32_MAX);
  if (!agreed.Has(Feature::kReaddirplus)) agreed = agreed.Without(Feature::kReaddirplusAuto);
  // The kernel refuses backing files on a connection with writeback.
  if (agreed.Has(Feature::kPassthrough)) agreed = agreed.Without(Feature::kWriteback);
  return agreed;
}

Result<void> Send(int device, uint64_t unique, int error, const InitOut& out, size_t size) {
  fuse_out_header header{};
  header.len = static_cast<uint32_t>(sizeof(header) + size);
  header.error = -error;
  header.unique = unique;
  iovec parts[2] = {{&header, sizeof(header)}, {const_cast<InitOut*>(&out), size}};
  if (::writev(device, parts, 2) < 0) return ErrnoError().WithContext("cannot answer FUSE_INIT");
  return Ok();
}

struct Request {
  fuse_in_header header;
  fuse_init_in init;
};

Result<Request> Receive(int device) {
  std::array<char, FUSE_MIN_READ_BUFFER> buffer;
  ssize_t got;
  do {
    got = ::read(device, buffer.data(), buffer.size());
  } while (got < 0 && (errno == EINTR || errno == EAGAIN || errno == ENOENT));
  if (got < 0) return ErrnoError().WithContext("cannot read FUSE_INIT");
  Request request{};
  std::memcpy(&request.header, buffer.data(), std::min<size_t>(got, sizeof(fuse_in_header)));
  if (request.header.opcode != FUSE_INIT) {
    return Error(EPROTO, fmt::format("the kernel's first request is {}, not FUSE_INIT",
                                     request.header.opcode));
  }
  const size_t body = static_cast<size_t>(got) - sizeof(fuse_in_header);
  std::memcpy(&request.init, buffer.data() + sizeof(fuse_in_header),
              std::min(body, sizeof(fuse_init_in)));
  return request;
}

Error TooOld(const fuse_init_in& in) {
  return Error(EPROTO,
               fmt::format("this kernel speaks FUSE {}.{}; {}.{} is needed", in.major, in.minor,
                           kProtocolMajor, kOldestProtocolMinor),
               "use Linux 5.15 or later");
}

}  // namespace

std::span<const Feature> AllFeatures() { return kAll; }

std::string_view NameOf(Feature feature) {
  for (const Named& named : kNamed) {
    if (named.feature == feature) return named.name;
  }
  return "?";
}

Features DefaultFeatures() {
  Features features;
  for (Feature feature : kAll) features = features.With(feature);
  return features.Without(Feature::kAtomicTruncate)
      .Without(Feature::kWriteback)
      .Without(Feature::kSetxattrExt)
      .Without(Feature::kPassthrough)
      .Without(Feature::kOverIoUring);
}

Agreement Agree(const fuse_init_in& in, const Wanted& wanted) {
  uint64_t offered = in.flags;
  if ((in.flags & FUSE_INIT_EXT) != 0) offered |= static_cast<uint64_t>(in.flags2) << 32;

  Capabilities got;
  got.offered = Features(offered);
  got.features = AgreedOn(got.offered, wanted.features);
  got.kernel_minor = in.minor;
  got.minor = std::min({in.minor, wanted.minor, kProtocolMinor});
  got.max_readahead = in.max_readahead;
  const uint32_t most = got.Has(Feature::kMaxPages) ? kMostPages : kPagesWithoutMaxPages;
  const uint32_t pages = std::clamp<uint32_t>(wanted.max_write / kPage, 1, most);
  got.max_write = pages * kPage;

  InitOut out{};
  out.major = kProtocolMajor;
  out.minor = got.minor;
  out.max_readahead = got.max_readahead;
  out.flags = static_cast<uint32_t>(got.features.bits());
  out.flags2 = static_cast<uint32_t>(got.features.bits() >> 32);
  out.max_background = wanted.max_background;
  out.congestion_threshold = static_cast<uint16_t>(wanted.max_background * 3 / 4);
  out.max_write = got.max_write;
  out.time_gran = 1;
  if (got.Has(Feature::kMaxPages)) out.max_pages = static_cast<uint16_t>(pages);
  if (got.Has(Feature::kPassthrough)) out.max_stack_depth = 1;
  return {out, got};
}

Result<Capabilities> Negotiate(int device, const Wanted& wanted) {
  AGENTFS_ASSIGN(Request request, Receive(device));
  if (request.init.major > kProtocolMajor) {
    // The kernel asks again, as the protocol that we speak.
    InitOut ours{};
    ours.major = kProtocolMajor;
    ours.minor = kProtocolMinor;
    AGENTFS_TRY(Send(device, request.header.unique, 0, ours, sizeof(ours)));
    AGENTFS_ASSIGN(request, Receive(device));
  }
  const fuse_init_in& in = request.init;
  if (in.major < kProtocolMajor || in.minor < kOldestProtocolMinor) {
    AGENTFS_TRY(Send(device, request.header.unique, EPROTO, {}, 0));
    return TooOld(in);
  }
  const Agreement agreement = Agree(in, wanted);
  AGENTFS_TRY(Send(device, request.header.unique, 0, agreement.answer, sizeof(InitOut)));
  return agreement.capabilities;
}

}  // namespace agentfs::fuse
