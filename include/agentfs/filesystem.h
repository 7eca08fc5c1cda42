// SPDX-License-Identifier: Apache-2.0
//
// The filesystem seam: POSIX operations on nodes, on behalf of a caller. core's View implements
// it; adapters (mount, path API, protocols) are written against it.
//
// Errors are the errno that Linux gives for the same call on a native directory. Every function is
// thread-safe. Names are single components: any bytes but '/' and NUL; "." and ".." are resolved
// by Lookup only.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agentfs/change_observer.h"
#include "agentfs/op_log.h"
#include "agentfs/result.h"
#include "agentfs/store.h"
#include "agentfs/types.h"

namespace agentfs {

// A node in use. While somebody holds a NodeRef, the node stays valid: an unlinked file lives (and
// its content with it) until the last reference goes.
class Node {
 public:
  NodeId id() const { return id_; }

 protected:
  explicit Node(NodeId id) : id_(id) {}
  virtual ~Node() = default;
  // Gives back what may be the last reference: the node decides under its owner's lock whether it
  // is, so that nobody can find a node that is about to go.
  virtual void ReleaseLast() = 0;

 private:
  friend class NodeRef;
  const NodeId id_;

 protected:
  std::atomic<uint32_t> references_{0};
};

class NodeRef {
 public:
  NodeRef() = default;
  explicit NodeRef(Node* node) : node_(node) { Take(); }
  NodeRef(const NodeRef& other) : node_(other.node_) { Take(); }
  NodeRef(NodeRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodeRef& operator=(NodeRef other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodeRef() {
    if (node_) Drop();
  }

  explicit operator bool() const { return node_ != nullptr; }
  Node* get() const { return node_; }
  Node* operator->() const { return node_; }
  Node& operator*() const { return *node_; }
  bool operator==(const NodeRef&) const = default;

 private:
  void Take() {
    if (node_) node_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  void Drop() {
    uint32_t count = node_->references_.load(std::memory_order_relaxed);
    while (count > 1) {
      if (node_->references_.compare_exchange_weak(count, count - 1, std::memory_order_release,
                                                   std::memory_order_relaxed)) {
        return;
      }
    }
    node_->ReleaseLast();
  }
  Node* node_ = nullptr;
};

// A node together with its attributes, as Lookup and the creating functions give it.
struct Found {
  NodeRef node;
  Attr attr;
};

// A name in a directory.
struct Named {
  NodeRef parent;
  std::string name;
};

// So long can it be.
inline constexpr uint64_t kMaxHostContent = uint64_t{8} << 40;
// Content that a host file has, which programs write without us (passthrough).
struct HostContent {
  enum class How : uint8_t {
    kShared,  // the file is the content from now on: what is written later is read, but counts
              // (size, times, durability) only when the content is taken again
    kCopied,  // what the file has now
  };
  int file = -1;  // of NewHostFile; stays the caller's
  How how = How::kShared;
  bool last = false;                  // nobody will write it any more
  std::optional<Timestamp> modified;  // none: the node's times stay, and nothing is recorded
  // For the op log: what was done, and how many bytes more there are; OpKind(): nothing is
  // recorded.
  OpKind kind = OpKind::kWrite;
  uint64_t bytes = 0;
  // Asked when nothing else can happen to the node, nor a restore to the view: false if something
  // has, which the file is behind. Its observers have been told by then.
  std::function<bool()> wanted;
};
// A file that was taken, and is to follow the node.
struct HostFile {
  int file = -1;
  uint64_t size = 0;     // when it was taken
  bool written = false;  // since then; by others, too, if it is the node's content itself
};
// Somebody with such files.
class HostWriter {
 public:
  virtual ~HostWriter() = default;
  // The branch is about to be sealed: what was written so far is to be taken, as a copy of the
  // files that are still being written. May call the filesystem, but no Volume.
  virtual void Settle() = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual NodeRef Root() = 0;
  // The node if it is in memory, else null: for who knows its id from an observer.
  virtual NodeRef FindNode(NodeId id) = 0;
  // The node with this id as this view has it, ENOENT if it does not. `base_path`: where in the
  // base it is looked for if no layer has changed it.
  virtual Result<NodeRef> GetNode(NodeId id, const std::string& base_path) = 0;
  // A directory that names the node, and how; of a file with several names one of them. ENOENT: it
  // has none any more, and the root never has.
  virtual Result<Named> NameOf(Node& node) = 0;
  // Where a directory is now: "/", "/a/b". ENOENT: it is removed.
  virtual Result<std::string> PathOf(Node& directory) = 0;

  // ---- names
  virtual Result<Found> Lookup(const Caller& caller, Node& parent, std::string_view name) = 0;
  // O_CREAT | O_EXCL of a regular file. `mode` is masked by the caller's umask.
  virtual Result<Found> Create(const Caller& caller, Node& parent, std::string_view name,
                               uint32_t mode) = 0;
  virtual Result<Found> MakeDirectory(const Caller& caller, Node& parent, std::string_view name,
                                      uint32_t mode) = 0;
  // `mode` with the type: S_IFREG, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK.
  virtual Result<Found> MakeNode(const Caller& caller, Node& parent, std::string_view name,
                                 uint32_t mode, uint64_t rdev) = 0;
  virtual Result<Found> MakeSymlink(const Caller& caller, Node& parent, std::string_view name,
                                    std::string_view target) = 0;
  // An unnamed file in `parent` (O_TMPFILE); Link gives it a name.
  virtual Result<Found> CreateUnnamed(const Caller& caller, Node& parent, uint32_t mode) = 0;
  virtual Result<Attr> Link(const Caller& caller, Node& node, Node& parent,
                            std::string_view name) = 0;
  virtual Result<void> Unlink(const Caller& caller, Node& parent, std::string_view name) = 0;
  virtual Result<void> RemoveDirectory(const Caller& caller, Node& parent,
                                       std::string_view name) = 0;
  virtual Result<void> Rename(const Caller& caller, Node& parent, std::string_view name,
                              Node& new_parent, std::string_view new_name, RenameMode mode) = 0;
  virtual Result<std::string> ReadLink(const Caller& caller, Node& node) = 0;

  // Calls `visit` for the entries after `cursor` (0: from the start), "." and ".." not among them,
  // until it says kStop. `visit` must not call the filesystem.
  using DirVisitor = std::function<Visit(const DirEntry&)>;
  virtual Result<void> ReadDirectory(const Caller& caller, Node& node, uint64_t cursor,
                                     const DirVisitor& visit) = 0;
  // The same with the node and its attributes.
  using DirAttrVisitor = std::function<Visit(const DirEntry&, const Found&)>;
  virtual Result<void> ReadDirectoryPlus(const Caller& caller, Node& node, uint64_t cursor,
                                         const DirAttrVisitor& visit) = 0;

  // ---- attributes
  virtual Result<Attr> GetAttr(Node& node) = 0;
  // A change of size does not check permission to write: ftruncate(2) needs none; for truncate(2)
  // ask Access first.
  virtual Result<Attr> SetAttr(const Caller& caller, Node& node, const AttrChange& change) = 0;
  // access(2): `mask` of R_OK, W_OK, X_OK.
  virtual Result<void> Access(const Caller& caller, Node& node, int mask) = 0;
  virtual Result<std::string> GetXattr(const Caller& caller, Node& node, std::string_view name) = 0;
  virtual Result<std::vector<std::string>> ListXattrs(const Caller& caller, Node& node) = 0;
  virtual Result<void> SetXattr(const Caller& caller, Node& node, std::string_view name,
                                std::string_view value, XattrMode mode) = 0;
  virtual Result<void> RemoveXattr(const Caller& caller, Node& node, std::string_view name) = 0;

  // ---- data. Opening is a permission check (and O_TRUNC); the NodeRef is the handle, and Read
  // and Write do not check permissions again, as with a file descriptor.
  virtual Result<void> Open(const Caller& caller, Node& node, int flags) = 0;
  virtual Result<size_t> Read(Node& node, uint64_t offset, std::span<char> out) = 0;
  virtual Result<size_t> Write(const Caller& caller, Node& node, uint64_t offset,
                               std::span<const char> data) = 0;
  // Writes at the end of the file, atomically among appenders; returns the offset written at.
  virtual Result<uint64_t> Append(const Caller& caller, Node& node, std::span<const char> data) = 0;
  virtual Result<void> Allocate(const Caller& caller, Node& node, AllocateMode mode,
                                uint64_t offset, uint64_t length) = 0;
  virtual Result<uint64_t> Seek(Node& node, uint64_t offset, SeekTarget target) = 0;
  virtual Result<uint64_t> CopyRange(const Caller& caller, Node& source, uint64_t source_offset,
                                     Node& target, uint64_t target_offset, uint64_t length) = 0;
  // When it returns, the node's content and attributes and every name given before are durable.
  virtual Result<void> Sync(Node& node) = 0;
  // The same of what is needed to read the node's content back alone (fdatasync).
  virtual Result<void> SyncData(Node& node) { return Sync(node); }

  // ---- content of host files. EOPNOTSUPP: not here (no objects, a limit of bytes, read-only).
  // A descriptor of an empty host file, to be given back to DropHostFile, which closes it.
  virtual Result<int> NewHostFile() { return Error(EOPNOTSUPP); }
  virtual void DropHostFile(int /*file*/) {}
  // Makes what the file has the node's content. ECANCELED: it is not wanted any more.
  virtual Result<void> TakeContent(const Caller& /*caller*/, Node& /*node*/,
                                   const HostContent& /*content*/) {
    return Error(EOPNOTSUPP);
  }
  // The reverse: what others have made of the node becomes what the file has. False, and nothing is
  // done, if the file was written by its own writers since it was taken.
  virtual Result<bool> GiveContent(Node& /*node*/, const HostFile& /*to*/) {
    return Error(EOPNOTSUPP);
  }
  virtual void AddHostWriter(std::weak_ptr<HostWriter> /*writer*/) {}

  virtual Result<FsStats> StatFs() = 0;

  // ---- for the op log, which not every filesystem has
  // Somebody was refused what they asked for.
  virtual void NoteDenied(const Caller& /*caller*/, const DeniedOp& /*denied*/) {}
  // A file was opened; 0, or what NoteClosed is to be called with once it is closed.
  virtual uint64_t NoteOpened(const Caller& /*caller*/, Node& /*node*/) { return 0; }
  virtual void NoteClosed(uint64_t /*token*/, uint64_t /*bytes_read*/, uint64_t /*bytes*/) {}

  // Each waits for the operations under way; the observer is not called after its removal.
  virtual void AddObserver(ChangeObserver& observer) = 0;
  virtual void RemoveObserver(ChangeObserver& observer) = 0;
  // False where the base changes unseen, because it is not or cannot be watched: what observers
  // keep of it they must soon ask for again.
  virtual bool ObserversHearAll() const = 0;
};

}  // namespace agentfs
