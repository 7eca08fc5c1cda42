// SPDX-License-Identifier: Apache-2.0
//
// Objects as host files: DIRECTORY/<two hex>/<sixteen hex>.
//
// An object opens its file when it is used and may lose the descriptor to another one afterwards
// (second chance: the oldest that was not used since the last look). Lock order:
// ObjectFiles::mutex_ before FileObject::mutex_.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/blob_store.h"
#include "sys/fd.h"
#include "sys/spill_directory.h"

namespace agentfs {
namespace {

constexpr size_t kShards = 256;

enum class Lifetime : uint8_t { kKept, kTemporary };

// Neighbouring ids share a directory, so that making many durable syncs few directories.
size_t ShardOf(ObjectId id) { return (id.value >> 8) % kShards; }

std::string Hex(uint64_t value, int digits) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out(static_cast<size_t>(digits), '0');
  for (size_t i = out.size(); i-- > 0; value >>= 4) out[i] = kDigits[value & 15];
  return out;
}

// Files that are being written and are no objects (yet), each under its inode's number.
constexpr char kHostFiles[] = "host";
Result<std::string> NameOfFile(int file) {
  AGENTFS_ASSIGN(const struct stat st, StatFd(file));
  return std::string(kHostFiles) + "/" + Hex(st.st_ino, 16);
}

std::string ShardName(size_t shard) { return Hex(shard, 2); }
std::string FileOf(ObjectId id) { return ShardName(ShardOf(id)) + "/" + Hex(id.value, 16); }

// The id that a file name spells, or 0.
ObjectId ParseName(std::string_view name) {
  if (name.size() != 16) return ObjectId();
  uint64_t value = 0;
  for (char c : name) {
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return ObjectId();
    value = value << 4 | static_cast<uint64_t>(digit);
  }
  return ObjectId(value);
}

class ObjectFiles;

class FileObject final : public BlobObject {
 public:
  FileObject(std::shared_ptr<ObjectFiles> files, ObjectId id, int64_t generation)
      : files_(std::move(files)), id_(id), generation_(generation) {}
  ~FileObject() override;

  Result<void> Read(uint64_t offset, std::span<char> out) override;
  Result<void> Write(uint64_t offset, std::span<const char> data) override;
  Result<void> Punch(uint64_t offset, uint64_t length) override;
  Result<bool> CloneRange(int source_fd, uint64_t source_offset, uint64_t length,
                          uint64_t offset) override;
  Result<void> Sync() override;
  Result<uint64_t> StoredBytes() override;
  Result<End> GetEnd() override;
  Result<void> Cut(uint64_t size) override;
  // Once asked for, the descriptor stays open as long as the object.
  int descriptor() const override;

 private:
  friend class ObjectFiles;
  // The open file; it stays open as long as the pointer is held, whatever happens to the cache.
  Result<std::shared_ptr<Fd>> Use();

  const std::shared_ptr<ObjectFiles> files_;
  const ObjectId id_;
  const int64_t generation_;  // how many objects its directory had seen when it was opened
  std::atomic<bool> used_{false};
  absl::Mutex mutex_;
  std::shared_ptr<Fd> fd_ ABSL_GUARDED_BY(mutex_);
  bool pinned_ ABSL_GUARDED_BY(mutex_) = false;  // the descriptor is not to be taken away
};

// What the objects of one store share; lives as long as any of them.
class ObjectFiles : public std::enable_shared_from_this<ObjectFiles> {
 public:
  ObjectFiles(Fd root, Lifetime lifetime, std::unique_ptr<SpillDirectory> spill)
      : root_(std::move(root)), lifetime_(lifetime), spill_(std::move(spill)) {
    synced_.fill(-1);
  }

  Result<std::shared_ptr<BlobObject>> Create(ObjectId id);
  Result<std::shared_ptr<BlobObject>> Open(ObjectId id);
  Result<void> Remove(ObjectId id);
  Result<void> List(const std::function<void(ObjectId, uint64_t)>& visit);
  Result<int> NewFile();
  void DropFile(int file);
  Result<std::shared_ptr<BlobObject>> Adopt(ObjectId id, int file);
  // What a process that was killed has left of its files.
  void RemoveOldFiles();

  // Opens the object's file unless it is open, closing another one if there are too many.
  Result<std::shared_ptr<Fd>> OpenFile(FileObject& object);
  // Makes it durable that the object exists.
  Result<void> SyncName(const FileObject& object);
  void Forget(FileObject& object);
  bool keeps() const { return lifetime_ == Lifetime::kKept; }

 private:
  Result<std::shared_ptr<Fd>> OpenFileLocked(FileObject& object)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Result<Fd> CreateFileLocked(ObjectId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Result<Fd> OpenExistingLocked(ObjectId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `object` outlives the lock, which its destructor takes, also when there is no memory.
  void AddLocked(ObjectId id, Fd fd, std::shared_ptr<FileObject>& object)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<FileObject> LiveLocked(ObjectId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Closes descriptors until at most `limit` are open (pinned ones do not count).
  void EvictLocked(size_t limit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Result<void> ListShard(size_t shard, const std::function<void(ObjectId, uint64_t)>& visit);

  const Fd root_;
  const Lifetime lifetime_;
  const std::unique_ptr<SpillDirectory> spill_;
  const size_t descriptor_limit_ = DescriptorBudget();

  absl::Mutex mutex_;
  // The objects that somebody holds. A pointer stays valid while mutex_ is held: destruction
  // begins with Forget.
  absl::flat_hash_map<uint64_t, std::weak_ptr<FileObject>> live_ ABSL_GUARDED_BY(mutex_);
  std::deque<FileObject*> open_ ABSL_GUARDED_BY(mutex_);  // with a descriptor, oldest first
  // For each directory: objects made by this process, and how many of these are surely durable
  // (-1: not even those that were there before).
  std::array<int64_t, kShards> made_ ABSL_GUARDED_BY(mutex_) = {};
  std::array<int64_t, kShards> synced_ ABSL_GUARDED_BY(mutex_);
};

// ---- FileObject

FileObject::~FileObject() { files_->Forget(*this); }

Result<std::shared_ptr<Fd>> FileObject::Use() {
  used_.store(true, std::memory_order_relaxed);
  {
    absl::MutexLock lock(&mutex_);
    if (fd_) return fd_;
  }
  return files_->OpenFile(*this);
}

Result<void> FileObject::Read(uint64_t offset, std::span<char> out) {
  AGENTFS_ASSIGN(auto fd, Use());
  AGENTFS_ASSIGN(size_t n, ReadAt(fd->get(), offset, out));
  if (n < out.size()) std::memset(out.data() + n, 0, out.size() - n);
  return Ok();
}

Result<void> FileObject::Write(uint64_t offset, std::span<const char> data) {
  AGENTFS_ASSIGN(auto fd, Use());
  return WriteAt(fd->get(), offset, data);
}

Result<void> FileObject::Punch(uint64_t offset, uint64_t length) {
  AGENTFS_ASSIGN(auto fd, Use());
  return PunchRange(fd->get(), offset, length);
}

Result<bool> FileObject::CloneRange(int source_fd, uint64_t source_offset, uint64_t length,
                                    uint64_t offset) {
  AGENTFS_ASSIGN(auto fd, Use());
  return CloneOrCopyRange(source_fd, source_offset, fd->get(), offset, length);
}

Result<void> FileObject::Sync() {
  if (!files_->keeps()) return Ok();
  AGENTFS_ASSIGN(auto fd, Use());
  AGENTFS_TRY(SyncDataFd(fd->get()));
  return files_->SyncName(*this);
}

Result<uint64_t> FileObject::StoredBytes() {
  AGENTFS_ASSIGN(auto fd, Use());
  AGENTFS_ASSIGN(struct stat st, StatFd(fd->get()));
  return static_cast<uint64_t>(st.st_blocks) * 512;
}

Result<BlobObject::End> FileObject::GetEnd() {
  if (!files_->keeps()) return Error(EOPNOTSUPP);
  AGENTFS_ASSIGN(auto fd, Use());
  AGENTFS_ASSIGN(const struct stat st, StatFd(fd->get()));
  return End{static_cast<uint64_t>(st.st_size),
             {st.st_mtim.tv_sec, static_cast<uint32_t>(st.st_mtim.tv_nsec)}};
}

Result<void> FileObject::Cut(uint64_t size) {
  AGENTFS_ASSIGN(auto fd, Use());
  if (::ftruncate(fd->get(), static_cast<off_t>(size)) != 0) return ErrnoError();
  return Ok();
}

int FileObject::descriptor() const {
  auto* self = const_cast<FileObject*>(this);
  for (;;) {
    auto fd = self->Use();
    if (!fd.ok()) return -1;
    absl::MutexLock lock(&self->mutex_);
    if (self->fd_ != *fd) continue;  // taken away since
    self->pinned_ = true;
    return (*fd)->get();
  }
}

// ---- ObjectFiles

std::shared_ptr<FileObject> ObjectFiles::LiveLocked(ObjectId id) {
  auto it = live_.find(id.value);
  return it == live_.end() ? nullptr : it->second.lock();
}

void ObjectFiles::AddLocked(ObjectId id, Fd fd, std::shared_ptr<FileObject>& object) {
  object = std::make_shared<FileObject>(shared_from_this(), id, made_[ShardOf(id)]);
  live_[id.value] = object;
  {
    absl::MutexLock lock(&object->mutex_);
    object->fd_ = std::make_shared<Fd>(std::move(fd));
  }
  open_.push_back(object.get());
  EvictLocked(descriptor_limit_);
}

Result<Fd> ObjectFiles::CreateFileLocked(ObjectId id) {
  const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  for (int attempt = 0;; ++attempt) {
    auto fd = OpenAt(root_.get(), FileOf(id), flags, 0600);
    if (fd.ok() || attempt == 2) return fd;
    if (fd.code() == ENOENT) {
      if (::mkdirat(root_.get(), ShardName(ShardOf(id)).c_str(), 0700) != 0 && errno != EEXIST) {
        return ErrnoError();
      }
    } else if (fd.code() == EMFILE || fd.code() == ENFILE) {
      EvictLocked(0);
    } else {
      return fd;
    }
  }
}

Result<Fd> ObjectFiles::OpenExistingLocked(ObjectId id) {
  auto fd = OpenAt(root_.get(), FileOf(id), O_RDWR | O_NOFOLLOW);
  if (fd.code() == EMFILE || fd.code() == ENFILE) {
    EvictLocked(0);
    fd = OpenAt(root_.get(), FileOf(id), O_RDWR | O_NOFOLLOW);
  }
  // A store on a read-only medium can still be read.
  if (fd.code() == EROFS || fd.code() == EACCES) {
    fd = OpenAt(root_.get(), FileOf(id), O_RDONLY | O_NOFOLLOW);
  }
  return fd;
}

Result<std::shared_ptr<BlobObject>> ObjectFiles::Create(ObjectId id) {
  std::shared_ptr<FileObject> object;
  absl::MutexLock lock(&mutex_);
  AGENTFS_ASSIGN(Fd fd, CreateFileLocked(id));
  ++made_[ShardOf(id)];
  AddLocked(id, std::move(fd), object);
  return std::shared_ptr<BlobObject>(object);
}

// It has a name all the time: the kernel gives none to a file that has lost its last.
Result<int> ObjectFiles::NewFile() {
  static std::atomic<uint64_t> next{1};
  if (::mkdirat(root_.get(), kHostFiles, 0700) != 0 && errno != EEXIST) return ErrnoError();
  const std::string made = std::string(kHostFiles) + "/new." + std::to_string(::getpid()) + "." +
                           std::to_string(next.fetch_add(1));
  AGENTFS_ASSIGN(Fd file, OpenAt(root_.get(), made, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  AGENTFS_ASSIGN(const std::string name, NameOfFile(file.get()));
  if (::renameat(root_.get(), made.c_str(), root_.get(), name.c_str()) != 0) {
    const Error failed = ErrnoError();
    ::unlinkat(root_.get(), made.c_str(), 0);
    return failed;
  }
  return file.Release();
}

void ObjectFiles::DropFile(int file) {
  const Fd held(file);
  auto name = NameOfFile(file);
  if (name.ok()) ::unlinkat(root_.get(), name->c_str(), 0);
}

void ObjectFiles::RemoveOldFiles() {
  auto directory = OpenAt(root_.get(), kHostFiles, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!directory.ok()) return;
  const int fd = directory->Release();
  DIR* list = ::fdopendir(fd);
  if (list == nullptr) return;
  while (const dirent* entry = ::readdir(list)) {
    if (entry->d_name[0] != '.') ::unlinkat(fd, entry->d_name, 0);
  }
  ::closedir(list);
}

Result<std::shared_ptr<BlobObject>> ObjectFiles::Adopt(ObjectId id, int file) {
  const std::string source = "/proc/self/fd/" + std::to_string(file);
  const auto link = [&] {
    return ::linkat(AT_FDCWD, source.c_str(), root_.get(), FileOf(id).c_str(), AT_SYMLINK_FOLLOW);
  };
  std::shared_ptr<FileObject> object;
  absl::MutexLock lock(&mutex_);
  if (link() != 0) {
    if (errno != ENOENT) return ErrnoError();
    const int made = ::mkdirat(root_.get(), ShardName(ShardOf(id)).c_str(), 0700);
    if ((made != 0 && errno != EEXIST) || link() != 0) return ErrnoError();
  }
  ++made_[ShardOf(id)];
  AGENTFS_ASSIGN(Fd fd, OpenExistingLocked(id));
  AddLocked(id, std::move(fd), object);
  return std::shared_ptr<BlobObject>(object);
}

Result<std::shared_ptr<BlobObject>> ObjectFiles::Open(ObjectId id) {
  std::shared_ptr<FileObject> object;
  absl::MutexLock lock(&mutex_);
  object = LiveLocked(id);
  if (object) return std::shared_ptr<BlobObject>(object);
  AGENTFS_ASSIGN(Fd fd, OpenExistingLocked(id));
  AddLocked(id, std::move(fd), object);
  return std::shared_ptr<BlobObject>(object);
}

Result<void> ObjectFiles::Remove(ObjectId id) {
  std::shared_ptr<FileObject> object;  // outlives the lock: its destructor takes it
  absl::MutexLock lock(&mutex_);
  object = LiveLocked(id);
  if (object) {
    // Who holds the object goes on reading it: its descriptor must be there before the name goes.
    auto fd = OpenFileLocked(*object);
    if (!fd.ok() && fd.code() != ENOENT) return fd.error();
    absl::MutexLock object_lock(&object->mutex_);
    object->pinned_ = true;
    if (fd.ok()) object->fd_ = *fd;
  }
  if (::unlinkat(root_.get(), FileOf(id).c_str(), 0) != 0 && errno != ENOENT) return ErrnoError();
  live_.erase(id.value);
  return Ok();
}

Result<void> ObjectFiles::ListShard(size_t shard,
                                    const std::function<void(ObjectId, uint64_t)>& visit) {
  auto fd = OpenAt(root_.get(), ShardName(shard), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (fd.code() == ENOENT) return Ok();
  if (!fd.ok()) return fd.error();
  std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(fd->get()), ::closedir);
  if (!dir) return ErrnoError();
  const int directory = fd->Release();  // the stream closes it
  for (;;) {
    errno = 0;
    const struct dirent* entry = ::readdir(dir.get());
    if (!entry) return errno != 0 ? Result<void>(ErrnoError()) : Ok();
    ObjectId id = ParseName(entry->d_name);
    if (!id || ShardOf(id) != shard) continue;
    struct stat st;
    if (::fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;  // just gone
    if (S_ISREG(st.st_mode)) visit(id, static_cast<uint64_t>(st.st_blocks) * 512);
  }
}

Result<void> ObjectFiles::List(const std::function<void(ObjectId, uint64_t)>& visit) {
  for (size_t shard = 0; shard < kShards; ++shard) AGENTFS_TRY(ListShard(shard, visit));
  return Ok();
}

Result<std::shared_ptr<Fd>> ObjectFiles::OpenFile(FileObject& object) {
  absl::MutexLock lock(&mutex_);
  return OpenFileLocked(object);
}

Result<std::shared_ptr<Fd>> ObjectFiles::OpenFileLocked(FileObject& object) {
  {
    absl::MutexLock object_lock(&object.mutex_);
    if (object.fd_) return object.fd_;
  }
  AGENTFS_ASSIGN(Fd opened, OpenExistingLocked(object.id_));
  auto fd = std::make_shared<Fd>(std::move(opened));
  {
    absl::MutexLock object_lock(&object.mutex_);
    object.fd_ = fd;
  }
  open_.push_back(&object);
  EvictLocked(descriptor_limit_);
  return fd;
}

void ObjectFiles::EvictLocked(size_t limit) {
  // Each object gets at most one second chance in a call, so this ends.
  size_t looks = open_.size() * 2;
  while (open_.size() > limit && looks-- > 0) {
    FileObject* object = open_.front();
    open_.pop_front();
    const bool recent = object->used_.exchange(false, std::memory_order_relaxed);
    absl::MutexLock lock(&object->mutex_);
    if (object->pinned_) continue;  // leaves the queue, keeps its descriptor
    if (recent && limit > 0) {
      open_.push_back(object);
    } else {
      object->fd_.reset();
    }
  }
}

Result<void> ObjectFiles::SyncName(const FileObject& object) {
  const size_t shard = ShardOf(object.id_);
  int64_t made;
  bool first;
  {
    absl::MutexLock lock(&mutex_);
    if (synced_[shard] >= object.generation_) return Ok();
    made = made_[shard];
    first = synced_[shard] < 0;
  }
  auto directory = OpenAt(root_.get(), ShardName(shard), O_RDONLY | O_DIRECTORY);
  if (directory.code() == EMFILE || directory.code() == ENFILE) {
    absl::MutexLock lock(&mutex_);
    EvictLocked(0);
    directory = OpenAt(root_.get(), ShardName(shard), O_RDONLY | O_DIRECTORY);
  }
  if (!directory.ok()) return directory.error();
  AGENTFS_TRY(SyncFd(directory->get()));
  if (first) AGENTFS_TRY(SyncFd(root_.get()));
  absl::MutexLock lock(&mutex_);
  synced_[shard] = std::max(synced_[shard], made);
  return Ok();
}

void ObjectFiles::Forget(FileObject& object) {
  absl::MutexLock lock(&mutex_);
  std::erase(open_, &object);
  auto it = live_.find(object.id_.value);
  // Not if the name is by now another object's.
  if (it == live_.end() || !it->second.expired()) return;
  live_.erase(it);
}

class HostBlobStore final : public BlobStore {
 public:
  explicit HostBlobStore(std::shared_ptr<ObjectFiles> files) : files_(std::move(files)) {}

  Result<std::shared_ptr<BlobObject>> Create(ObjectId id) override { return files_->Create(id); }
  Result<std::shared_ptr<BlobObject>> Open(ObjectId id) override { return files_->Open(id); }
  Result<void> Remove(ObjectId id) override { return files_->Remove(id); }
  Result<void> List(const std::function<void(ObjectId, uint64_t)>& visit) override {
    return files_->List(visit);
  }
  Result<int> NewFile() override { return files_->NewFile(); }
  void DropFile(int file) override { files_->DropFile(file); }
  Result<std::shared_ptr<BlobObject>> Adopt(ObjectId id, int file) override {
    return files_->Adopt(id, file);
  }

 private:
  const std::shared_ptr<ObjectFiles> files_;
};

Result<std::unique_ptr<BlobStore>> OpenDirectory(const std::string& directory, Lifetime lifetime,
                                                 std::unique_ptr<SpillDirectory> spill) {
  auto root = OpenAt(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY);
  if (!root.ok()) return root.error().WithContext("cannot open " + directory);
  auto files = std::make_shared<ObjectFiles>(std::move(root).value(), lifetime, std::move(spill));
  files->RemoveOldFiles();
  return std::unique_ptr<BlobStore>(new HostBlobStore(std::move(files)));
}

}  // namespace

Result<std::unique_ptr<BlobStore>> OpenHostBlobStore(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) == 0) {
    AGENTFS_ASSIGN(Fd parent, OpenAt(AT_FDCWD, directory + "/..", O_RDONLY | O_DIRECTORY));
    AGENTFS_TRY(SyncFd(parent.get()));
  } else if (errno != EEXIST && errno != EROFS) {
    return ErrnoError().WithContext("cannot make " + directory);
  }
  return OpenDirectory(directory, Lifetime::kKept, nullptr);
}

Result<std::unique_ptr<BlobStore>> OpenTemporaryBlobStore(const std::string& directory) {
  AGENTFS_ASSIGN(auto spill, SpillDirectory::Create(directory));
  const std::string path = spill->path();
  return OpenDirectory(path, Lifetime::kTemporary, std::move(spill));
}

}  // namespace agentfs
