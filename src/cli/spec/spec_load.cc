// SPDX-License-Identifier: Apache-2.0
#include <absl/container/flat_hash_map.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <set>

#include "agentfs/path.h"
#include "cli/spec/spec_file.h"
#include "cli/spec/spec_source.h"
#include "core/files/archive_names.h"
#include "core/files/delete_tree.h"
#include "core/files/replace_tree.h"
#include "core/files/tree_builder.h"
#include "core/files/tree_walker.h"

namespace agentfs::cli {
namespace {

constexpr int64_t kRootInode = 1;
// A tree so deep that its paths are longer is nobody's.
constexpr size_t kMaxSpecPath = size_t{128} << 10;

// Builds what a source says below a directory.
class SpecLoader {
 public:
  SpecLoader(const Files& files, SpecSource& source, Node& root, const ArchiveLimits& limits,
             SpecKind kind)
      : fs_(*files.filesystem()),
        caller_(files.caller()),
        source_(source),
        root_(root),
        limits_(limits),
        kind_(kind),
        builder_(fs_, caller_, root, limits.max_entries) {}

  Result<void> Load();
  const std::optional<NodeMetadata>& root_metadata() const { return builder_.root_metadata(); }

 private:
  struct Level {
    std::string path;  // empty: the root
    SpecSource::Names names;
    size_t next = 0;
  };
  Result<void> FindShared();
  Result<void> RemoveWhiteouts();
  Result<void> AddAll();
  Result<void> Add(const std::string& path, int64_t ino);
  Result<void> AddNode(const std::string& path, int64_t ino, SpecInode inode);
  Result<void> AddFile(const std::string& path, int64_t ino, SpecInode inode);
  Result<void> AddLink(const std::string& path, int64_t ino, const SpecInode& inode);
  // What a delta finds in the way of something of another type goes.
  Result<void> MakeWay(const std::string& path, bool directory);
  Result<void> RemovePath(std::string_view path, bool only_other_type, bool directory);

  FileSystem& fs_;
  const Caller& caller_;
  SpecSource& source_;
  Node& root_;
  const ArchiveLimits& limits_;
  const SpecKind kind_;
  TreeBuilder builder_;
  absl::flat_hash_map<int64_t, std::string> shared_;  // the first path of inodes with several names
  std::vector<Level> levels_;
  uint64_t added_ = 0;
};

Result<void> SpecLoader::Load() {
  AGENTFS_ASSIGN(const int64_t names, source_.CountNames());
  if (static_cast<uint64_t>(names) > limits_.max_entries) {
    return Error(EOVERFLOW, "more entries than allowed");
  }
  AGENTFS_TRY(FindShared());
  if (kind_ == SpecKind::kDelta) AGENTFS_TRY(RemoveWhiteouts());
  AGENTFS_TRY(AddAll());
  if (added_ != static_cast<uint64_t>(names)) {
    return Error(EINVAL, std::to_string(static_cast<uint64_t>(names) - added_) +
                             " names cannot be reached from the root");
  }
  return builder_.Finish();
}

Result<void> SpecLoader::FindShared() {
  AGENTFS_ASSIGN(const auto inodes, source_.Shared());
  for (const int64_t ino : inodes) shared_[ino] = "";
  return Ok();
}

Result<void> SpecLoader::RemoveWhiteouts() {
  AGENTFS_ASSIGN(const auto paths, source_.Whiteouts());
  for (const std::string& path : paths) {
    if (!path.starts_with('/') || path.find('\0') != std::string::npos) {
      return Error(EINVAL, "a whiteout that is no absolute path: '" + path + "'");
    }
    AGENTFS_TRY(RemovePath(path, false, false));
  }
  return Ok();
}

Result<void> SpecLoader::RemovePath(std::string_view path, bool only_other_type, bool directory) {
  NodeRef parent(&root_);
  const auto names = SplitPath(path);
  if (names.empty()) return Ok();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == ".." || CheckName(names[i]) != 0) {
      return Error(EINVAL, "a path that cannot be: '" + std::string(path) + "'");
    }
    auto found = fs_.Lookup(caller_, *parent, names[i]);
    if (found.code() == ENOENT || found.code() == ENOTDIR) return Ok();
    if (!found.ok()) return found.error();
    if (i + 1 < names.size()) {
      parent = found->node;
      continue;
    }
    if (only_other_type && S_ISDIR(found->attr.mode) == directory) return Ok();
    return DeleteTree(fs_, caller_, *parent, names[i], {});
  }
  return Ok();
}

Result<void> SpecLoader::MakeWay(const std::string& path, bool directory) {
  if (kind_ == SpecKind::kTree) return Ok();
  return RemovePath("/" + path, true, directory);
}

Result<void> SpecLoader::AddAll() {
  AGENTFS_ASSIGN(SpecInode root, source_.ReadInode(kRootInode));
  if (!S_ISDIR(root.metadata.mode)) return Error(EINVAL, "its root is no directory");
  AGENTFS_TRY(builder_.AddDirectory(".", std::move(root.metadata)));
  AGENTFS_ASSIGN(auto names, source_.ReadDirectory(kRootInode));
  levels_.push_back({"", std::move(names)});
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.next == level.names.size()) {
      levels_.pop_back();
      continue;
    }
    const auto& [name, ino] = level.names[level.next++];
    const std::string path = level.path.empty() ? name : level.path + "/" + name;
    auto added = Add(path, ino);
    if (!added.ok()) return AtPath(added.error(), "cannot load", path);
  }
  return Ok();
}

Result<void> SpecLoader::Add(const std::string& path, int64_t ino) {
  if (path.size() > kMaxSpecPath) return Error(EINVAL, "a path that is too long");
  if (ino == kRootInode) return Error(EINVAL, "the root has a name: a directory below itself");
  ++added_;
  AGENTFS_ASSIGN(SpecInode inode, source_.ReadInode(ino));
  const bool directory = S_ISDIR(inode.metadata.mode);
  const auto shared = shared_.find(ino);
  if (shared != shared_.end() && directory) {
    return Error(EINVAL, "a directory with several names, or below itself");
  }
  AGENTFS_TRY(MakeWay(path, directory));
  if (shared != shared_.end() && !shared->second.empty()) {
    return builder_.AddHardLink(path, shared->second);
  }
  if (shared != shared_.end()) shared->second = path;
  if (!directory) return AddNode(path, ino, std::move(inode));
  AGENTFS_TRY(builder_.AddDirectory(path, std::move(inode.metadata)));
  AGENTFS_ASSIGN(auto names, source_.ReadDirectory(ino));
  levels_.push_back({path, std::move(names)});
  return Ok();
}

Result<void> SpecLoader::AddNode(const std::string& path, int64_t ino, SpecInode inode) {
  switch (inode.metadata.mode & S_IFMT) {
    case S_IFREG:
      return AddFile(path, ino, std::move(inode));
    case S_IFLNK:
      return AddLink(path, ino, inode);
    case S_IFSOCK:
      inode.metadata.mode = S_IFREG | (inode.metadata.mode & 07777);
      inode.metadata.xattrs.emplace_back(kSocketMark, "1");
      AGENTFS_TRY(builder_.BeginFile(path, std::move(inode.metadata), 0));
      return builder_.EndFile();
    default: {
      const auto device = static_cast<dev_t>(inode.rdev);
      return builder_.AddSpecial(path, inode.metadata, major(device), minor(device));
    }
  }
}

Result<void> SpecLoader::AddFile(const std::string& path, int64_t ino, SpecInode inode) {
  const int64_t size = inode.size;
  AGENTFS_TRY(builder_.BeginFile(path, std::move(inode.metadata), size));
  AGENTFS_TRY(source_.ReadContent(ino, size, [this](int64_t offset, std::string_view bytes) {
    return builder_.WriteFile(offset, bytes);
  }));
  return builder_.EndFile();
}

Result<void> SpecLoader::AddLink(const std::string& path, int64_t ino, const SpecInode& inode) {
  AGENTFS_ASSIGN(const std::string target, source_.ReadTarget(ino));
  if (limits_.outside_links == OutsideLinks::kRefuse && LeadsOutside(path, target)) {
    return Error(EINVAL, "a symbolic link that leads outside, to " + target);
  }
  return builder_.AddSymlink(path, target, inode.metadata);
}

Result<void> LoadTreeOf(const Files& files, std::string_view path, SpecSource& source,
                        const ArchiveLimits& limits) {
  AGENTFS_ASSIGN(TreeReplacement replacement,
                 TreeReplacement::Begin(*files.filesystem(), files.caller(), path));
  SpecLoader loader(files, source, replacement.root(), limits, SpecKind::kTree);
  AGENTFS_TRY(loader.Load());
  return replacement.Commit(loader.root_metadata());
}

Result<void> LayOver(const Files& files, std::string_view path, SpecSource& source,
                     const ArchiveLimits& limits) {
  AGENTFS_TRY(files.CreateDirectories(path));
  AGENTFS_ASSIGN(const Found root, files.Resolve(path));
  return SpecLoader(files, source, *root.node, limits, SpecKind::kDelta).Load();
}

// What tells a call: ids are those of its file.
std::string CallText(const ToolCall& call) {
  std::string text = std::to_string(call.started_ns / 1'000'000'000);
  for (const std::string& part :
       {call.name, call.parameters.value_or(""), call.result.value_or(""), call.error}) {
    text += '\0' + part;
  }
  return text;
}

Result<void> AddCalls(Volume& volume, const std::vector<ToolCall>& calls) {
  if (calls.empty()) return Ok();
  std::set<std::string> known;
  AGENTFS_TRY(ListToolCalls(volume, [&](const ToolCall& call) {
    known.insert(CallText(call));
    return Visit::kContinue;
  }));
  for (const ToolCall& call : calls) {
    if (!known.contains(CallText(call))) AGENTFS_TRY(RecordToolCall(volume, call));
  }
  return Ok();
}

}  // namespace

bool IsDatabase(std::string_view beginning) {
  return beginning.starts_with(std::string_view("SQLite format 3\0", kMagicBytes));
}

Result<void> LoadSpec(const Files& files, Volume& volume, std::string_view path,
                      const std::string& file, const ArchiveLimits& limits, SpecKind* kind) {
  AGENTFS_ASSIGN(const auto source, SpecSource::Open(file));
  AGENTFS_ASSIGN(const bool delta, source->IsDelta());
  // Whatever can be refused is refused before anything is changed.
  AGENTFS_ASSIGN(const auto values, source->Values());
  AGENTFS_ASSIGN(const auto calls, source->Calls());
  *kind = delta ? SpecKind::kDelta : SpecKind::kTree;
  AGENTFS_TRY(delta ? LayOver(files, path, *source, limits)
                    : LoadTreeOf(files, path, *source, limits));
  if (path != "/") return Ok();
  for (const KvEntry& value : values) AGENTFS_TRY(SetValue(volume, value.key, value.value));
  return AddCalls(volume, calls);
}

}  // namespace agentfs::cli
