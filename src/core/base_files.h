// SPDX-License-Identifier: Apache-2.0
//
// Open files of the base, a bounded number, least recently used closed first.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/base_fs.h"

namespace agentfs {

// Thread-safe. Its lock is a leaf; files are opened outside it.
class BaseFiles {
 public:
  explicit BaseFiles(BaseFs* base) : base_(base) {}

  // The file at `path`, if it is the one with this identity; ESTALE otherwise.
  Result<std::shared_ptr<BaseFile>> Open(const std::string& path, uint64_t identity);
  void Forget(uint64_t identity);

 private:
  static constexpr size_t kMaxOpen = 256;
  struct Item {
    uint64_t identity;
    std::shared_ptr<BaseFile> file;
  };

  BaseFs* const base_;
  absl::Mutex mu_;
  std::list<Item> recent_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<uint64_t, std::list<Item>::iterator> files_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs
