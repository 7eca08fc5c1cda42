// SPDX-License-Identifier: Apache-2.0
#include "core/base_files.h"

namespace agentfs {

Result<std::shared_ptr<BaseFile>> BaseFiles::Open(const std::string& path, uint64_t identity) {
  {
    absl::MutexLock lock(&mu_);
    if (auto it = files_.find(identity); it != files_.end()) {
      recent_.splice(recent_.begin(), recent_, it->second);
      return recent_.front().file;
    }
  }
  AGENTFS_ASSIGN(std::shared_ptr<BaseFile> file, OpenNew(path));
  AGENTFS_ASSIGN(BaseStat stat, file->Stat());
  if (stat.identity != identity) return Error(ESTALE);
  absl::MutexLock lock(&mu_);
  if (!files_.contains(identity)) {
    recent_.push_front({identity, file});
    files_[identity] = recent_.begin();
  }
  if (recent_.size() > limit_) {
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
