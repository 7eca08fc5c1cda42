// SPDX-License-Identifier: Apache-2.0
//
// A node of a view in memory: the visible version of its record, and what hangs on it (directory,
// content, link target, extended attributes), loaded when first needed.
#pragma once

#include <sys/stat.h>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "agentfs/filesystem.h"
#include "core/content.h"
#include "core/directory.h"
#include "core/records.h"

namespace agentfs {

class NodeTable;

// Where a node's unchanged part comes from.
struct BaseLink {
  std::string path;         // in the base, without leading slash
  BaseSignature signature;  // what the file looked like at copy-up; unset on a node without record
  // Of a node without record, as the rest of its attributes are what the base said at `stamp`.
  uint64_t blocks = 0;
  // VolumeState::base_changes before the base was asked, if it tells of changes since; 0: it does
  // not. See ViewNodes::IsFresh.
  uint64_t stamp = 0;
};

using XattrMap = std::map<std::string, Buffer, std::less<>>;

// A node's extended attributes: not loaded yet, none, or some. One word, since most have none.
class NodeXattrs {
 public:
  NodeXattrs() = default;
  NodeXattrs(const NodeXattrs&) = delete;
  NodeXattrs& operator=(const NodeXattrs&) = delete;
  ~NodeXattrs() { Forget(); }

  bool loaded() const { return bits_ != 0; }
  const XattrMap& get() const {
    static const XattrMap kEmpty;
    return bits_ > kNone ? *map() : kEmpty;
  }
  // They must be loaded.
  XattrMap& edit() {
    if (bits_ <= kNone) bits_ = reinterpret_cast<uintptr_t>(new XattrMap);
    return *map();
  }
  void Set(XattrMap xattrs) {
    Forget();
    bits_ = xattrs.empty() ? kNone : reinterpret_cast<uintptr_t>(new XattrMap(std::move(xattrs)));
  }
  void Forget() {
    if (bits_ > kNone) delete map();
    bits_ = 0;
  }

 private:
  static constexpr uintptr_t kNone = 1;
  XattrMap* map() const { return reinterpret_cast<XattrMap*>(bits_); }
  uintptr_t bits_ = 0;  // 0: not loaded
};

// What hangs on a node by its type: a Directory, a FileContent, a link's target, or nothing. One
// word: the kind is kept in the pointer's low bits.
class NodePart {
 public:
  NodePart() = default;
  NodePart(NodePart&& other) noexcept : bits_(std::exchange(other.bits_, 0)) {}
  NodePart& operator=(NodePart&& other) noexcept {
    std::swap(bits_, other.bits_);
    return *this;
  }
  template <typename T>
  NodePart& operator=(std::unique_ptr<T> held) {
    Clear();
    bits_ = reinterpret_cast<uintptr_t>(held.release()) | kTag<T>;
    return *this;
  }
  ~NodePart() { Clear(); }
  template <typename T>
  T* Get() const {
    return (bits_ & kMask) == kTag<T> ? reinterpret_cast<T*>(bits_ & ~kMask) : nullptr;
  }
  void Clear() {
    const uintptr_t held = bits_ & ~kMask;
    switch (std::exchange(bits_, 0) & kMask) {
      case kTag<Directory>:
        delete reinterpret_cast<Directory*>(held);
        break;
      case kTag<FileContent>:
        delete reinterpret_cast<FileContent*>(held);
        break;
      case kTag<std::string>:
        delete reinterpret_cast<std::string*>(held);
        break;
    }
  }

 private:
  static constexpr uintptr_t kMask = 3;
  template <typename T>
  static constexpr uintptr_t kTag = std::is_same_v<T, Directory>     ? 1
                                    : std::is_same_v<T, FileContent> ? 2
                                                                     : 3;
  uintptr_t bits_ = 0;  // 0: nothing
};

class ViewNode final : public Node {
 public:
  enum class State : uint8_t {
    kUnloaded,  // only the id is known
    kLoaded,
    kGone,  // does not exist in this view (any more): ESTALE
  };

  ViewNode(NodeTable& table, NodeId id) : Node(id), table_(table) {}

  bool HasRecord() const { return static_cast<bool>(layer); }
  uint32_t type() const { return mode & S_IFMT; }
  bool IsDirectory() const { return type() == S_IFDIR; }
  bool IsRegular() const { return type() == S_IFREG; }

  Directory* directory() const { return part.Get<Directory>(); }
  FileContent* content() const { return part.Get<FileContent>(); }
  const std::string* target() const { return part.Get<std::string>(); }
  FileContent& NeedContent() {
    if (content() == nullptr) part = std::make_unique<FileContent>();
    return *content();
  }
  // References, but for those of pending batches.
  uint32_t users() const { return references_.load(std::memory_order_acquire) - pins.load(); }
  std::atomic<uint32_t> pins{0};

  // Guards everything below. Order: a directory before its children, a directory before a file
  // (docs/design/locking.md has the rest).
  mutable absl::Mutex mu;

  // First what every look at the node needs: it is found in memory far more often than changed.
  State state = State::kUnloaded;
  bool linkable = false;      // made without a name, and may get one
  bool anchored = false;      // its name is an entry of the layers', not only the base's
  bool has_original = false;  // a row keeps what the base had in its place (core/originals.cc)
  ContentKind kind = ContentKind::kNone;
  std::atomic<uint16_t> named{0};  // OpRecorder::generation, if the op log knows its name
  uint32_t mode = 0, uid = 0, gid = 0, nlink = 0;
  uint32_t rdev = 0;
  Timestamp atime, mtime, ctime, btime;
  uint64_t size = 0;
  uint64_t stored = 0;
  std::unique_ptr<BaseLink> base;
  LayerId layer;  // of the record that these values are; none: the base's, unchanged
  NodePart part;
  LayerId born;
  NodeId parent;  // a directory that names it; of a directory the one
  ContentId content_id;
  uint64_t batch = 0;        // the last batch that holds anything of this node
  Mutation* slot = nullptr;  // its record in that batch
  NodeXattrs xattrs;
  // Set once the node is unlinked while in use: the layers that have rows of it since.
  std::unique_ptr<std::vector<LayerId>> orphan_layers;

 protected:
  void ReleaseLast() override;

 private:
  friend class NodeTable;
  NodeTable& table_;
};

// Keeps a node in memory for a pending batch; does not count as a user.
class NodePin {
 public:
  explicit NodePin(ViewNode& node) : node_(&node) { node.pins.fetch_add(1); }
  NodePin(NodePin&& other) noexcept = default;
  NodePin& operator=(NodePin&&) = delete;
  ~NodePin() {
    if (node_) static_cast<ViewNode&>(*node_).pins.fetch_sub(1);
  }

 private:
  NodeRef node_;
};

inline ViewNode& AsViewNode(Node& node) { return static_cast<ViewNode&>(node); }

}  // namespace agentfs
