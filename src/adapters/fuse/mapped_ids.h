// SPDX-License-Identifier: Apache-2.0
//
// The users and groups that exist in the user namespace of this process.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace agentfs::fuse {

// A base has files of ids that the namespace has not; the system shows them as 65534, which it need
// not have either. The kernel lets nobody write a file with such an owner or group: it is told that
// they are ours instead. Immutable.
class MappedIds {
 public:
  // `map`: as in /proc/PID/uid_map. What cannot be read maps everything.
  MappedIds(std::string_view map, uint32_t own);

  uint32_t OrOwn(uint32_t id) const { return all_ || Has(id) ? id : own_; }

  // Of this process, as they are when first asked for.
  static const MappedIds& Users();
  static const MappedIds& Groups();

 private:
  struct Range {
    uint32_t first;
    uint32_t count;
  };
  bool Has(uint32_t id) const;

  std::vector<Range> ranges_;
  bool all_ = true;
  uint32_t own_;
};

}  // namespace agentfs::fuse
