// SPDX-License-Identifier: Apache-2.0
//
// A walk through the base in the order in which a program meets it that follows our listings, or
// goes by name: each directory when its name comes, before the names after it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/base_fs.h"

namespace agentfs {

// Of a path of the base, which has no leading slash; "" is the root.
std::string_view DirectoryInBase(std::string_view path);

// Used by one thread. Directories and files that cannot be listed or looked at are left out, and so
// are those of other filesystems than the base's own.
class BaseWalk {
 public:
  enum class Kind : uint8_t { kDirectory, kFile };
  enum class Order : uint8_t { kListing, kName };
  struct Item {
    Kind kind;
    std::string path;
    uint64_t identity;
    uint64_t size;
    bool at_hand;  // of a directory: its names were known to the host before the walk
  };

  explicit BaseWalk(BaseFs* base) : base_(base) {}  // it outlives the walk

  // What comes next is what follows the file, or what is in the directory and then follows it. Of a
  // small directory the files before are given too, after the others: it may be read in any order.
  void StartAfterFile(const std::string& path, Order order);
  void StartIn(const std::string& directory, Order order);

  // A directory has been listed and its names looked at when it is given. None: the walk is over.
  std::optional<Item> Next();

 private:
  struct Name {
    uint64_t cursor;
    BaseEntry entry;
  };
  struct Level {
    std::string path;
    std::vector<Name> names;      // in the walk's order
    std::vector<BaseStat> stats;  // of the names from `first_stat` on; identity 0: none
    size_t first_stat = 0;
    size_t next = 0;
    bool at_hand = false;
  };
  // False: it is no directory to be walked through.
  bool Enter(const std::string& directory);
  void LookAtNames(Level& level);
  bool IsBefore(const Name& a, const Name& b) const;
  void SkipThrough(std::string_view name);
  void PutFilesBeforeLast();
  void Leave();

  BaseFs* const base_;
  Order order_ = Order::kListing;
  std::vector<Level> levels_;
};

}  // namespace agentfs
