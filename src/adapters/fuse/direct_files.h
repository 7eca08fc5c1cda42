// SPDX-License-Identifier: Apache-2.0
//
// Files that programs write through passthrough: the kernel moves the data between them and a host
// file of ours, and we hear nothing of it. The bulk profile.
//
// A file that is empty when it is opened for writing is given such a host file; everybody who opens
// it while it is open gets the same one. Other files are cached by the kernel, as ever: it accepts
// only one way at a time, so the first opener decides until the last has gone. What the host file
// has becomes the node's content (it is settled) when somebody asks for the node's attributes, when
// it is synced, when the last one closes it, and before the branch is sealed. What others make the
// node's content becomes what the host file has, if nobody has written it since it was settled
// last.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "adapters/fuse/inode_table.h"
#include "adapters/fuse/transport/fuse_abi.h"
#include "agentfs/filesystem.h"
#include "agentfs/result.h"

namespace agentfs::fuse {

// Thread-safe. An inode that is passed to it is in use by a request.
class DirectFiles {
 public:
  // The device of a connection that has agreed on passthrough; it outlives this. What is settled
  // bears `origin`.
  DirectFiles(int device, uint64_t origin);
  ~DirectFiles();
  DirectFiles(const DirectFiles&) = delete;
  DirectFiles& operator=(const DirectFiles&) = delete;

  // Whether this process may use passthrough for content of `fs`: EPERM, ELOOP, EOPNOTSUPP.
  Result<void> Probe(FileSystem& fs);

  enum class Wish : uint8_t { kCached, kDirectIfEmpty };  // to read; to write
  // The answer to an open that is granted, CREATE's too. ESTALE: the branch was restored while the
  // file was open; it is to be looked up anew.
  Result<OpenOut> Open(const Caller& caller, Inode& inode, Wish wish);
  void Release(Inode& inode, uint64_t handle);

  bool IsOpen(const Tree& tree, NodeId node) ABSL_LOCKS_EXCLUDED(mu_);
  // Everything written so far is the node's content. Nothing to do for other files.
  Result<void> Settle(Inode& inode);
  // The same, so that syncing the node makes it durable.
  Result<void> SettleForSync(Inode& inode);
  // For a file that is open so: true, and it is done; false: it is none.
  Result<bool> SetSize(Inode& inode, uint64_t size);
  Result<bool> Allocate(Inode& inode, uint32_t mode, uint64_t offset, uint64_t length);
  // Others than this session have changed the content. May be called where a node is locked.
  void ChangedElsewhere(uint64_t id) ABSL_LOCKS_EXCLUDED(mu_);
  // Who has the file open so sees that from now on.
  void Follow(uint64_t id) ABSL_LOCKS_EXCLUDED(mu_);
  // Of all trees. At the end, and before somebody else looks.
  void SettleAll();
  // The branch was restored: what is open has nothing to do with it any more.
  void Reset(const Tree& tree, InodeTable& inodes);

 private:
  class File;
  class TreeWriter;
  struct State {
    uint32_t cached = 0;  // how often it is open so
    std::shared_ptr<File> file;
  };
  // kModified: it was changed just now, also where neither size nor content tells.
  enum class Settling : uint8_t { kIfChanged, kAlways, kModified, kCopy, kLast };

  std::shared_ptr<File> Find(const Inode& inode) ABSL_LOCKS_EXCLUDED(mu_);
  std::vector<std::shared_ptr<File>> FilesOf(const Tree* tree) ABSL_LOCKS_EXCLUDED(mu_);
  std::shared_ptr<File> MakeLocked(Inode& inode) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static OpenOut OpenCachedLocked(Inode& inode, State& state);
  void WatchTreeLocked(const std::shared_ptr<Tree>& tree) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const int device_;
  const uint64_t origin_;
  absl::Mutex mu_;  // never held while a filesystem is called that waits
  absl::flat_hash_map<uint64_t, State> states_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<const Tree*, std::shared_ptr<TreeWriter>> writers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs::fuse
