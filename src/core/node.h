// SPDX-License-Identifier: Apache-2.0
//
// A node of a view in memory: the visible version of its record, and what hangs on it (directory,
// content, link target, extended attributes), loaded when first needed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>
#include <sys/stat.h>

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
};

using XattrMap = std::map<std::string, Buffer, std::less<>>;

class ViewNode final : public Node {
 public:
  enum class State : uint8_t {
    kUnloaded,  // only the id is known
    kLoaded,
    kGone,      // does not exist in this view (any more): ESTALE
  };

  ViewNode(NodeTable& table, NodeId id) : Node(id), table_(table) {}

  bool HasRecord() const { return static_cast<bool>(layer); }
  uint32_t type() const { return mode & S_IFMT; }
  bool IsDirectory() const { return type() == S_IFDIR; }
  bool IsRegular() const { return type() == S_IFREG; }

  Directory* directory() const { return Part<Directory>(); }
  FileContent* content() const { return Part<FileContent>(); }
  const std::string* target() const { return Part<std::string>(); }
  FileContent& NeedContent() {
    if (content() == nullptr) part = std::make_unique<FileContent>();
    return *content();
  }
  // References, but for those of pending batches.
  uint32_t users() const { return references_.load(std::memory_order_acquire) - pins.load(); }
  std::atomic<uint32_t> pins{0};

  // Guards everything below. Order: a directory before its children; two directories as
  // LockPair does (docs/design/locking.md).
  mutable absl::Mutex mu;

  State state = State::kUnloaded;
  bool linkable = false;        // made without a name, and may get one
  ContentKind kind = ContentKind::kNone;
  uint32_t mode = 0, uid = 0, gid = 0, nlink = 0;
  uint32_t rdev = 0;
  Timestamp atime, mtime, ctime, btime;
  uint64_t size = 0;
  uint64_t stored = 0;
  LayerId layer;                // of the record that these values are; none: the base's, unchanged
  LayerId born;
  NodeId parent;                // a directory that names it; of a directory the one
  ContentId content_id;
  uint64_t batch = 0;           // the last batch that holds anything of this node
  Mutation* slot = nullptr;     // its record in that batch
  std::unique_ptr<BaseLink> base;
  std::variant<std::monostate, std::unique_ptr<Directory>, std::unique_ptr<FileContent>,
               std::unique_ptr<std::string>>
      part;
  std::unique_ptr<XattrMap> xattrs;  // null: not loaded
  // Set once the node is unlinked while in use: the layers that have rows of it since.
  std::unique_ptr<std::vector<LayerId>> orphan_layers;

 protected:
  void ReleaseLast() override;

 private:
  friend class NodeTable;
  template <typename T>
  T* Part() const {
    auto* held = std::get_if<std::unique_ptr<T>>(&part);
    return held ? held->get() : nullptr;
  }

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
