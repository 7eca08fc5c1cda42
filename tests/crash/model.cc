// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

namespace agentfs::crash {
namespace {

using Kind = Operation::Kind;

constexpr size_t kInlineLimit = 64 * 1024;

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// Applies operations to one tree.
class Editor {
 public:
  Editor(Tree* tree, uint64_t* next_inode, LargeContent large)
      : tree_(*tree), next_inode_(*next_inode), large_(large) {}

  int Apply(const Operation& operation);

 private:
  bool HasParent(const std::string& path) const {
    const std::string parent = ParentOf(path);
    return parent.empty() || tree_.names.contains(parent);
  }
  bool Exists(const std::string& path) const { return tree_.names.contains(path); }
  bool IsEmpty(const std::string& directory) const {
    auto it = tree_.names.upper_bound(directory + "/");
    return it == tree_.names.end() || !it->first.starts_with(directory + "/");
  }
  int Make(const std::string& path, uint32_t mode, std::string content);
  int Change(const std::string& path, const std::function<int(Inode*)>& change);
  int ChangeContent(const Operation& operation, std::string* content) const;
  int Remove(const std::string& path);
  void Forget(uint64_t inode) {
    if (tree_.Links(inode) == 0) tree_.inodes.erase(inode);
  }
  int Rename(const std::string& from, const std::string& to);
  void MoveBelow(const std::string& from, const std::string& to);
  int Exchange(const std::string& a, const std::string& b);
  int Link(const std::string& from, const std::string& to);

  Tree& tree_;
  uint64_t& next_inode_;
  const LargeContent large_;
};

int Editor::Make(const std::string& path, uint32_t mode, std::string content) {
  if (!HasParent(path)) return ENOENT;
  if (Exists(path)) return EEXIST;
  auto inode = std::make_shared<Inode>();
  inode->mode = mode;
  inode->content = std::move(content);
  tree_.names[path] = next_inode_;
  tree_.inodes[next_inode_++] = std::move(inode);
  return 0;
}

int Editor::Change(const std::string& path, const std::function<int(Inode*)>& change) {
  auto it = tree_.names.find(path);
  if (it == tree_.names.end()) return ENOENT;
  auto inode = std::make_shared<Inode>(*tree_.inodes[it->second]);
  if (const int code = change(inode.get()); code != 0) return code;
  if (inode->content.size() > kInlineLimit && large_ == LargeContent::kInObjects) {
    inode->in_object = true;
  }
  tree_.inodes[it->second] = std::move(inode);
  return 0;
}

int Editor::ChangeContent(const Operation& operation, std::string* content) const {
  const std::string data = operation.Data();
  switch (operation.kind) {
    case Kind::kWrite:
      content->resize(std::max<size_t>(content->size(), operation.offset + data.size()));
      content->replace(operation.offset, data.size(), data);
      break;
    case Kind::kAppend:
      content->append(data);
      break;
    case Kind::kTruncate:
      content->resize(operation.offset);
      break;
    default: {  // a hole
      const size_t end = std::min<size_t>(content->size(), operation.offset + operation.length);
      if (operation.offset < end) {
        std::fill(content->begin() + static_cast<ptrdiff_t>(operation.offset),
                  content->begin() + static_cast<ptrdiff_t>(end), '\0');
      }
    }
  }
  return 0;
}

int Editor::Remove(const std::string& path) {
  auto it = tree_.names.find(path);
  if (it == tree_.names.end()) return ENOENT;
  const uint64_t inode = it->second;
  tree_.names.erase(it);
  Forget(inode);
  return 0;
}

void Editor::MoveBelow(const std::string& from, const std::string& to) {
  std::map<std::string, uint64_t> moved;
  for (auto it = tree_.names.begin(); it != tree_.names.end();) {
    if (it->first == from || it->first.starts_with(from + "/")) {
      moved[to + it->first.substr(from.size())] = it->second;
      it = tree_.names.erase(it);
    } else {
      ++it;
    }
  }
  tree_.names.merge(moved);
}

int Editor::Rename(const std::string& from, const std::string& to) {
  if (!HasParent(from) || !HasParent(to) || !Exists(from)) return ENOENT;
  if (from == to) return 0;
  if (to.starts_with(from + "/")) return EINVAL;
  if (from.starts_with(to + "/")) return ENOTEMPTY;
  if (auto target = tree_.names.find(to); target != tree_.names.end()) {
    const uint64_t inode = target->second;
    if (inode == tree_.names[from]) return 0;
    if (S_ISDIR(tree_.inodes[inode]->mode) && !IsEmpty(to)) return ENOTEMPTY;
    tree_.names.erase(target);
    Forget(inode);
  }
  MoveBelow(from, to);
  return 0;
}

int Editor::Exchange(const std::string& a, const std::string& b) {
  if (!Exists(a) || !Exists(b)) return ENOENT;
  std::swap(tree_.names[a], tree_.names[b]);
  return 0;
}

int Editor::Link(const std::string& from, const std::string& to) {
  if (!Exists(from) || !HasParent(to)) return ENOENT;
  if (Exists(to)) return EEXIST;
  tree_.names[to] = tree_.names[from];
  return 0;
}

int Editor::Apply(const Operation& operation) {
  const std::string& path = operation.path;
  switch (operation.kind) {
    case Kind::kCreate:
      return Make(path, S_IFREG | 0644, "");
    case Kind::kMakeDirectory:
      return Make(path, S_IFDIR | 0755, "");
    case Kind::kSymlink:
      return Make(path, S_IFLNK | 0777, "to/" + std::to_string(operation.number));
    case Kind::kWrite:
    case Kind::kAppend:
    case Kind::kTruncate:
    case Kind::kPunch:
      return Change(path, [&](Inode* i) { return ChangeContent(operation, &i->content); });
    case Kind::kChmod:
      return Change(path, [&](Inode* i) {
        i->mode = (i->mode & S_IFMT) | (operation.number & 0777);
        return 0;
      });
    case Kind::kSetXattr:
      return Change(path, [&](Inode* i) {
        i->xattrs["user.x" + std::to_string(operation.number % 3)] =
            std::to_string(operation.number);
        return 0;
      });
    case Kind::kRemoveXattr:
      return Change(path, [&](Inode* i) {
        return i->xattrs.erase("user.x" + std::to_string(operation.number % 3)) ? 0 : ENODATA;
      });
    case Kind::kUnlink:
    case Kind::kUnlinkHeld:
      return Remove(path);
    case Kind::kRemoveDirectory:
      return !Exists(path) ? ENOENT : IsEmpty(path) ? Remove(path) : ENOTEMPTY;
    case Kind::kRename:
      return Rename(path, operation.other);
    case Kind::kExchange:
      return Exchange(path, operation.other);
    case Kind::kLink:
      return Link(path, operation.other);
    default:
      return 0;
  }
}

// The tree that a ref names; null: none.
std::shared_ptr<const Tree> Resolve(const State& state, const std::string& ref) {
  if (ref == "base") return state.base;
  if (auto it = state.branches.find(ref); it != state.branches.end()) return it->second;
  if (auto it = state.snapshots.find(ref); it != state.snapshots.end()) return it->second;
  return nullptr;
}

int CreateBranch(const Operation& operation, State* state) {
  if (state->branches.contains(operation.branch)) return EEXIST;
  auto tree = Resolve(*state, operation.other);
  if (tree == nullptr) return ENOENT;
  state->branches[operation.branch] = std::move(tree);
  return 0;
}

int CreateSnapshot(const Operation& operation, State* state) {
  if (!state->branches.contains(operation.branch)) return ENOENT;
  if (state->snapshots.contains(operation.other)) return EEXIST;
  state->snapshots[operation.other] = state->branches[operation.branch];
  return 0;
}

int Restore(const Operation& operation, State* state) {
  if (!state->branches.contains(operation.branch)) return ENOENT;
  auto tree = Resolve(*state, operation.other);
  if (tree == nullptr) return ENOENT;
  state->branches[operation.branch] = std::move(tree);
  return 0;
}

}  // namespace

const Inode* Tree::At(const std::string& path) const {
  auto it = names.find(path);
  return it == names.end() ? nullptr : inodes.at(it->second).get();
}

uint32_t Tree::Links(uint64_t inode) const {
  return static_cast<uint32_t>(std::count_if(
      names.begin(), names.end(), [&](const auto& name) { return name.second == inode; }));
}

State FirstState(std::shared_ptr<const Tree> base) {
  State state;
  if (!base->inodes.empty()) state.next_inode = base->inodes.rbegin()->first + 1;
  state.branches["main"] = base;
  state.base = std::move(base);
  return state;
}

int Apply(const Operation& operation, LargeContent large, State* state) {
  switch (operation.kind) {
    case Kind::kSnapshot:
    case Kind::kSyncedSnapshot:
      return CreateSnapshot(operation, state);
    case Kind::kDeleteSnapshot:
      return state->snapshots.erase(operation.other) != 0 ? 0 : ENOENT;
    case Kind::kCreateBranch:
      return CreateBranch(operation, state);
    case Kind::kDeleteBranch:
      return state->branches.erase(operation.branch) != 0 ? 0 : ENOENT;
    case Kind::kRestore:
      return Restore(operation, state);
    case Kind::kCollectGarbage:
      return 0;
    default:
      break;
  }
  auto branch = state->branches.find(operation.branch);
  if (branch == state->branches.end()) return ENOENT;
  auto tree = std::make_shared<Tree>(*branch->second);
  const int code = Editor(tree.get(), &state->next_inode, large).Apply(operation);
  if (code == 0) branch->second = std::move(tree);
  return code;
}

}  // namespace agentfs::crash
