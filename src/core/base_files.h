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
#include "sys/fd.h"

namespace agentfs {

// Thread-safe. Its lock is a leaf; files are opened outside it.
class BaseFiles {
 public:
  explicit BaseFiles(BaseFs* base) : base_(base) {}

  // The file at `path`, if it is the one with this identity; ESTALE otherwise. The process may run
  // out of descriptors because of what is kept here: then it is closed, and tried again.
  Result<std::shared_ptr<BaseFile>> Open(const std::string& path, uint64_t identity);
  // The same for who does not need it now: nothing else is closed for it if there are too many.
  Result<std::shared_ptr<BaseFile>> OpenAhead(const std::string& path, uint64_t identity);
  void Forget(uint64_t identity);
  size_t limit() const { return limit_; }

 private:
  struct Item {
    uint64_t identity;
    std::shared_ptr<BaseFile> file;
  };
  std::shared_ptr<BaseFile> Find(uint64_t identity);
  // ESTALE: it is not the file with this identity.
  Result<std::shared_ptr<BaseFile>> Keep(Result<std::unique_ptr<BaseFile>> opened,
                                         uint64_t identity);
  Result<std::unique_ptr<BaseFile>> OpenNew(const std::string& path);
  void Clear();

  BaseFs* const base_;
  const size_t limit_ = DescriptorBudget();
  absl::Mutex mu_;
  std::list<Item> recent_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<uint64_t, std::list<Item>::iterator> files_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs
