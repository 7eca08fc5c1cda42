// SPDX-License-Identifier: Apache-2.0
#include "fake_fs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "agentfs/path.h"

namespace agentfs::testing {

constexpr uint64_t kBlock = 4096;

class FakeNode : public Node {
 public:
  explicit FakeNode(NodeId id) : Node(id) {}
  ~FakeNode() override = default;
  void ReleaseLast() override { references_.fetch_sub(1); }

  bool is_directory() const { return S_ISDIR(attr.mode); }

  Attr attr;
  FakeNode* up = nullptr;
  std::map<std::string, FakeNode*, std::less<>> children;
  std::map<std::string, std::string, std::less<>> xattrs;
  std::map<uint64_t, std::array<char, kBlock>> blocks;
  std::string target;
};

namespace {
FakeNode& Cast(Node& node) { return static_cast<FakeNode&>(node); }
using Lock = std::lock_guard<std::recursive_mutex>;
}  // namespace

FakeFs::FakeFs() {
  FakeNode* root = NewNode({}, S_IFDIR | 0755);
  root->up = root;
}
FakeFs::~FakeFs() = default;

void FakeFs::FailChange(uint64_t count, int code) {
  fail_at_ = changes_ + count;
  fail_code_ = code;
}

Result<void> FakeFs::BeginChange() {
  if (++changes_ == fail_at_) return Error(fail_code_);
  return Ok();
}

FakeNode* FakeFs::NewNode(const Caller& caller, uint32_t mode) {
  nodes_.push_back(std::make_unique<FakeNode>(NodeId(nodes_.size() + 1)));
  FakeNode* node = nodes_.back().get();
  node->attr.node = node->id();
  node->attr.mode = mode;
  node->attr.uid = caller.uid;
  node->attr.gid = caller.gid;
  node->attr.nlink = S_ISDIR(mode) ? 2 : 1;
  Touch(*node);
  node->attr.atime = node->attr.mtime;
  return node;
}

void FakeFs::Touch(FakeNode& node) {
  clock_ += 1001;
  node.attr.mtime = node.attr.ctime = {static_cast<int64_t>(clock_ / 1'000'000'000),
                                       static_cast<uint32_t>(clock_ % 1'000'000'000)};
}

void FakeFs::Drop(FakeNode& node) {
  if (--node.attr.nlink == 0) bytes_ -= node.blocks.size() * kBlock;
}

NodeRef FakeFs::Root() { return NodeRef(nodes_[0].get()); }

Result<void> FakeFs::Permit(const Caller& caller, const FakeNode& node, int mask) {
  if (caller.uid == 0) return Ok();
  uint32_t bits = node.attr.mode;
  if (caller.uid == node.attr.uid) {
    bits >>= 6;
  } else if (caller.InGroup(node.attr.gid)) {
    bits >>= 3;
  }
  if ((bits & static_cast<uint32_t>(mask)) == static_cast<uint32_t>(mask)) return Ok();
  return Error(EACCES);
}

Result<FakeNode*> FakeFs::Child(const Caller& caller, Node& parent, std::string_view name) {
  FakeNode& directory = Cast(parent);
  if (!directory.is_directory()) return Error(ENOTDIR);
  AGENTFS_TRY(Permit(caller, directory, X_OK));
  if (name == ".") return &directory;
  if (name == "..") return directory.up;
  if (int bad = CheckName(name)) return Error(bad);
  auto child = directory.children.find(name);
  if (child == directory.children.end()) return Error(ENOENT);
  return child->second;
}

Result<Found> FakeFs::Lookup(const Caller& caller, Node& parent, std::string_view name) {
  Lock lock(mutex_);
  AGENTFS_ASSIGN(FakeNode * child, Child(caller, parent, name));
  return Found{NodeRef(child), child->attr};
}

Result<void> FakeFs::CheckFree(const Caller& caller, FakeNode& parent, std::string_view name) {
  Result<FakeNode*> child = Child(caller, parent, name);
  if (child.ok()) return Error(EEXIST);
  if (child.code() != ENOENT) return std::move(child).error();
  if (parent.attr.nlink == 0) return Error(ENOENT);
  return Permit(caller, parent, W_OK);
}

Result<Found> FakeFs::Add(const Caller& caller, Node& parent, std::string_view name,
                          uint32_t mode) {
  FakeNode& directory = Cast(parent);
  AGENTFS_TRY(CheckFree(caller, directory, name));
  AGENTFS_TRY(BeginChange());
  FakeNode* node = NewNode(caller, mode);
  if (node->is_directory()) {
    node->up = &directory;
    ++directory.attr.nlink;
  }
  directory.children.emplace(name, node);
  Touch(directory);
  return Found{NodeRef(node), node->attr};
}

Result<Found> FakeFs::Create(const Caller& caller, Node& parent, std::string_view name,
                             uint32_t mode) {
  Lock lock(mutex_);
  return Add(caller, parent, name, S_IFREG | (mode & ~caller.umask));
}

Result<Found> FakeFs::MakeDirectory(const Caller& caller, Node& parent, std::string_view name,
                                    uint32_t mode) {
  Lock lock(mutex_);
  return Add(caller, parent, name, S_IFDIR | (mode & ~caller.umask));
}

Result<Found> FakeFs::MakeNode(const Caller& caller, Node& parent, std::string_view name,
                               uint32_t mode, uint64_t rdev) {
  Lock lock(mutex_);
  if (caller.uid != 0 && (S_ISCHR(mode) || S_ISBLK(mode))) return Error(EPERM);
  AGENTFS_ASSIGN(Found found, Add(caller, parent, name, mode & ~caller.umask));
  found.attr.rdev = Cast(*found.node).attr.rdev = rdev;
  return found;
}

Result<Found> FakeFs::MakeSymlink(const Caller& caller, Node& parent, std::string_view name,
                                  std::string_view target) {
  Lock lock(mutex_);
  if (target.empty()) return Error(ENOENT);
  if (target.size() > 4095) return Error(ENAMETOOLONG);
  AGENTFS_ASSIGN(Found found, Add(caller, parent, name, S_IFLNK | 0777));
  FakeNode& node = Cast(*found.node);
  node.target = target;
  found.attr.size = node.attr.size = target.size();
  return found;
}

Result<Found> FakeFs::CreateUnnamed(const Caller& caller, Node&, uint32_t mode) {
  Lock lock(mutex_);
  AGENTFS_TRY(BeginChange());
  FakeNode* node = NewNode(caller, S_IFREG | (mode & ~caller.umask));
  node->attr.nlink = 0;
  return Found{NodeRef(node), node->attr};
}

Result<Attr> FakeFs::Link(const Caller& caller, Node& node, Node& parent, std::string_view name) {
  Lock lock(mutex_);
  FakeNode& linked = Cast(node);
  if (linked.is_directory()) return Error(EPERM);
  AGENTFS_TRY(CheckFree(caller, Cast(parent), name));
  AGENTFS_TRY(BeginChange());
  ++linked.attr.nlink;
  Cast(parent).children.emplace(name, &linked);
  Touch(Cast(parent));
  return linked.attr;
}

Result<void> FakeFs::Unlink(const Caller& caller, Node& parent, std::string_view name) {
  Lock lock(mutex_);
  AGENTFS_ASSIGN(FakeNode * child, Child(caller, parent, name));
  AGENTFS_TRY(Permit(caller, Cast(parent), W_OK));
  if (child->is_directory()) return Error(EISDIR);
  AGENTFS_TRY(BeginChange());
  Cast(parent).children.erase(std::string(name));
  Touch(Cast(parent));
  Drop(*child);
  return Ok();
}

Result<void> FakeFs::RemoveDirectory(const Caller& caller, Node& parent, std::string_view name) {
  Lock lock(mutex_);
  AGENTFS_ASSIGN(FakeNode * child, Child(caller, parent, name));
  AGENTFS_TRY(Permit(caller, Cast(parent), W_OK));
  if (!child->is_directory()) return Error(ENOTDIR);
  if (!child->children.empty()) return Error(ENOTEMPTY);
  AGENTFS_TRY(BeginChange());
  Cast(parent).children.erase(std::string(name));
  --Cast(parent).attr.nlink;
  Touch(Cast(parent));
  child->attr.nlink = 0;
  return Ok();
}

Result<void> FakeFs::Rename(const Caller& caller, Node& parent, std::string_view name,
                            Node& new_parent, std::string_view new_name, RenameMode mode) {
  Lock lock(mutex_);
  FakeNode &from = Cast(parent), &to = Cast(new_parent);
  AGENTFS_ASSIGN(FakeNode * node, Child(caller, parent, name));
  Result<FakeNode*> old = Child(caller, new_parent, new_name);
  if (!old.ok() && old.code() != ENOENT) return std::move(old).error();
  AGENTFS_TRY(Permit(caller, from, W_OK));
  AGENTFS_TRY(Permit(caller, to, W_OK));
  for (FakeNode* up = &to; up != up->up; up = up->up) {
    if (up == node) return Error(EINVAL);
  }
  if (mode == RenameMode::kNoReplace && old.ok()) return Error(EEXIST);
  if (mode == RenameMode::kExchange && !old.ok()) return Error(ENOENT);
  if (old.ok() && *old == node) return Ok();
  if (mode == RenameMode::kReplace && old.ok()) {
    if ((*old)->is_directory() && !node->is_directory()) return Error(EISDIR);
    if (!(*old)->is_directory() && node->is_directory()) return Error(ENOTDIR);
    if (!(*old)->children.empty()) return Error(ENOTEMPTY);
  }
  AGENTFS_TRY(BeginChange());
  auto move_up = [](FakeNode& moved, FakeNode& from_parent, FakeNode& to_parent) {
    if (!moved.is_directory()) return;
    moved.up = &to_parent;
    --from_parent.attr.nlink;
    ++to_parent.attr.nlink;
  };
  from.children.erase(std::string(name));
  to.children[std::string(new_name)] = node;
  move_up(*node, from, to);
  if (mode == RenameMode::kExchange) {
    from.children[std::string(name)] = *old;
    move_up(**old, to, from);
  } else if (old.ok()) {
    if ((*old)->is_directory()) {
      --to.attr.nlink;
      (*old)->attr.nlink = 0;
    } else {
      Drop(**old);
    }
  }
  Touch(from);
  Touch(to);
  return Ok();
}

Result<std::string> FakeFs::ReadLink(const Caller&, Node& node) {
  Lock lock(mutex_);
  if (!S_ISLNK(Cast(node).attr.mode)) return Error(EINVAL);
  return Cast(node).target;
}

Result<void> FakeFs::ReadDirectoryPlus(const Caller&, Node& node, uint64_t cursor,
                                       const DirAttrVisitor& visit) {
  Lock lock(mutex_);
  if (!Cast(node).is_directory()) return Error(ENOTDIR);
  uint64_t at = 0;
  for (const auto& [name, child] : Cast(node).children) {
    if (++at <= cursor) continue;
    DirEntry entry{name, child->id(), child->attr.mode & S_IFMT, at};
    if (visit(entry, {NodeRef(child), child->attr}) == Visit::kStop) break;
  }
  return Ok();
}

Result<void> FakeFs::ReadDirectory(const Caller& caller, Node& node, uint64_t cursor,
                                   const DirVisitor& visit) {
  return ReadDirectoryPlus(caller, node, cursor,
                           [&](const DirEntry& entry, const Found&) { return visit(entry); });
}

Result<Attr> FakeFs::GetAttr(Node& node) {
  Lock lock(mutex_);
  return Cast(node).attr;
}

Result<Attr> FakeFs::SetAttr(const Caller& caller, Node& node, const AttrChange& change) {
  Lock lock(mutex_);
  FakeNode& changed = Cast(node);
  if (caller.uid != 0) {
    bool owner_change = change.mode || change.atime || change.mtime;
    if (owner_change && caller.uid != changed.attr.uid) return Error(EPERM);
    if (change.uid || change.gid) return Error(EPERM);
  }
  AGENTFS_TRY(BeginChange());
  if (change.uid) changed.attr.uid = *change.uid;
  if (change.gid) changed.attr.gid = *change.gid;
  if (change.mode) changed.attr.mode = (changed.attr.mode & S_IFMT) | *change.mode;
  if (change.size) {
    auto behind = changed.blocks.lower_bound((*change.size + kBlock - 1) / kBlock);
    bytes_ -= static_cast<uint64_t>(std::distance(behind, changed.blocks.end())) * kBlock;
    changed.blocks.erase(behind, changed.blocks.end());
    auto last = changed.blocks.find(*change.size / kBlock);
    if (last != changed.blocks.end()) {
      uint64_t keep = *change.size % kBlock;
      std::memset(last->second.data() + keep, 0, kBlock - keep);
    }
    changed.attr.size = *change.size;
    Touch(changed);
  }
  if (change.atime) changed.attr.atime = *change.atime;
  if (change.mtime) changed.attr.mtime = *change.mtime;
  return changed.attr;
}

Result<void> FakeFs::Access(const Caller& caller, Node& node, int mask) {
  Lock lock(mutex_);
  return Permit(caller, Cast(node), mask);
}

Result<std::string> FakeFs::GetXattr(const Caller&, Node& node, std::string_view name) {
  Lock lock(mutex_);
  auto found = Cast(node).xattrs.find(name);
  if (found == Cast(node).xattrs.end()) return Error(ENODATA);
  return found->second;
}

Result<std::vector<std::string>> FakeFs::ListXattrs(const Caller&, Node& node) {
  Lock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, value] : Cast(node).xattrs) names.push_back(name);
  return names;
}

Result<void> FakeFs::SetXattr(const Caller& caller, Node& node, std::string_view name,
                              std::string_view value, XattrMode mode) {
  Lock lock(mutex_);
  if (name.starts_with("trusted.") && caller.uid != 0) return Error(EPERM);
  if (name.find('.') == std::string_view::npos) return Error(EOPNOTSUPP);
  bool exists = Cast(node).xattrs.contains(name);
  if (mode == XattrMode::kCreate && exists) return Error(EEXIST);
  if (mode == XattrMode::kReplace && !exists) return Error(ENODATA);
  AGENTFS_TRY(BeginChange());
  Cast(node).xattrs[std::string(name)] = value;
  return Ok();
}

Result<void> FakeFs::RemoveXattr(const Caller&, Node& node, std::string_view name) {
  Lock lock(mutex_);
  AGENTFS_TRY(BeginChange());
  if (Cast(node).xattrs.erase(std::string(name)) == 0) return Error(ENODATA);
  return Ok();
}

Result<void> FakeFs::Open(const Caller& caller, Node& node, int flags) {
  Lock lock(mutex_);
  int access = flags & O_ACCMODE;
  int mask = access == O_RDONLY ? R_OK : access == O_WRONLY ? W_OK : R_OK | W_OK;
  AGENTFS_TRY(Permit(caller, Cast(node), mask));
  if (!(flags & O_TRUNC)) return Ok();
  AttrChange empty;
  empty.size = 0;
  AGENTFS_TRY(SetAttr(caller, node, empty));
  return Ok();
}

Result<size_t> FakeFs::Read(Node& node, uint64_t offset, std::span<char> out) {
  Lock lock(mutex_);
  FakeNode& file = Cast(node);
  if (offset >= file.attr.size) return size_t{0};
  size_t size = std::min<uint64_t>(out.size(), file.attr.size - offset);
  for (size_t done = 0; done < size;) {
    uint64_t at = offset + done;
    size_t step = std::min<uint64_t>(size - done, kBlock - at % kBlock);
    auto block = file.blocks.find(at / kBlock);
    if (block == file.blocks.end()) {
      std::memset(out.data() + done, 0, step);
    } else {
      std::memcpy(out.data() + done, block->second.data() + at % kBlock, step);
    }
    done += step;
  }
  return size;
}

Result<size_t> FakeFs::Write(const Caller&, Node& node, uint64_t offset,
                             std::span<const char> data) {
  Lock lock(mutex_);
  FakeNode& file = Cast(node);
  if (offset + data.size() > uint64_t{INT64_MAX}) return Error(EFBIG);
  if (bytes_ + data.size() > max_bytes_) return Error(ENOSPC);
  AGENTFS_TRY(BeginChange());
  for (size_t done = 0; done < data.size();) {
    uint64_t at = offset + done;
    size_t step = std::min<uint64_t>(data.size() - done, kBlock - at % kBlock);
    auto [block, is_new] = file.blocks.try_emplace(at / kBlock);
    if (is_new) {
      block->second.fill(0);
      bytes_ += kBlock;
    }
    std::memcpy(block->second.data() + at % kBlock, data.data() + done, step);
    done += step;
  }
  file.attr.size = std::max(file.attr.size, offset + data.size());
  Touch(file);
  return data.size();
}

Result<uint64_t> FakeFs::Append(const Caller& caller, Node& node, std::span<const char> data) {
  Lock lock(mutex_);
  uint64_t at = Cast(node).attr.size;
  AGENTFS_TRY(Write(caller, node, at, data));
  return at;
}

Result<void> FakeFs::Allocate(const Caller&, Node&, AllocateMode, uint64_t, uint64_t) {
  return Error(EOPNOTSUPP);
}

Result<uint64_t> FakeFs::Seek(Node& node, uint64_t offset, SeekTarget target) {
  Lock lock(mutex_);
  FakeNode& file = Cast(node);
  if (offset >= file.attr.size) return Error(ENXIO);
  bool want_data = target == SeekTarget::kData;
  if (want_data) {
    auto next = file.blocks.lower_bound(offset / kBlock);
    if (next == file.blocks.end()) return Error(ENXIO);
    return std::max(offset, next->first * kBlock);
  }
  while (offset < file.attr.size && file.blocks.contains(offset / kBlock)) {
    offset = (offset / kBlock + 1) * kBlock;
  }
  return std::min(offset, file.attr.size);
}

Result<uint64_t> FakeFs::CopyRange(const Caller& caller, Node& source, uint64_t source_offset,
                                   Node& target, uint64_t target_offset, uint64_t length) {
  std::string bytes(std::min<uint64_t>(length, 1 << 20), '\0');
  AGENTFS_ASSIGN(size_t got, Read(source, source_offset, bytes));
  return Write(caller, target, target_offset, std::span(bytes).first(got));
}

Result<void> FakeFs::Sync(Node&) { return Ok(); }
Result<FsStats> FakeFs::StatFs() { return FsStats{}; }

}  // namespace agentfs::testing
