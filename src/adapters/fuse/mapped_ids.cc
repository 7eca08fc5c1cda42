// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/mapped_ids.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace agentfs::fuse {
namespace {

std::string Contents(const char* file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

MappedIds::MappedIds(std::string_view map, uint32_t own) : own_(own) {
  std::istringstream lines{std::string(map)};
  uint32_t first = 0, outside = 0, count = 0;
  while (lines >> first >> outside >> count) ranges_.push_back({first, count});
  all_ = ranges_.empty() || (ranges_[0].first == 0 && ranges_[0].count == UINT32_MAX);
}

bool MappedIds::Has(uint32_t id) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [id](const Range& range) {
    return id >= range.first && id - range.first < range.count;
  });
}

const MappedIds& MappedIds::Users() {
  static const MappedIds ids(Contents("/proc/self/uid_map"), ::geteuid());
  return ids;
}

const MappedIds& MappedIds::Groups() {
  static const MappedIds ids(Contents("/proc/self/gid_map"), ::getegid());
  return ids;
}

}  // namespace agentfs::fuse
