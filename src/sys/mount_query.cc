// SPDX-License-Identifier: Apache-2.0
#include "sys/mount_query.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>

namespace agentfs {
namespace {

// The headers of this distribution are older.
constexpr long kStatmount = 457;
constexpr unsigned kUniqueId = 0x4000;      // STATX_MNT_ID_UNIQUE
constexpr uint64_t kMountRoot = 0x2000;     // STATX_ATTR_MOUNT_ROOT
constexpr uint64_t kFilesystem = 0x01;      // STATMOUNT_SB_BASIC
constexpr uint64_t kMount = 0x02;           // STATMOUNT_MNT_BASIC
constexpr uint64_t kType = 0x20;            // STATMOUNT_FS_TYPE
constexpr uint64_t kSubtype = 0x100;        // STATMOUNT_FS_SUBTYPE, Linux 6.12
constexpr std::string_view kFuse = "fuse";  // the only type with subtypes that we ask for

struct MountQuestion {
  uint32_t size = sizeof(MountQuestion);
  uint32_t spare = 0;
  uint64_t mount = 0;
  uint64_t wanted = 0;
};

// Text is named by its offset from `text`.
struct MountAnswer {
  uint32_t size;
  uint32_t options;
  uint64_t given;
  uint32_t device_major, device_minor;
  uint64_t magic;
  uint32_t flags, type;
  uint64_t id, parent;
  uint32_t old_id, old_parent;
  uint64_t attributes, propagation, peer_group, master, propagate_from;
  uint32_t root, point;
  uint64_t space;
  uint32_t subtype, source;
  uint64_t later[48];
  char text[512];
};
static_assert(offsetof(MountAnswer, text) == 512);

int Ask(uint64_t mount, uint64_t wanted, MountAnswer& answer) {
  MountQuestion question;
  question.mount = mount;
  question.wanted = wanted;
  return ::syscall(kStatmount, &question, &answer, sizeof(answer), 0) == 0 ? 0 : errno;
}

std::string_view TextAt(const MountAnswer& answer, uint32_t offset) {
  if (offset >= sizeof(answer.text)) return {};
  const std::string_view rest(answer.text + offset, sizeof(answer.text) - offset);
  return rest.substr(0, rest.find('\0'));
}

Result<MountFacts> FactsFrom(const MountAnswer& answer) {
  MountFacts facts;
  facts.lasting_id = answer.id;
  facts.id = answer.old_id;
  facts.minor = answer.device_minor;
  facts.type = TextAt(answer, answer.type);
  const uint64_t needed = kFilesystem | kMount | kType;
  if ((answer.given & needed) != needed) return Error(ENOSYS);
  if ((answer.given & kSubtype) != 0) {
    facts.type.append(".").append(TextAt(answer, answer.subtype));
  } else if (facts.type == kFuse) {
    return Error(ENOSYS);  // an older kernel does not say which
  }
  return facts;
}

}  // namespace

Result<std::optional<MountFacts>> AskForMountAt(const std::string& path) {
  struct statx at {};
  if (::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, kUniqueId, &at) != 0 ||
      (at.stx_mask & kUniqueId) == 0 || (at.stx_attributes_mask & kMountRoot) == 0) {
    return Error(ENOSYS);
  }
  if ((at.stx_attributes & kMountRoot) == 0) return std::optional<MountFacts>();
  MountAnswer answer{};
  if (Ask(at.stx_mnt_id, kFilesystem | kMount | kType | kSubtype, answer) != 0) {
    return Error(ENOSYS);
  }
  AGENTFS_ASSIGN(MountFacts facts, FactsFrom(answer));
  return std::optional<MountFacts>(std::move(facts));
}

Result<bool> AskWhetherMounted(uint64_t lasting_id) {
  MountAnswer answer{};
  switch (Ask(lasting_id, kMount, answer)) {
    case 0:
      return true;
    case ENOENT:
      return false;
    default:
      return Error(ENOSYS);
  }
}

}  // namespace agentfs
