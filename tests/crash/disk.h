// SPDX-License-Identifier: Apache-2.0
//
// What a power cut would leave of the files below a directory. The functions of libc that write and
// sync are replaced in this program, its libraries included: they keep, for every file, the bytes
// that were synced.
//
// A sync makes durable what the file contains when it starts, and the name of the file too (as the
// filesystems of Linux do). Whatever was written since the last sync may or may not be there, page
// by page: a cut decides by chance.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>

namespace agentfs::crash {

class Disk {
 public:
  // Follows the files below `directory`. One at a time.
  explicit Disk(std::string directory);
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  // What of that which was not synced is there after the cut; kObjectsLost: all but objects;
  // kThere: all, as if only the process had been killed.
  enum class Unsynced : uint8_t { kLost, kByChance, kObjectsLost, kThere };
  // Writes what is left into the directory `image`. Nothing is written or synced meanwhile.
  void Cut(const std::string& image, Unsynced unsynced, std::mt19937_64& random);
  // `cut` is called in the thread, and in the middle, of the nth write or sync from now; it may
  // call Cut and must not write otherwise.
  void AtCall(uint64_t nth, std::function<void()> cut);
  // The syncs of files whose name contains `part`, so far.
  uint64_t Syncs(const std::string& part) const;
};

}  // namespace agentfs::crash
