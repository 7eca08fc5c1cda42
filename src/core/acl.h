// SPDX-License-Identifier: Apache-2.0
//
// POSIX access control lists, as Linux keeps them in extended attributes: how they go together
// with mode bits, and how they are inherited. Who checks access by them is the kernel above.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"

namespace agentfs {

inline constexpr std::string_view kAccessAcl = "system.posix_acl_access";
inline constexpr std::string_view kDefaultAcl =
    "system.posix_acl_default";  // for what is made in it
inline bool IsAcl(std::string_view xattr) { return xattr == kAccessAcl || xattr == kDefaultAcl; }

class Acl {
 public:
  // EINVAL, or EOPNOTSUPP for another version.
  static Result<Acl> Parse(std::string_view xattr);
  std::string Encode() const;

  bool empty() const { return entries_.empty(); }
  // Whether mode bits alone say the same.
  bool IsPlain() const;
  // The permission bits (0777) that go with it: those of the owner, of the mask (without one: of
  // the group), of the others.
  uint32_t Mode() const;
  // chmod.
  void SetMode(uint32_t mode);
  // Of a default list for something that is made with `mode`: grants nothing beyond it.
  void Restrict(uint32_t mode);

 private:
  struct Entry {
    uint16_t tag;
    uint16_t permissions;
    uint32_t id;
  };
  bool IsValid() const;
  const Entry* Find(uint16_t tag) const;
  uint16_t GroupTag() const;  // whose permissions the mode's group bits are
  template <typename Change>
  void ForBits(uint32_t mode, const Change& change);

  std::vector<Entry> entries_;
};

}  // namespace agentfs
