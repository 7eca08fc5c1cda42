// SPDX-License-Identifier: Apache-2.0
//
// Directories that no view has: the control directory (.agentfs) of a view, and the root of a
// session that shows every branch and snapshot.
//
//   kControl: snapshots/NAME, control        kSession: branches/NAME, host/NAME, snapshots/NAME
//
// host/NAME is what the branch NAME has of the host outside of the workspace.
//
// A name with '/' is a directory for each part. What NAME stands for is another filesystem: RefAt
// says which, and whoever looks up goes on there. The volume is asked each time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/filesystem.h"
#include "agentfs/volume.h"

namespace agentfs::fuse {

struct Ref {
  enum class Kind : uint8_t { kBranch, kHost, kSnapshot };
  Kind kind;
  std::string name;
};

// Read-only. Thread-safe.
class VirtualTree final : public FileSystem {
 public:
  enum class Layout : uint8_t { kControl, kSession };
  // The volume outlives it; null: no snapshots. Everything belongs to `uid` and `gid`.
  VirtualTree(Layout layout, Volume* volume, uint32_t uid, uint32_t gid);
  ~VirtualTree() override;

  // The branch or snapshot that `name` in `directory` is, if it is one.
  std::optional<Ref> RefAt(Node& directory, std::string_view name);
  bool IsControlFile(const Node& node) const;
  // Always at its name, like the directories of the root.
  bool HasFixedName(const Node& node) const;
  // Unlike a directory of refs.
  bool HasFixedAttributes(const Node& node) const;

  NodeRef Root() override;
  Result<Found> Lookup(const Caller&, Node& parent, std::string_view name) override;
  Result<void> ReadDirectory(const Caller&, Node& node, uint64_t cursor,
                             const DirVisitor& visit) override;
  Result<Attr> GetAttr(Node& node) override;
  Result<void> Access(const Caller&, Node& node, int mask) override;
  Result<FsStats> StatFs() override;

  // ---- nothing can be changed: EPERM
  Result<Found> Create(const Caller&, Node&, std::string_view, uint32_t) override;
  Result<Found> MakeDirectory(const Caller&, Node&, std::string_view, uint32_t) override;
  Result<Found> MakeNode(const Caller&, Node&, std::string_view, uint32_t, uint64_t) override;
  Result<Found> MakeSymlink(const Caller&, Node&, std::string_view, std::string_view) override;
  Result<Found> CreateUnnamed(const Caller&, Node&, uint32_t) override;
  Result<Attr> Link(const Caller&, Node&, Node&, std::string_view) override;
  Result<void> Unlink(const Caller&, Node&, std::string_view) override;
  Result<void> RemoveDirectory(const Caller&, Node&, std::string_view) override;
  Result<void> Rename(const Caller&, Node&, std::string_view, Node&, std::string_view,
                      RenameMode) override;
  Result<Attr> SetAttr(const Caller&, Node&, const AttrChange&) override;
  Result<void> SetXattr(const Caller&, Node&, std::string_view, std::string_view,
                        XattrMode) override;
  Result<void> RemoveXattr(const Caller&, Node&, std::string_view) override;
  Result<size_t> Write(const Caller&, Node&, uint64_t, std::span<const char>) override;
  Result<uint64_t> Append(const Caller&, Node&, std::span<const char>) override;
  Result<void> Allocate(const Caller&, Node&, AllocateMode, uint64_t, uint64_t) override;
  Result<uint64_t> CopyRange(const Caller&, Node&, uint64_t, Node&, uint64_t, uint64_t) override;

  // ---- and there is nothing more to see
  NodeRef FindNode(NodeId) override { return {}; }
  Result<NodeRef> GetNode(NodeId, const std::string&) override;
  Result<Named> NameOf(Node&) override;
  Result<std::string> PathOf(Node&) override;
  Result<std::string> ReadLink(const Caller&, Node&) override;
  Result<void> ReadDirectoryPlus(const Caller&, Node&, uint64_t, const DirAttrVisitor&) override;
  Result<std::string> GetXattr(const Caller&, Node&, std::string_view) override;
  Result<std::vector<std::string>> ListXattrs(const Caller&, Node&) override;
  Result<void> Open(const Caller&, Node&, int) override { return Ok(); }
  Result<size_t> Read(Node&, uint64_t, std::span<char>) override { return size_t{0}; }
  Result<uint64_t> Seek(Node&, uint64_t, SeekTarget) override;
  Result<void> Sync(Node&) override { return Ok(); }
  void AddObserver(ChangeObserver&) override {}
  void RemoveObserver(ChangeObserver&) override {}
  bool ObserversHearAll() const override { return false; }

 private:
  class VirtualNode;
  enum class What : uint8_t { kRoot, kBranches, kHosts, kSnapshots, kControlFile };
  static bool HasRefs(What what);

  // The node for a directory of refs whose names start with `prefix`; made when first asked for.
  NodeRef NodeFor(What what, const std::string& prefix) ABSL_LOCKS_EXCLUDED(mu_);
  Found FoundFor(What what, const std::string& prefix);
  Attr AttrOf(const VirtualNode& node) const;
  std::vector<std::string> RefNames(What what) const;
  std::vector<std::pair<std::string, What>> Children(const VirtualNode& node) const;

  const Layout layout_;
  Volume* const volume_;
  const uint32_t uid_, gid_;
  const Timestamp made_;
  absl::Mutex mu_;
  std::map<std::pair<What, std::string>, std::unique_ptr<VirtualNode>> nodes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs::fuse
