// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/wire.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstring>

#include "adapters/fuse/mapped_ids.h"

namespace agentfs::fuse {
namespace {

constexpr uint32_t kBlockSize = 4096;

StatxTime ToStatxTime(const Timestamp& time) { return {time.sec, time.nsec, 0}; }

}  // namespace

uint32_t PackDevice(uint64_t rdev) {
  const uint32_t minor_bits = ::gnu_dev_minor(rdev);
  return (minor_bits & 0xFF) | (::gnu_dev_major(rdev) << 8) | ((minor_bits & ~0xFFu) << 12);
}

uint64_t UnpackDevice(uint32_t packed) {
  return ::gnu_dev_makedev((packed & 0xFFF00) >> 8, (packed & 0xFF) | ((packed >> 12) & 0xFFF00));
}

fuse_attr ToFuseAttr(const Attr& attr, const Tree& tree) {
  fuse_attr out{};
  out.ino = tree.InodeNumber(attr.node);
  out.size = attr.size;
  out.blocks = attr.blocks;
  out.atime = static_cast<uint64_t>(attr.atime.sec);
  out.mtime = static_cast<uint64_t>(attr.mtime.sec);
  out.ctime = static_cast<uint64_t>(attr.ctime.sec);
  out.atimensec = attr.atime.nsec;
  out.mtimensec = attr.mtime.nsec;
  out.ctimensec = attr.ctime.nsec;
  out.mode = attr.mode;
  out.nlink = attr.nlink;
  out.uid = MappedIds::Users().OrOwn(attr.uid);
  out.gid = MappedIds::Groups().OrOwn(attr.gid);
  out.rdev = PackDevice(attr.rdev);
  out.blksize = kBlockSize;
  return out;
}

fuse_entry_out ToEntry(const Inode& inode, const Attr& attr, uint64_t valid) {
  fuse_entry_out out{};
  out.nodeid = inode.id;
  out.generation = inode.generation;
  out.entry_valid = valid;
  out.attr_valid = inode.direct.load(std::memory_order_acquire) ? 0 : valid;
  out.attr = ToFuseAttr(attr, *inode.tree);
  return out;
}

fuse_attr_out ToAttrOut(const Attr& attr, const Tree& tree, uint64_t valid) {
  fuse_attr_out out{};
  out.attr_valid = valid;
  out.attr = ToFuseAttr(attr, tree);
  return out;
}

StatxOut ToStatx(const Attr& attr, const Tree& tree, uint64_t valid) {
  StatxOut out{};
  out.attr_valid = valid;
  out.stat.mask = STATX_BASIC_STATS | STATX_BTIME;
  out.stat.blksize = kBlockSize;
  out.stat.nlink = attr.nlink;
  out.stat.uid = MappedIds::Users().OrOwn(attr.uid);
  out.stat.gid = MappedIds::Groups().OrOwn(attr.gid);
  out.stat.mode = static_cast<uint16_t>(attr.mode);
  out.stat.ino = tree.InodeNumber(attr.node);
  out.stat.size = attr.size;
  out.stat.blocks = attr.blocks;
  out.stat.atime = ToStatxTime(attr.atime);
  out.stat.btime = ToStatxTime(attr.btime);
  out.stat.ctime = ToStatxTime(attr.ctime);
  out.stat.mtime = ToStatxTime(attr.mtime);
  out.stat.rdev_major = ::gnu_dev_major(attr.rdev);
  out.stat.rdev_minor = ::gnu_dev_minor(attr.rdev);
  return out;
}

std::string_view TakeName(std::span<const char>& rest) {
  const size_t length = ::strnlen(rest.data(), rest.size());
  const std::string_view name(rest.data(), length);
  rest = rest.subspan(length < rest.size() ? length + 1 : length);
  return name;
}

void DirectoryWriter::Put(const void* bytes, size_t size) {
  std::memcpy(out_.data() + written_, bytes, size);
  written_ += size;
}

void DirectoryWriter::PutEntry(std::string_view name, uint64_t ino, uint32_t type, uint64_t next) {
  ++entries_;
  fuse_dirent entry{};
  entry.ino = ino;
  entry.off = next;
  entry.namelen = static_cast<uint32_t>(name.size());
  entry.type = type >> 12;
  Put(&entry, FUSE_NAME_OFFSET);
  Put(name.data(), name.size());
  const size_t size = FUSE_NAME_OFFSET + name.size();
  const size_t padding = FUSE_DIRENT_ALIGN(size) - size;
  std::memset(out_.data() + written_, 0, padding);
  written_ += padding;
}

bool DirectoryWriter::Add(std::string_view name, uint64_t ino, uint32_t type, uint64_t next) {
  if (!Fits(0, name)) return false;
  PutEntry(name, ino, type, next);
  return true;
}

}  // namespace agentfs::fuse
