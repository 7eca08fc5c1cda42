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
  AGENTFS_ASSIGN(std::shared_ptr<BaseFile> file, base_->Open(path));
  AGENTFS_ASSIGN(BaseStat stat, file->Stat());
  if (stat.identity != identity) return Error(ESTALE);
  absl::MutexLock lock(&mu_);
  if (!files_.contains(identity)) {
    recent_.push_front({identity, file});
    files_[identity] = recent_.begin();
  }
  if (recent_.size() > kMaxOpen) {
    files_.erase(recent_.back().identity);
    recent_.pop_back();
  }
  return file;
}

void BaseFiles::Forget(uint64_t identity) {
  absl::MutexLock lock(&mu_);
  auto it = files_.find(identity);
  if (it == files_.end()) return;
  recent_.erase(it->second);
  files_.erase(it);
}

}  // namespace agentfs
