// SPDX-License-Identifier: Apache-2.0
#include "view_subject.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace agentfs::posix {
namespace {

constexpr int kMaxLinksFollowed = 40;

Caller ToCaller(const Identity& identity) {
  return Caller{identity.uid, identity.gid, identity.groups, identity.umask, 1};
}

bool IsType(const Attr& attr, uint32_t type) { return (attr.mode & S_IFMT) == type; }

bool Negative(uint64_t offset) { return static_cast<int64_t>(offset) < 0; }

class ViewFile : public OpenFile {
 public:
  ViewFile(FileSystem& fs, const Identity& identity, NodeRef node, int flags)
      : fs_(fs), identity_(identity), node_(std::move(node)), flags_(flags) {}
  Node& node() { return *node_; }

  Result<std::string> Read(uint64_t offset, size_t length) override {
    if (!readable()) return Error(EBADF);
    if (Negative(offset)) return Error(EINVAL);
    std::string out(length, '\0');
    AGENTFS_ASSIGN(const size_t count, fs_.Read(*node_, offset, out));
    out.resize(count);
    return out;
  }
  Result<size_t> Write(uint64_t offset, std::string_view data) override {
    if (!writable()) return Error(EBADF);
    if (Negative(offset) || Negative(offset + data.size())) return Error(EINVAL);
    return fs_.Write(caller(), *node_, offset, data);
  }
  Result<uint64_t> Append(std::string_view data) override {
    if (!writable()) return Error(EBADF);
    return fs_.Append(caller(), *node_, data);
  }
  Result<void> Truncate(uint64_t size) override {
    if (!writable() || Negative(size)) return Error(EINVAL);
    AttrChange change;
    change.size = size;
    return Dropped(fs_.SetAttr(caller(), *node_, change));
  }
  Result<void> Allocate(AllocateMode mode, uint64_t offset, uint64_t length) override {
    if (Negative(offset) || Negative(length) || length == 0) return Error(EINVAL);
    if (!writable()) return Error(EBADF);
    return fs_.Allocate(caller(), *node_, mode, offset, length);
  }
  Result<uint64_t> Seek(uint64_t offset, SeekTarget target) override {
    return fs_.Seek(*node_, offset, target);
  }
  Result<uint64_t> CopyTo(uint64_t offset, OpenFile& target, uint64_t target_offset,
                          uint64_t length) override {
    auto& to = static_cast<ViewFile&>(target);
    AGENTFS_ASSIGN(const Attr from_attr, Stat());
    AGENTFS_ASSIGN(const Attr to_attr, to.Stat());
    if (IsType(from_attr, S_IFDIR) || IsType(to_attr, S_IFDIR)) return Error(EISDIR);
    if (!readable() || !to.writable() || (to.flags_ & O_APPEND) != 0) return Error(EBADF);
    return fs_.CopyRange(caller(), *node_, offset, *to.node_, target_offset, length);
  }
  Result<Attr> Stat() override { return fs_.GetAttr(*node_); }
  Result<void> Chmod(uint32_t mode) override {
    AttrChange change;
    change.mode = mode;
    return Dropped(fs_.SetAttr(caller(), *node_, change));
  }
  Result<void> Sync() override { return fs_.Sync(*node_); }

  Result<std::vector<Entry>> List(uint64_t cursor, size_t limit) override {
    // Whole listings come with attributes, others without: both ways get their share of tests.
    if (limit == SIZE_MAX) return ListPlus(cursor);
    std::vector<Entry> entries;
    AGENTFS_TRY(fs_.ReadDirectory(caller(), *node_, cursor, [&](const DirEntry& e) {
      if (entries.size() >= limit) return Visit::kStop;
      entries.push_back({std::string(e.name), e.node.value, e.type, e.cursor});
      return Visit::kContinue;
    }));
    return entries;
  }

 private:
  static Result<void> Dropped(const Result<Attr>& result) {
    if (!result.ok()) return result.error();
    return Ok();
  }
  Result<std::vector<Entry>> ListPlus(uint64_t cursor) {
    std::vector<Entry> entries;
    bool agrees = true;
    AGENTFS_TRY(
        fs_.ReadDirectoryPlus(caller(), *node_, cursor, [&](const DirEntry& e, const Found& found) {
          agrees &= found.node->id() == e.node && found.attr.node == e.node &&
                    (e.type == 0 || IsType(found.attr, e.type));
          entries.push_back({std::string(e.name), e.node.value, e.type, e.cursor});
          return Visit::kContinue;
        }));
    if (!agrees) return Error(EIO, "an entry and its attributes name different nodes");
    return entries;
  }
  Caller caller() const { return ToCaller(identity_); }
  bool readable() const { return (flags_ & O_ACCMODE) != O_WRONLY; }
  bool writable() const { return (flags_ & O_ACCMODE) != O_RDONLY; }

  FileSystem& fs_;
  const Identity& identity_;  // the subject's current one
  const NodeRef node_;
  const int flags_;
};

class ViewSubject : public Subject {
 public:
  explicit ViewSubject(std::shared_ptr<FileSystem> fs) : fs_(std::move(fs)) {}

  void Become(const Identity& identity) override { identity_ = identity; }
  const Identity& identity() const override { return identity_; }
  bool can_become_others() const override { return true; }
  bool keeps_atime() const override { return true; }

  Result<std::unique_ptr<OpenFile>> Open(std::string_view path, int flags, uint32_t mode) override;
  Result<Attr> Stat(std::string_view path, Follow follow) override {
    AGENTFS_ASSIGN(Found found, Walk(path, follow));
    // stat(2) asks again: what Lookup said must agree with it.
    return fs_->GetAttr(*found.node);
  }
  Result<void> MakeDirectory(std::string_view path, uint32_t mode) override {
    AGENTFS_ASSIGN(Place place, WalkToParent(path));
    return Dropped(fs_->MakeDirectory(caller(), *place.parent, place.name, mode));
  }
  Result<void> MakeNode(std::string_view path, uint32_t mode, uint64_t rdev) override {
    AGENTFS_ASSIGN(Place place, WalkToParent(path));
    return Dropped(fs_->MakeNode(caller(), *place.parent, place.name, mode, rdev));
  }
  Result<void> MakeSymlink(std::string_view target, std::string_view path) override {
    AGENTFS_ASSIGN(Place place, WalkToParent(path));
    return Dropped(fs_->MakeSymlink(caller(), *place.parent, place.name, target));
  }
  Result<void> Link(std::string_view existing, std::string_view path) override {
    AGENTFS_ASSIGN(Found found, Walk(existing, Follow::kNo));
    AGENTFS_ASSIGN(Place place, WalkToParent(path));
    return Dropped(fs_->Link(caller(), *found.node, *place.parent, place.name));
  }
  Result<void> LinkOpen(OpenFile& file, std::string_view path) override {
    AGENTFS_ASSIGN(Place place, WalkToParent(path));
    return Dropped(
        fs_->Link(caller(), static_cast<ViewFile&>(file).node(), *place.parent, place.name));
  }
  Result<void> Unlink(std::string_view path) override {
    AGENTFS_ASSIGN(Place place, WalkToParent(path));
    return fs_->Unlink(caller(), *place.parent, place.name);
  }
  Result<void> RemoveDirectory(std::string_view path) override {
    AGENTFS_ASSIGN(Place place, WalkToParent(path));
    return fs_->RemoveDirectory(caller(), *place.parent, place.name);
  }
  Result<void> Rename(std::string_view from, std::string_view to, RenameMode mode) override {
    AGENTFS_ASSIGN(Place source, WalkToParent(from));
    AGENTFS_ASSIGN(Place target, WalkToParent(to));
    return fs_->Rename(caller(), *source.parent, source.name, *target.parent, target.name, mode);
  }
  Result<std::string> ReadLink(std::string_view path) override {
    AGENTFS_ASSIGN(Found found, Walk(path, Follow::kNo));
    return fs_->ReadLink(caller(), *found.node);
  }

  Result<void> Chmod(std::string_view path, uint32_t mode) override {
    AttrChange change;
    change.mode = mode;
    return Change(path, Follow::kYes, change);
  }
  Result<void> Chown(std::string_view path, uint32_t uid, uint32_t gid) override {
    AttrChange change;
    if (uid != kKeep) change.uid = uid;
    if (gid != kKeep) change.gid = gid;
    return Change(path, Follow::kNo, change);
  }
  Result<void> Truncate(std::string_view path, uint64_t size) override {
    if (Negative(size)) return Error(EINVAL);
    AGENTFS_ASSIGN(Found found, Walk(path, Follow::kYes));
    // SetAttr serves ftruncate too, where the handle is the permission: with a path, we ask.
    if (IsType(found.attr, S_IFREG)) AGENTFS_TRY(fs_->Access(caller(), *found.node, W_OK));
    AttrChange change;
    change.size = size;
    return Dropped(fs_->SetAttr(caller(), *found.node, change));
  }
  Result<void> SetTimes(std::string_view path, TimeChange atime, TimeChange mtime) override {
    using Kind = TimeChange::Kind;
    if (atime.kind == Kind::kOmit && mtime.kind == Kind::kOmit) return Ok();
    AttrChange change;
    if (atime.kind == Kind::kSet) change.atime = atime.time;
    if (mtime.kind == Kind::kSet) change.mtime = mtime.time;
    change.atime_now = atime.kind == Kind::kNow;
    change.mtime_now = mtime.kind == Kind::kNow;
    return Change(path, Follow::kNo, change);
  }
  Result<void> Access(std::string_view path, int mask) override {
    AGENTFS_ASSIGN(Found found, Walk(path, Follow::kYes));
    return fs_->Access(caller(), *found.node, mask);
  }

  Result<std::string> GetXattr(std::string_view path, const std::string& name) override {
    AGENTFS_ASSIGN(Found found, Walk(path, Follow::kNo));
    return fs_->GetXattr(caller(), *found.node, name);
  }
  Result<std::vector<std::string>> ListXattrs(std::string_view path) override {
    AGENTFS_ASSIGN(Found found, Walk(path, Follow::kNo));
    return fs_->ListXattrs(caller(), *found.node);
  }
  Result<void> SetXattr(std::string_view path, const std::string& name, std::string_view value,
                        XattrMode mode) override {
    AGENTFS_ASSIGN(Found found, Walk(path, Follow::kNo));
    return fs_->SetXattr(caller(), *found.node, name, value, mode);
  }
  Result<void> RemoveXattr(std::string_view path, const std::string& name) override {
    AGENTFS_ASSIGN(Found found, Walk(path, Follow::kNo));
    return fs_->RemoveXattr(caller(), *found.node, name);
  }
  Result<FsStats> StatFs() override { return fs_->StatFs(); }

 private:
  struct Place {
    NodeRef parent;
    std::string name;
  };
  template <typename T>
  static Result<void> Dropped(const Result<T>& result) {
    if (!result.ok()) return result.error();
    return Ok();
  }

  Caller caller() const { return ToCaller(identity_); }

  Result<Found> RootFound() {
    NodeRef root = fs_->Root();
    AGENTFS_ASSIGN(Attr attr, fs_->GetAttr(*root));
    return Found{std::move(root), attr};
  }
  Result<Found> Walk(std::string_view path, Follow follow) {
    AGENTFS_ASSIGN(Found root, RootFound());
    int links = 0;
    return WalkFrom(root, std::string(path), follow, links);
  }
  Result<Found> WalkFrom(const Found& start, std::string path, Follow follow, int& links);
  Result<Found> Step(const Found& at, std::string_view name, bool follow, int& links);

  // The directory that the last component is (to be) in.
  Result<Place> WalkToParent(std::string_view path) {
    const size_t slash = path.rfind('/');
    const std::string_view before = slash == std::string_view::npos ? "" : path.substr(0, slash);
    const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    AGENTFS_ASSIGN(Found parent, Walk(before, Follow::kYes));
    if (!IsType(parent.attr, S_IFDIR)) return Error(ENOTDIR);
    // The kernel asks here, before it looks at a second path.
    AGENTFS_TRY(fs_->Access(caller(), *parent.node, X_OK));
    return Place{std::move(parent.node), std::string(name)};
  }
  Result<void> Change(std::string_view path, Follow follow, const AttrChange& change) {
    AGENTFS_ASSIGN(Found found, Walk(path, follow));
    return Dropped(fs_->SetAttr(caller(), *found.node, change));
  }
  Result<std::unique_ptr<OpenFile>> Handle(NodeRef node, int flags) {
    return std::unique_ptr<OpenFile>(
        std::make_unique<ViewFile>(*fs_, identity_, std::move(node), flags));
  }
  Result<std::unique_ptr<OpenFile>> OpenUnnamed(std::string_view path, int flags, uint32_t mode);
  Result<std::unique_ptr<OpenFile>> OpenNew(std::string path, int flags, uint32_t mode);
  Result<std::unique_ptr<OpenFile>> OpenExisting(Found found, int flags);

  const std::shared_ptr<FileSystem> fs_;
  Identity identity_ = ProcessIdentity();
};

Result<Found> ViewSubject::Step(const Found& at, std::string_view name, bool follow, int& links) {
  if (!IsType(at.attr, S_IFDIR)) return Error(ENOTDIR);
  AGENTFS_ASSIGN(Found next, fs_->Lookup(caller(), *at.node, name));
  if (!follow || !IsType(next.attr, S_IFLNK)) return next;
  if (++links > kMaxLinksFollowed) return Error(ELOOP);
  AGENTFS_ASSIGN(std::string target, fs_->ReadLink(caller(), *next.node));
  return WalkFrom(at, std::move(target), Follow::kYes, links);
}

Result<Found> ViewSubject::WalkFrom(const Found& start, std::string path, Follow follow,
                                    int& links) {
  Found at = start;
  for (size_t begin = 0; begin < path.size();) {
    size_t end = path.find('/', begin);
    if (end == std::string::npos) end = path.size();
    const bool last = end == path.size();
    if (end > begin) {
      const std::string_view name = std::string_view(path).substr(begin, end - begin);
      AGENTFS_ASSIGN(at, Step(at, name, !last || follow == Follow::kYes, links));
    }
    begin = end + 1;
  }
  return at;
}

Result<std::unique_ptr<OpenFile>> ViewSubject::Open(std::string_view path, int flags,
                                                    uint32_t mode) {
  if ((flags & O_TMPFILE) == O_TMPFILE) return OpenUnnamed(path, flags, mode);
  const bool exclusive = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  const bool follow = (flags & O_NOFOLLOW) == 0 && !exclusive;
  auto found = Walk(path, follow ? Follow::kYes : Follow::kNo);
  if (found.ok()) {
    if (exclusive) return Error(EEXIST);
    return OpenExisting(std::move(*found), flags);
  }
  if (found.code() != ENOENT || (flags & O_CREAT) == 0) return found.error();
  return OpenNew(std::string(path), flags, mode);
}

Result<std::unique_ptr<OpenFile>> ViewSubject::OpenNew(std::string path, int flags, uint32_t mode) {
  for (int links = 0; links <= kMaxLinksFollowed; ++links) {
    AGENTFS_ASSIGN(Place place, WalkToParent(path));
    auto made = fs_->Create(caller(), *place.parent, place.name, mode);
    if (made.ok()) return Handle(std::move(made->node), flags);
    if (made.code() != EEXIST || (flags & O_EXCL) != 0) return made.error();
    // A dangling link, or somebody was faster.
    AGENTFS_ASSIGN(Found found, fs_->Lookup(caller(), *place.parent, place.name));
    if (!IsType(found.attr, S_IFLNK)) return OpenExisting(std::move(found), flags);
    AGENTFS_ASSIGN(const std::string target, fs_->ReadLink(caller(), *found.node));
    path = path.substr(0, path.size() - place.name.size()) + target;
  }
  return Error(ELOOP);
}

Result<std::unique_ptr<OpenFile>> ViewSubject::OpenUnnamed(std::string_view path, int flags,
                                                           uint32_t mode) {
  if ((flags & O_ACCMODE) == O_RDONLY) return Error(EINVAL);
  AGENTFS_ASSIGN(Found parent, Walk(path, Follow::kYes));
  AGENTFS_ASSIGN(Found made, fs_->CreateUnnamed(caller(), *parent.node, mode));
  return Handle(std::move(made.node), flags);
}

Result<std::unique_ptr<OpenFile>> ViewSubject::OpenExisting(Found found, int flags) {
  if (IsType(found.attr, S_IFLNK)) return Error(ELOOP);
  const bool directory = IsType(found.attr, S_IFDIR);
  if (directory && (flags & O_CREAT) != 0) return Error(EISDIR);
  if (!directory && (flags & O_DIRECTORY) != 0) return Error(ENOTDIR);
  AGENTFS_TRY(fs_->Open(caller(), *found.node, flags));
  return Handle(std::move(found.node), flags);
}

}  // namespace

std::unique_ptr<Subject> MakeViewSubject(std::shared_ptr<FileSystem> fs) {
  return std::make_unique<ViewSubject>(std::move(fs));
}

}  // namespace agentfs::posix
