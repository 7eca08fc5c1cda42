// SPDX-License-Identifier: Apache-2.0
#include "core/base_files.h"

namespace agentfs {

std::shared_ptr<BaseFile> BaseFiles::Find(uint64_t identity) {
  absl::MutexLock lock(&mu_);
  const auto it = files_.find(identity);
  if (it == files_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, it->second);
  return recent_.front().file;
}

Result<std::shared_ptr<BaseFile>> BaseFiles::Open(const std::string& path, uint64_t identity) {
  if (auto file = Find(identity)) return file;
  return Keep(OpenNew(path), identity);
}

Result<std::shared_ptr<BaseFile>> BaseFiles::OpenAhead(const std::string& path, uint64_t identity) {
  if (auto file = Find(identity)) return file;
  return Keep(base_->Open(path), identity);
}

Result<std::shared_ptr<BaseFile>> BaseFiles::Keep(Result<std::unique_ptr<BaseFile>> opened,
                                                  uint64_t identity) {
  AGENTFS_ASSIGN(std::shared_ptr<BaseFile> file, std::move(opened));
  AGENTFS_ASSIGN(BaseStat stat, file->Stat());
  if (stat.identity != identity) return Error(ESTALE);
  std::shared_ptr<BaseFile> closed;  // after the lock is released
  absl::MutexLock lock(&mu_);
  if (!files_.contains(identity)) {
    recent_.push_front({identity, file});
    files_[identity] = recent_.begin();
  }
  if (recent_.size() > limit_) {
    closed = std::move(recent_.back().file);
    files_.erase(recent_.back().identity);
    recent_.pop_back();
  }
  return file;
}

Result<std::unique_ptr<BaseFile>> BaseFiles::OpenNew(const std::string& path) {
  Result<std::unique_ptr<BaseFile>> file = base_->Open(path);
  if (file.code() != EMFILE && file.code() != ENFILE) return file;
  Clear();
  return base_->Open(path);
}

void BaseFiles::Clear() {
  std::list<Item> closed;  // after the lock is released
  absl::MutexLock lock(&mu_);
  files_.clear();
  closed.swap(recent_);
}

void BaseFiles::Forget(uint64_t identity) {
  absl::MutexLock lock(&mu_);
  auto it = files_.find(identity);
  if (it == files_.end()) return;
  recent_.erase(it->second);
  files_.erase(it);
}

}  // namespace agentfs
