// SPDX-License-Identifier: Apache-2.0
//
// Tar archives as a hostile hand would write them: every field says what the test wants.
#pragma once

#include <string>
#include <string_view>

namespace agentfs::testing {

struct RawEntry {
  std::string name;
  char type = '0';
  std::string content = {};
  std::string link = {};
  unsigned mode = 0644;
  unsigned uid = 0, gid = 0;
  long claimed_size = -1;  // -1: the content's
  unsigned device_major = 0, device_minor = 0;
};

class RawTar {
 public:
  RawTar& Add(const RawEntry& entry);
  // A pax header for the next entry: "key=value" each.
  RawTar& Pax(std::initializer_list<std::string> records);
  // With the two blocks of zeros that end an archive.
  std::string Finished() const { return bytes_ + std::string(1024, '\0'); }
  const std::string& unfinished() const { return bytes_; }

 private:
  std::string bytes_;
};

std::string Zstd(std::string_view bytes);

}  // namespace agentfs::testing
