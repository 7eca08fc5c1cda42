// SPDX-License-Identifier: Apache-2.0
#include "core/acl.h"

#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>

#include <algorithm>
#include <cstring>

namespace agentfs {

Result<Acl> Acl::Parse(std::string_view xattr) {
  uint32_t version = 0;
  if (xattr.size() < sizeof version) return Error(EINVAL);
  std::memcpy(&version, xattr.data(), sizeof version);
  if (version != POSIX_ACL_XATTR_VERSION) return Error(EOPNOTSUPP);
  xattr.remove_prefix(sizeof version);
  static_assert(sizeof(Entry) == 8);
  if (xattr.size() % sizeof(Entry) != 0) return Error(EINVAL);
  Acl acl;
  acl.entries_.resize(xattr.size() / sizeof(Entry));
  if (!xattr.empty()) std::memcpy(acl.entries_.data(), xattr.data(), xattr.size());
  if (!acl.empty() && !acl.IsValid()) return Error(EINVAL);
  return acl;
}

std::string Acl::Encode() const {
  const uint32_t version = POSIX_ACL_XATTR_VERSION;
  std::string out(reinterpret_cast<const char*>(&version), sizeof version);
  out.append(reinterpret_cast<const char*>(entries_.data()), entries_.size() * sizeof(Entry));
  return out;
}

// In the order of their tags, the three of the mode once each, and a mask if there are more.
bool Acl::IsValid() const {
  const auto count = [&](uint16_t tag) {
    return std::count_if(entries_.begin(), entries_.end(),
                         [tag](const Entry& entry) { return entry.tag == tag; });
  };
  for (size_t i = 0; i < entries_.size(); ++i) {
    if ((entries_[i].permissions & ~7) != 0) return false;
    if (i > 0 && entries_[i].tag < entries_[i - 1].tag) return false;
  }
  const auto named = count(ACL_USER) + count(ACL_GROUP);
  const auto masks = count(ACL_MASK);
  const auto modes = count(ACL_USER_OBJ) + count(ACL_GROUP_OBJ) + count(ACL_OTHER);
  return count(ACL_USER_OBJ) == 1 && count(ACL_GROUP_OBJ) == 1 && count(ACL_OTHER) == 1 &&
         masks <= 1 && (named == 0 || masks == 1) &&
         named + masks + modes == static_cast<ptrdiff_t>(entries_.size());
}

const Acl::Entry* Acl::Find(uint16_t tag) const {
  for (const Entry& entry : entries_) {
    if (entry.tag == tag) return &entry;
  }
  return nullptr;
}

uint16_t Acl::GroupTag() const { return Find(ACL_MASK) != nullptr ? ACL_MASK : ACL_GROUP_OBJ; }

bool Acl::IsPlain() const { return entries_.size() == 3; }

uint32_t Acl::Mode() const {
  const uint32_t user = Find(ACL_USER_OBJ)->permissions;
  const uint32_t group = Find(GroupTag())->permissions;
  return (user << 6) | (group << 3) | Find(ACL_OTHER)->permissions;
}

// Calls `change` with each entry that mode bits stand for, and those bits.
template <typename Change>
void Acl::ForBits(uint32_t mode, const Change& change) {
  const uint16_t group = GroupTag();
  for (Entry& entry : entries_) {
    if (entry.tag == ACL_USER_OBJ) change(entry, static_cast<uint16_t>((mode >> 6) & 7));
    if (entry.tag == group) change(entry, static_cast<uint16_t>((mode >> 3) & 7));
    if (entry.tag == ACL_OTHER) change(entry, static_cast<uint16_t>(mode & 7));
  }
}

void Acl::SetMode(uint32_t mode) {
  ForBits(mode, [](Entry& entry, uint16_t bits) { entry.permissions = bits; });
}

void Acl::Restrict(uint32_t mode) {
  ForBits(mode, [](Entry& entry, uint16_t bits) { entry.permissions &= bits; });
}

}  // namespace agentfs
