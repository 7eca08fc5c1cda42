// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/virtual_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/clock.h"

namespace agentfs::fuse {

// Kept as long as the tree: there is one for each part of a name that was ever looked up.
class VirtualTree::VirtualNode final : public Node {
 public:
  VirtualNode(NodeId id, What kind, std::string names)
      : Node(id), what(kind), prefix(std::move(names)) {}
  const What what;
  const std::string prefix;  // of the refs in it: "" or "team/"

 private:
  void ReleaseLast() override { references_.fetch_sub(1, std::memory_order_acq_rel); }
};

VirtualTree::VirtualTree(Layout layout, Volume* volume, uint32_t uid, uint32_t gid)
    : layout_(layout), volume_(volume), uid_(uid), gid_(gid), made_(Now()) {}

VirtualTree::~VirtualTree() = default;

NodeRef VirtualTree::NodeFor(What what, const std::string& prefix) {
  absl::MutexLock lock(&mu_);
  auto& node = nodes_[{what, prefix}];
  if (!node) node = std::make_unique<VirtualNode>(NodeId(nodes_.size()), what, prefix);
  return NodeRef(node.get());
}

bool VirtualTree::HasRefs(What what) {
  return what == What::kBranches || what == What::kHosts || what == What::kSnapshots;
}

NodeRef VirtualTree::Root() { return NodeFor(What::kRoot, ""); }

bool VirtualTree::IsControlFile(const Node& node) const {
  return static_cast<const VirtualNode&>(node).what == What::kControlFile;
}

bool VirtualTree::HasFixedName(const Node& node) const {
  return static_cast<const VirtualNode&>(node).prefix.empty();
}

bool VirtualTree::HasFixedAttributes(const Node& node) const {
  return !HasRefs(static_cast<const VirtualNode&>(node).what);
}

Attr VirtualTree::AttrOf(const VirtualNode& node) const {
  const bool file = node.what == What::kControlFile;
  Attr attr;
  attr.node = node.id();
  attr.mode = file ? S_IFREG | 0444 : S_IFDIR | 0555;
  attr.uid = uid_;
  attr.gid = gid_;
  attr.nlink = file ? 1 : 2;
  attr.atime = attr.mtime = attr.ctime = attr.btime = made_;
  // A directory of refs looks changed each time: the kernel keeps the listing of one that does not.
  if (HasRefs(node.what)) {
    attr.mtime = attr.ctime = Now();
  }
  return attr;
}

Found VirtualTree::FoundFor(What what, const std::string& prefix) {
  NodeRef node = NodeFor(what, prefix);
  const Attr attr = AttrOf(static_cast<const VirtualNode&>(*node));
  return {std::move(node), attr};
}

std::vector<std::string> VirtualTree::RefNames(What what) const {
  std::vector<std::string> names;
  if (volume_ == nullptr) return names;
  if (what == What::kBranches || what == What::kHosts) {
    for (BranchInfo& branch : volume_->ListBranches()) names.push_back(std::move(branch.name));
  } else if (what == What::kSnapshots) {
    for (SnapshotInfo& snapshot : volume_->ListSnapshots()) {
      names.push_back(std::move(snapshot.name));
    }
  }
  return names;
}

std::optional<Ref> VirtualTree::RefAt(Node& directory, std::string_view name) {
  const auto& node = static_cast<const VirtualNode&>(directory);
  if (!HasRefs(node.what)) return std::nullopt;
  const std::string full = node.prefix + std::string(name);
  const std::vector<std::string> names = RefNames(node.what);
  if (std::find(names.begin(), names.end(), full) == names.end()) return std::nullopt;
  if (node.what == What::kBranches) return Ref{Ref::Kind::kBranch, full};
  return Ref{node.what == What::kHosts ? Ref::Kind::kHost : Ref::Kind::kSnapshot, full};
}

// What is listed in a directory, without "." and "..", by name.
std::vector<std::pair<std::string, VirtualTree::What>> VirtualTree::Children(
    const VirtualNode& node) const {
  if (node.what == What::kControlFile) return {};
  if (node.what == What::kRoot) {
    if (layout_ == Layout::kControl) {
      return {{"control", What::kControlFile}, {"snapshots", What::kSnapshots}};
    }
    return {{"branches", What::kBranches}, {"host", What::kHosts}, {"snapshots", What::kSnapshots}};
  }
  std::set<std::string> parts;
  for (const std::string& name : RefNames(node.what)) {
    if (!name.starts_with(node.prefix)) continue;
    const std::string rest = name.substr(node.prefix.size());
    parts.insert(rest.substr(0, rest.find('/')));
  }
  std::vector<std::pair<std::string, What>> children;
  for (const std::string& part : parts) children.emplace_back(part, node.what);
  return children;
}

Result<Found> VirtualTree::Lookup(const Caller&, Node& parent, std::string_view name) {
  const auto& directory = static_cast<const VirtualNode&>(parent);
  if (directory.what == What::kControlFile) return Error(ENOTDIR);
  for (const auto& [child, what] : Children(directory)) {
    if (child != name) continue;
    if (directory.what == What::kRoot) return FoundFor(what, "");
    return FoundFor(what, directory.prefix + child + "/");
  }
  return Error(ENOENT);
}

Result<void> VirtualTree::ReadDirectory(const Caller&, Node& node, uint64_t cursor,
                                        const DirVisitor& visit) {
  const auto& directory = static_cast<const VirtualNode&>(node);
  if (directory.what == What::kControlFile) return Error(ENOTDIR);
  uint64_t position = 0;  // cursors are odd, as a view's
  for (const auto& [name, what] : Children(directory)) {
    const uint64_t at = 2 * position++ + 1;
    if (at <= cursor) continue;
    const uint32_t type = what == What::kControlFile ? S_IFREG : S_IFDIR;
    if (visit({name, NodeId(at), type, at}) == Visit::kStop) break;
  }
  return Ok();
}

Result<Attr> VirtualTree::GetAttr(Node& node) {
  return AttrOf(static_cast<const VirtualNode&>(node));
}

Result<void> VirtualTree::Access(const Caller&, Node&, int) { return Ok(); }
Result<FsStats> VirtualTree::StatFs() { return FsStats(); }

// ---- what cannot be done

Result<Found> VirtualTree::Create(const Caller&, Node&, std::string_view, uint32_t) {
  return Error(EPERM);
}
Result<Found> VirtualTree::MakeDirectory(const Caller&, Node&, std::string_view, uint32_t) {
  return Error(EPERM);
}
Result<Found> VirtualTree::MakeNode(const Caller&, Node&, std::string_view, uint32_t, uint64_t) {
  return Error(EPERM);
}
Result<Found> VirtualTree::MakeSymlink(const Caller&, Node&, std::string_view, std::string_view) {
  return Error(EPERM);
}
Result<Found> VirtualTree::CreateUnnamed(const Caller&, Node&, uint32_t) { return Error(EPERM); }
Result<Attr> VirtualTree::Link(const Caller&, Node&, Node&, std::string_view) {
  return Error(EPERM);
}
Result<void> VirtualTree::Unlink(const Caller&, Node&, std::string_view) { return Error(EPERM); }
Result<void> VirtualTree::RemoveDirectory(const Caller&, Node&, std::string_view) {
  return Error(EPERM);
}
Result<void> VirtualTree::Rename(const Caller&, Node&, std::string_view, Node&, std::string_view,
                                 RenameMode) {
  return Error(EPERM);
}
Result<Attr> VirtualTree::SetAttr(const Caller&, Node&, const AttrChange&) { return Error(EPERM); }
Result<void> VirtualTree::SetXattr(const Caller&, Node&, std::string_view, std::string_view,
                                   XattrMode) {
  return Error(EPERM);
}
Result<void> VirtualTree::RemoveXattr(const Caller&, Node&, std::string_view) {
  return Error(EPERM);
}
Result<size_t> VirtualTree::Write(const Caller&, Node&, uint64_t, std::span<const char>) {
  return Error(EPERM);
}
Result<uint64_t> VirtualTree::Append(const Caller&, Node&, std::span<const char>) {
  return Error(EPERM);
}
Result<void> VirtualTree::Allocate(const Caller&, Node&, AllocateMode, uint64_t, uint64_t) {
  return Error(EPERM);
}
Result<uint64_t> VirtualTree::CopyRange(const Caller&, Node&, uint64_t, Node&, uint64_t, uint64_t) {
  return Error(EPERM);
}

// ---- what is not there

Result<NodeRef> VirtualTree::GetNode(NodeId, const std::string&) { return Error(ENOENT); }
Result<Named> VirtualTree::NameOf(Node&) { return Error(ENOENT); }
Result<std::string> VirtualTree::PathOf(Node&) { return Error(ENOENT); }
Result<std::string> VirtualTree::ReadLink(const Caller&, Node&) { return Error(EINVAL); }
Result<void> VirtualTree::ReadDirectoryPlus(const Caller&, Node&, uint64_t, const DirAttrVisitor&) {
  return Error(ENOSYS);  // its entries are looked up one by one, each time
}
Result<std::string> VirtualTree::GetXattr(const Caller&, Node&, std::string_view) {
  return Error(ENODATA);
}
Result<std::vector<std::string>> VirtualTree::ListXattrs(const Caller&, Node&) {
  return std::vector<std::string>();
}
Result<uint64_t> VirtualTree::Seek(Node&, uint64_t, SeekTarget) { return Error(ENXIO); }

}  // namespace agentfs::fuse
