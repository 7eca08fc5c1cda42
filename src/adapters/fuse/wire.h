// SPDX-License-Identifier: Apache-2.0
//
// Between our types and the kernel's structures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "adapters/fuse/inode_table.h"
#include "adapters/fuse/transport/fuse_abi.h"
#include "adapters/fuse/tree.h"
#include "agentfs/types.h"

namespace agentfs::fuse {

fuse_attr ToFuseAttr(const Attr& attr, const Tree& tree);
// `valid`: for how many seconds the kernel may keep it.
fuse_entry_out ToEntry(const Inode& inode, const Attr& attr, uint64_t valid);
fuse_attr_out ToAttrOut(const Attr& attr, const Tree& tree, uint64_t valid);
StatxOut ToStatx(const Attr& attr, const Tree& tree, uint64_t valid);

// The name at the start of a payload, up to its NUL; `rest` gets what follows that.
std::string_view TakeName(std::span<const char>& rest);

// A device number as the kernel packs it into 32 bits.
uint32_t PackDevice(uint64_t rdev);
uint64_t UnpackDevice(uint32_t packed);

// Fills an answer to READDIR or READDIRPLUS.
class DirectoryWriter {
 public:
  explicit DirectoryWriter(std::span<char> out) : out_(out) {}

  // False: it does not fit, and nothing was written. `next` is where to go on after the entry.
  bool Add(std::string_view name, uint64_t ino, uint32_t type, uint64_t next);
  // With what LOOKUP would answer, which is written behind the check that it fits: `entry` is
  // called only then.
  template <typename MakeEntry>
  bool AddPlus(std::string_view name, uint64_t ino, uint32_t type, uint64_t next,
               const MakeEntry& entry) {
    if (!Fits(sizeof(fuse_entry_out), name)) return false;
    const fuse_entry_out made = entry();
    Put(&made, sizeof made);
    PutEntry(name, ino, type, next);
    return true;
  }
  size_t written() const { return written_; }
  size_t entries() const { return entries_; }

 private:
  bool Fits(size_t before, std::string_view name) const {
    return written_ + before + FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + name.size()) <= out_.size();
  }
  void Put(const void* bytes, size_t size);
  void PutEntry(std::string_view name, uint64_t ino, uint32_t type, uint64_t next);

  std::span<char> out_;
  size_t written_ = 0;
  size_t entries_ = 0;
};

}  // namespace agentfs::fuse
