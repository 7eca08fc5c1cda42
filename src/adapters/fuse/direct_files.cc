// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/direct_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "sys/fd.h"

namespace agentfs::fuse {
namespace {

constexpr uint64_t kDirectHandle = 1;

Timestamp ModifiedOf(const struct stat& st) {
  return {st.st_mtim.tv_sec, static_cast<uint32_t>(st.st_mtim.tv_nsec)};
}

// A file of the host, as the connection knows it.
Result<int32_t> RegisterBacking(int device, int file) {
  BackingMap map{};
  map.fd = file;
  const int id = ::ioctl(device, kIoctlBackingOpen, &map);
  if (id <= 0) return id < 0 ? ErrnoError() : Error(EIO);
  return id;
}

void ForgetBacking(int device, int32_t id) {
  uint32_t number = static_cast<uint32_t>(id);
  (void)::ioctl(device, kIoctlBackingClose, &number);
}

}  // namespace

// ---- one file

class DirectFiles::File {
 public:
  File(std::shared_ptr<Tree> tree, NodeRef node, int host, int32_t backing, uint64_t origin)
      : tree_(std::move(tree)),
        node_(std::move(node)),
        host_(host),
        backing_(backing),
        origin_(origin) {}
  ~File() { tree_->fs().DropHostFile(host_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const Tree& tree() const { return *tree_; }
  NodeId node() const { return node_->id(); }
  int32_t backing() const { return backing_; }
  bool stale() const { return stale_.load(std::memory_order_acquire); }
  void MakeStale() { stale_.store(true, std::memory_order_release); }

  // Who has opened it to write; by whom it was written the kernel does not say.
  void SetWriter(const Caller& caller) { writer_ = {caller.uid, caller.pid}; }
  Result<void> Settle(Settling how) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    const uint64_t openings = openings_.load();
    Result<void> settled = SettleLocked(how);
    if (how == Settling::kLast) ended_at_.store(openings);
    return settled;
  }
  // It was settled for the last time, and not opened since that began: it may be a snapshot's now.
  bool ended() const { return ended_at_.load() == openings_.load(); }
  void Opened() { openings_.fetch_add(1); }

  void ChangedElsewhere() { behind_.store(true, std::memory_order_release); }
  Result<void> Follow() ABSL_LOCKS_EXCLUDED(mu_) {
    if (!behind_.load(std::memory_order_acquire)) return Ok();
    absl::MutexLock lock(&mu_);
    return ended() ? Ok() : FollowLocked();
  }
  // What was written before is recorded; who asks for the size has the node record this.
  Result<void> SetSize(uint64_t size) ABSL_LOCKS_EXCLUDED(mu_) {
    if (size > kMaxHostContent) return Error(EFBIG);
    absl::MutexLock lock(&mu_);
    AGENTFS_TRY(SettleLocked(Settling::kIfChanged));
    if (::ftruncate(host_, static_cast<off_t>(size)) != 0) return ErrnoError();
    return SettleLocked(Settling::kModified, OpKind());
  }
  Result<void> Allocate(uint32_t mode, uint64_t offset, uint64_t length) ABSL_LOCKS_EXCLUDED(mu_) {
    if (length > kMaxHostContent || offset > kMaxHostContent - length) return Error(EFBIG);
    absl::MutexLock lock(&mu_);
    AGENTFS_TRY(SettleLocked(Settling::kIfChanged));
    if (::fallocate(host_, static_cast<int>(mode), static_cast<off_t>(offset),
                    static_cast<off_t>(length)) != 0) {
      return ErrnoError();
    }
    return SettleLocked(Settling::kModified, OpKind::kAllocate);
  }

  uint32_t opens = 0;  // guarded by DirectFiles::mu_

 private:
  Result<void> SettleLocked(Settling how, OpKind kind = OpKind::kWrite)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // ECANCELED: the node was changed elsewhere meanwhile.
  Result<void> TakeLocked(Settling how, OpKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Result<void> FollowLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsUntouchedLocked(const struct stat& st) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !settled_ && st.st_size == 0;
  }
  bool HasChangedLocked(const struct stat& st) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !IsUntouchedLocked(st) && (!settled_ || static_cast<uint64_t>(st.st_size) != size_ ||
                                      !(ModifiedOf(st) == modified_));
  }
  void SettledLocked(const struct stat& st) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    settled_ = true;
    size_ = static_cast<uint64_t>(st.st_size);
    modified_ = ModifiedOf(st);
  }

  const std::shared_ptr<Tree> tree_;
  const NodeRef node_;
  const int host_;
  const int32_t backing_;
  const uint64_t origin_;
  std::atomic<bool> stale_{false};
  std::atomic<uint64_t> openings_{0}, ended_at_{UINT64_MAX};
  std::atomic<bool> behind_{false};  // the node was changed elsewhere since
  struct Writer {
    uint32_t uid = 0, pid = 0;
  };
  std::atomic<Writer> writer_{Writer()};
  absl::Mutex mu_;  // held while it is settled
  // As it was when it was last settled.
  uint64_t size_ ABSL_GUARDED_BY(mu_) = 0;
  Timestamp modified_ ABSL_GUARDED_BY(mu_);
  bool settled_ ABSL_GUARDED_BY(mu_) = false;
};

Result<void> DirectFiles::File::SettleLocked(Settling how, OpKind kind) {
  for (;;) {
    if (stale()) return Ok();
    // Who has just changed the file has the last word.
    if (how == Settling::kModified) behind_.store(false, std::memory_order_release);
    AGENTFS_TRY(FollowLocked());
    Result<void> taken = TakeLocked(how, kind);
    if (taken.code() != ECANCELED) return taken;
  }
}

Result<void> DirectFiles::File::TakeLocked(Settling how, OpKind kind) {
  AGENTFS_ASSIGN(const struct stat st, StatFd(host_));
  const auto size = static_cast<uint64_t>(st.st_size);
  const bool untouched = IsUntouchedLocked(st) && how != Settling::kModified;
  const bool changed = how == Settling::kModified || HasChangedLocked(st);
  if (!changed && how == Settling::kIfChanged) return Ok();
  if (untouched) return Ok();
  HostContent content;
  content.file = host_;
  content.how = how == Settling::kCopy ? HostContent::How::kCopied : HostContent::How::kShared;
  content.last = how == Settling::kLast;
  if (changed) content.modified = ModifiedOf(st);
  content.kind = kind;
  if (kind == OpKind::kWrite && size > size_) content.bytes = size - size_;
  content.wanted = [this] { return !stale() && !behind_.load(std::memory_order_acquire); };
  Caller caller;
  caller.checked = true;
  caller.origin = origin_;
  caller.written_back = true;
  const Writer writer = writer_;
  caller.uid = writer.uid;
  caller.pid = writer.pid;
  AGENTFS_TRY(tree_->fs().TakeContent(caller, *node_, content));
  SettledLocked(st);
  return Ok();
}

// If the file was written since it was settled, too, its writer has the last word.
Result<void> DirectFiles::File::FollowLocked() {
  if (stale() || !behind_.exchange(false, std::memory_order_acq_rel)) return Ok();
  AGENTFS_ASSIGN(struct stat st, StatFd(host_));
  const Result<bool> given = tree_->fs().GiveContent(*node_, {host_, size_, HasChangedLocked(st)});
  if (!given.ok()) {
    ChangedElsewhere();
    return given.error();
  }
  if (!*given) return Ok();
  AGENTFS_ASSIGN(st, StatFd(host_));
  SettledLocked(st);
  return Ok();
}

// ---- the view's way to us

class DirectFiles::TreeWriter final : public HostWriter {
 public:
  TreeWriter(DirectFiles& files, const Tree* tree) : files_(&files), tree_(tree) {}
  void Settle() override ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    if (files_ == nullptr) return;
    for (const auto& file : files_->FilesOf(tree_)) (void)file->Settle(Settling::kCopy).ok();
  }
  void Detach() ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    files_ = nullptr;
  }

 private:
  absl::Mutex mu_;  // before all others
  DirectFiles* files_ ABSL_GUARDED_BY(mu_);
  const Tree* const tree_;
};

// ---- all of them

DirectFiles::DirectFiles(int device, uint64_t origin) : device_(device), origin_(origin) {}

DirectFiles::~DirectFiles() {
  SettleAll();
  decltype(writers_) writers;
  {
    absl::MutexLock lock(&mu_);
    writers.swap(writers_);
  }
  for (const auto& [tree, writer] : writers) writer->Detach();
}

Result<void> DirectFiles::Probe(FileSystem& fs) {
  AGENTFS_ASSIGN(const int file, fs.NewHostFile());
  const auto id = RegisterBacking(device_, file);
  if (id.ok()) ForgetBacking(device_, *id);
  fs.DropHostFile(file);
  AGENTFS_TRY(id);
  return Ok();
}

std::shared_ptr<DirectFiles::File> DirectFiles::Find(const Inode& inode) {
  if (!inode.direct.load(std::memory_order_acquire)) return nullptr;
  absl::MutexLock lock(&mu_);
  const auto it = states_.find(inode.id);
  return it == states_.end() ? nullptr : it->second.file;
}

std::vector<std::shared_ptr<DirectFiles::File>> DirectFiles::FilesOf(const Tree* tree) {
  std::vector<std::shared_ptr<File>> files;
  absl::MutexLock lock(&mu_);
  for (const auto& [id, state] : states_) {
    if (state.file && (tree == nullptr || &state.file->tree() == tree)) files.push_back(state.file);
  }
  return files;
}

void DirectFiles::WatchTreeLocked(const std::shared_ptr<Tree>& tree) {
  std::shared_ptr<TreeWriter>& writer = writers_[tree.get()];
  if (writer) return;
  writer = std::make_shared<TreeWriter>(*this, tree.get());
  tree->fs().AddHostWriter(writer);
}

// Null: then it is cached, which always works.
std::shared_ptr<DirectFiles::File> DirectFiles::MakeLocked(Inode& inode) {
  auto made = inode.fs().NewHostFile();
  if (!made.ok()) return nullptr;
  auto backing = RegisterBacking(device_, *made);
  if (!backing.ok()) {
    inode.fs().DropHostFile(*made);
    return nullptr;
  }
  WatchTreeLocked(inode.tree);
  return std::make_shared<File>(inode.tree, inode.node, *made, *backing, origin_);
}

Result<OpenOut> DirectFiles::Open(const Caller& caller, Inode& inode, Wish wish) {
  bool empty = false;
  const uint64_t changes = inode.tree->foreign_changes();
  if (wish == Wish::kDirectIfEmpty) {
    AGENTFS_ASSIGN(const Attr attr, inode.fs().GetAttr(*inode.node));
    empty = attr.size == 0 && S_ISREG(attr.mode);
  }
  std::shared_ptr<File> file;
  {
    absl::MutexLock lock(&mu_);
    State& state = states_[inode.id];
    if (state.file && state.file->stale()) return Error(ESTALE);
    // What is changed elsewhere from here on finds the file here.
    const bool still_empty = empty && inode.tree->foreign_changes() == changes;
    if (!state.file && state.cached == 0 && still_empty) {
      state.file = MakeLocked(inode);
      if (state.file) inode.direct.store(true, std::memory_order_release);
    }
    if (!state.file) return OpenCachedLocked(inode, state);
    file = state.file;
    ++file->opens;
    file->Opened();
    inode.was_direct = true;
  }
  if (wish == Wish::kDirectIfEmpty) file->SetWriter(caller);
  (void)file->Follow().ok();  // what it has is better than nothing
  OpenOut out{};
  out.fh = kDirectHandle;
  out.open_flags = kOpenPassthrough;
  out.backing_id = file->backing();
  return out;
}

OpenOut DirectFiles::OpenCachedLocked(Inode& inode, State& state) {
  OpenOut out{};
  ++state.cached;
  out.open_flags = FOPEN_NOFLUSH;
  // Pages from before it was last open the other way are of no use.
  if (!std::exchange(inode.was_direct, false)) out.open_flags |= FOPEN_KEEP_CACHE;
  return out;
}

void DirectFiles::Release(Inode& inode, uint64_t handle) {
  std::shared_ptr<File> file;
  {
    absl::MutexLock lock(&mu_);
    const auto it = states_.find(inode.id);
    if (it == states_.end()) return;
    if (handle != kDirectHandle) {
      if (--it->second.cached == 0 && !it->second.file) states_.erase(it);
      return;
    }
    file = it->second.file;
    if (file->opens > 1) {
      --file->opens;
      return;
    }
  }
  // Without the lock, which a restore needs; who opens it meanwhile has the same file.
  for (;;) {
    (void)file->Settle(Settling::kLast).ok();
    {
      absl::MutexLock lock(&mu_);
      if (file->opens == 1 && file->ended()) {
        ForgetBacking(device_, file->backing());
        inode.direct.store(false, std::memory_order_release);
        states_.erase(inode.id);
        return;
      }
      file->Opened();
    }
    // It was not the last time.
    (void)file->Settle(Settling::kAlways).ok();
    absl::MutexLock lock(&mu_);
    if (file->opens == 1) continue;
    --file->opens;
    return;
  }
}

bool DirectFiles::IsOpen(const Tree& tree, NodeId node) {
  absl::MutexLock lock(&mu_);
  for (const auto& [id, state] : states_) {
    if (state.file && &state.file->tree() == &tree && state.file->node() == node) return true;
  }
  return false;
}

Result<void> DirectFiles::Settle(Inode& inode) {
  if (const auto file = Find(inode)) return file->Settle(Settling::kIfChanged);
  return Ok();
}

Result<void> DirectFiles::SettleForSync(Inode& inode) {
  if (const auto file = Find(inode)) return file->Settle(Settling::kAlways);
  return Ok();
}

Result<bool> DirectFiles::SetSize(Inode& inode, uint64_t size) {
  const auto file = Find(inode);
  if (file == nullptr || file->stale()) return false;
  AGENTFS_TRY(file->SetSize(size));
  return true;
}

Result<bool> DirectFiles::Allocate(Inode& inode, uint32_t mode, uint64_t offset, uint64_t length) {
  const auto file = Find(inode);
  if (file == nullptr || file->stale()) return false;
  AGENTFS_TRY(file->Allocate(mode, offset, length));
  return true;
}

void DirectFiles::ChangedElsewhere(uint64_t id) {
  absl::MutexLock lock(&mu_);
  const auto it = states_.find(id);
  if (it != states_.end() && it->second.file) it->second.file->ChangedElsewhere();
}

void DirectFiles::Follow(uint64_t id) {
  std::shared_ptr<File> file;
  {
    absl::MutexLock lock(&mu_);
    const auto it = states_.find(id);
    if (it != states_.end()) file = it->second.file;
  }
  // What cannot be brought up to date now is tried again when it is settled.
  if (file) (void)file->Follow().ok();
}

void DirectFiles::SettleAll() {
  for (const auto& file : FilesOf(nullptr)) (void)file->Settle(Settling::kAlways).ok();
}

void DirectFiles::Reset(const Tree& tree, InodeTable& inodes) {
  std::vector<uint64_t> ids;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [id, state] : states_) {
      if (!state.file || &state.file->tree() != &tree) continue;
      state.file->MakeStale();
      ids.push_back(id);
    }
  }
  for (const uint64_t id : ids) inodes.Retire(id);
}

}  // namespace agentfs::fuse
