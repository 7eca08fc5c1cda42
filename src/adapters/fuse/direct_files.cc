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
    return SettleLocked(how);
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

  const std::shared_ptr<Tree> tree_;
  const NodeRef node_;
  const int host_;
  const int32_t backing_;
  const uint64_t origin_;
  std::atomic<bool> stale_{false};
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
  if (stale()) return Ok();
  AGENTFS_ASSIGN(const struct stat st, StatFd(host_));
  const Timestamp modified = ModifiedOf(st);
  const auto size = static_cast<uint64_t>(st.st_size);
  const bool untouched = !settled_ && size == 0 && how != Settling::kModified;
  const bool changed = how == Settling::kModified ||
                       (!untouched && (!settled_ || size != size_ || !(modified == modified_)));
  if (!changed && how == Settling::kIfChanged) return Ok();
  if (untouched) return Ok();
  HostContent content;
  content.file = host_;
  content.how = how == Settling::kCopy ? HostContent::How::kCopied : HostContent::How::kShared;
  content.last = how == Settling::kLast;
  if (changed) content.modified = modified;
  content.kind = kind;
  if (kind == OpKind::kWrite && size > size_) content.bytes = size - size_;
  content.wanted = [this] { return !stale(); };
  Caller caller;
  caller.checked = true;
  caller.origin = origin_;
  caller.written_back = true;
  const Writer writer = writer_;
  caller.uid = writer.uid;
  caller.pid = writer.pid;
  auto taken = tree_->fs().TakeContent(caller, *node_, content);
  if (!taken.ok() && taken.code() != ECANCELED) return taken.error();
  settled_ = true;
  size_ = size;
  modified_ = modified;
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
  if (wish == Wish::kDirectIfEmpty) {
    AGENTFS_ASSIGN(const Attr attr, inode.fs().GetAttr(*inode.node));
    empty = attr.size == 0 && S_ISREG(attr.mode);
  }
  absl::MutexLock lock(&mu_);
  State& state = states_[inode.id];
  if (state.file && state.file->stale()) return Error(ESTALE);
  if (!state.file && state.cached == 0 && empty) {
    state.file = MakeLocked(inode);
    if (state.file) inode.direct.store(true, std::memory_order_release);
  }
  OpenOut out{};
  if (!state.file) {
    ++state.cached;
    out.open_flags = FOPEN_NOFLUSH;
    // Pages from before it was last open the other way are of no use.
    if (!std::exchange(inode.was_direct, false)) out.open_flags |= FOPEN_KEEP_CACHE;
    return out;
  }
  ++state.file->opens;
  if (wish == Wish::kDirectIfEmpty) state.file->SetWriter(caller);
  inode.was_direct = true;
  out.fh = kDirectHandle;
  out.open_flags = kOpenPassthrough;
  out.backing_id = state.file->backing();
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
  (void)file->Settle(Settling::kLast).ok();
  absl::MutexLock lock(&mu_);
  const auto it = states_.find(inode.id);
  if (--file->opens != 0) return;
  ForgetBacking(device_, file->backing());
  inode.direct.store(false, std::memory_order_release);
  states_.erase(it);
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
