// SPDX-License-Identifier: Apache-2.0
//
// The base: the host directory beneath the first layer, seen through a seam that can only read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/types.h"

namespace agentfs {

// What identifies a version of a base file's content: if any of it differs, the file has changed.
struct BaseSignature {
  uint64_t size = 0;
  Timestamp mtime, ctime;
  uint64_t inode = 0;
  friend bool operator==(const BaseSignature&, const BaseSignature&) = default;
};

struct BaseStat {
  // Names the file for ever: the same for all its hard links and after a restart, another one when
  // an inode number is used again. Below 2^62.
  uint64_t identity = 0;
  Attr attr;             // attr.node is not set
  bool mounted = false;  // of another filesystem than the base's root
  BaseSignature signature;
};

struct BaseEntry {
  std::string name;
  uint32_t type = 0;  // S_IFMT bits; 0 where the host does not say
};

// An open base file; closing is destruction. Thread-safe.
class BaseFile {
 public:
  virtual ~BaseFile() = default;
  // Bytes read; fewer than asked for only at the end of the file.
  virtual Result<size_t> Read(uint64_t offset, std::span<char> out) = 0;
  virtual Result<BaseStat> Stat() = 0;
  // The first `bytes` will be read soon: the host may begin to. Does not wait for them.
  virtual void WillRead(uint64_t bytes) = 0;
  // The next offset at or after `offset` that is data (or a hole); ENXIO past the end.
  virtual Result<uint64_t> Seek(uint64_t offset, SeekTarget target) = 0;
  // A host descriptor for reflink and passthrough, or -1; it lives as long as this object.
  virtual int descriptor() const { return -1; }
};

// Who wants to know of changes that others make to the base. Called on a thread of the base's own.
class BaseObserver {
 public:
  virtual ~BaseObserver() = default;
  // Something has happened to `name` in the watched directory; "" is the directory itself.
  virtual void BaseChanged(const std::string& directory, std::string_view name) = 0;
  // Changes were missed: anything may have changed, and nothing is watched any more.
  virtual void BaseLost() = 0;
};

// Thread-safe. A path is relative to the base's root, without leading slash; "" is the root. No
// component is ever followed if it is a symbolic link: a path that runs through one gives ELOOP,
// one that leaves the root EXDEV; nothing outside the root can be reached.
class BaseFs {
 public:
  virtual ~BaseFs() = default;
  virtual Result<BaseStat> Stat(std::string_view path) = 0;
  virtual Result<std::unique_ptr<BaseFile>> Open(std::string_view path) = 0;  // regular files only
  virtual Result<std::vector<BaseEntry>> List(std::string_view path) = 0;     // without . and ..
  // Stat of names in a directory, for the price of finding the directory once. In their order.
  virtual Result<std::vector<Result<BaseStat>>> StatNames(
      std::string_view directory, std::span<const std::string_view> names) = 0;
  virtual Result<std::string> ReadLink(std::string_view path) = 0;
  virtual Result<std::vector<std::string>> ListXattrs(std::string_view path) = 0;
  virtual Result<std::string> GetXattr(std::string_view path, std::string_view name) = 0;
  virtual Result<FsStats> StatFs() = 0;
  // Whether the host can find the path without its disk, as far as it says so.
  virtual bool IsAtHand(std::string_view path) = 0;

  // Before Watch. Null: no more; when that returns the observer is not called any longer. Not while
  // another thread calls Watch.
  virtual Result<void> Observe(BaseObserver* observer) = 0;
  // Changes in the directory are told from now on, until the generation grows. ENOSPC: the host
  // watches no more.
  virtual Result<void> Watch(const std::string& directory) = 0;
  virtual uint64_t watch_generation() const = 0;  // 0: nobody observes
  // Whether the observer was told of all that had happened in watched directories when this was
  // called. Costs a fraction of a Stat.
  virtual bool HasToldAll() const = 0;
};

// The host directory `root` as a base. It is opened once; a rename of it does not matter
// afterwards. Names listed in `hidden` are absent from the root directory (".agentfs").
Result<std::unique_ptr<BaseFs>> OpenHostBase(const std::string& root,
                                             std::vector<std::string> hidden = {});

}  // namespace agentfs
