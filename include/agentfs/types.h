// SPDX-License-Identifier: Apache-2.0
//
// What filesystem operations take and give: times, attributes, the caller's identity.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agentfs/ids.h"

namespace agentfs {

struct __attribute__((packed, aligned(4))) Timestamp {
  int64_t sec = 0;
  uint32_t nsec = 0;
  friend constexpr bool operator==(const Timestamp& a, const Timestamp& b) {
    return a.sec == b.sec && a.nsec == b.nsec;
  }
  friend constexpr bool operator<(const Timestamp& a, const Timestamp& b) {
    return a.sec != b.sec ? a.sec < b.sec : a.nsec < b.nsec;
  }
};

// What stat(2) says. `mode` holds the type bits too.
struct Attr {
  NodeId node;
  uint32_t mode = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t nlink = 0;
  uint64_t rdev = 0;
  uint64_t size = 0;
  uint64_t blocks = 0;  // of 512 bytes
  Timestamp atime, mtime, ctime, btime;
};

// What SetAttr changes; absent fields stay.
struct AttrChange {
  std::optional<uint32_t> mode;  // permission bits, 07777
  std::optional<uint32_t> uid;
  std::optional<uint32_t> gid;
  std::optional<uint64_t> size;
  std::optional<Timestamp> atime;
  std::optional<Timestamp> mtime;
  bool atime_now = false;
  bool mtime_now = false;
  bool clear_set_id = false;  // as a write by an ordinary user does
};

struct Caller;

// Knows the groups of callers who were given without them.
class GroupSource {
 public:
  virtual ~GroupSource() = default;
  virtual bool IsMember(const Caller& caller, uint32_t group) const = 0;
};

// On whose behalf an operation runs. The default is root, whom nothing is denied.
struct Caller {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::span<const uint32_t> groups = {};  // supplementary; the caller keeps them alive
  uint32_t umask = 022;
  uint32_t pid = 0;  // perhaps of a thread; 0: this process itself, or not known
  // What is written was in the kernel's pages (a shared mapping, passthrough): it does not say
  // whose it is. `pid`, if there is one, is of who probably wrote it, and may have gone.
  bool written_back = false;
  uint64_t origin = 0;  // told to observers of the change, so that they know their own
  // Somebody who knows more (a kernel, which knows all groups and capabilities) has checked that
  // the operation is permitted, and says with `clears_set_id` whether a change of content takes the
  // set-id bits away.
  bool checked = false;
  bool clears_set_id = false;

  const GroupSource* more_groups = nullptr;  // asked where `gid` and `groups` do not settle it

  bool ClearsSetId() const { return checked ? clears_set_id : uid != 0; }
  bool InGroup(uint32_t group) const {
    if (group == gid) return true;
    for (uint32_t g : groups) {
      if (g == group) return true;
    }
    return more_groups != nullptr && more_groups->IsMember(*this, group);
  }
};

// One entry of a directory listing. `cursor` is where to go on after it: it stays valid while the
// directory changes, and no entry that stays is then missed or seen twice.
struct DirEntry {
  std::string_view name;
  NodeId node;
  uint32_t type = 0;  // the S_IFMT bits
  uint64_t cursor = 0;
};

struct FsStats {
  uint64_t block_size = 4096;
  uint64_t blocks = 0, blocks_free = 0, blocks_available = 0;
  uint64_t files = 0, files_free = 0;
  uint32_t name_max = 255;
};

enum class RenameMode : uint8_t {
  kReplace,
  kNoReplace,
  kExchange,
  kWhiteout,           // leaves a character device 0/0 at the old name, as overlayfs wants it
  kNoReplaceWhiteout,  // the same if nothing is at the new one
};
enum class AllocateMode : uint8_t {
  kAllocate,
  kKeepSize,
  kPunchHole,
  kZeroRange,
  kZeroRangeKeepSize
};
enum class SeekTarget : uint8_t { kData, kHole };
enum class XattrMode : uint8_t { kSet, kCreate, kReplace };

}  // namespace agentfs
