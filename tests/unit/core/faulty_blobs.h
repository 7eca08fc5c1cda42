// SPDX-License-Identifier: Apache-2.0
//
// Objects on a disk some of whose sectors cannot be read.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "agentfs/blob_store.h"

namespace agentfs {

// The objects that cannot be opened, and with which error. Thread-safe; outlives the stores.
class BadSectors {
 public:
  void Fail(ObjectId object, int code) {
    absl::MutexLock lock(&mu_);
    objects_.insert(object);
    code_ = code;
  }
  void Heal() {
    absl::MutexLock lock(&mu_);
    objects_.clear();
  }
  int CodeOf(ObjectId object) {
    absl::MutexLock lock(&mu_);
    return objects_.contains(object) ? code_ : 0;
  }

 private:
  absl::Mutex mu_;
  std::set<ObjectId> objects_ ABSL_GUARDED_BY(mu_);
  int code_ ABSL_GUARDED_BY(mu_) = 0;
};

class FaultyBlobs final : public BlobStore {
 public:
  FaultyBlobs(std::unique_ptr<BlobStore> inner, BadSectors& sectors)
      : inner_(std::move(inner)), sectors_(sectors) {}

  Result<std::shared_ptr<BlobObject>> Create(ObjectId id) override { return inner_->Create(id); }
  Result<std::shared_ptr<BlobObject>> Open(ObjectId id) override {
    if (const int code = sectors_.CodeOf(id); code != 0) return Error(code);
    return inner_->Open(id);
  }
  Result<void> Remove(ObjectId id) override { return inner_->Remove(id); }
  Result<void> List(const std::function<void(ObjectId, uint64_t)>& visit) override {
    return inner_->List(visit);
  }
  Result<int> NewFile() override { return inner_->NewFile(); }
  void DropFile(int file) override { inner_->DropFile(file); }
  Result<std::shared_ptr<BlobObject>> Adopt(ObjectId id, int file) override {
    return inner_->Adopt(id, file);
  }

 private:
  const std::unique_ptr<BlobStore> inner_;
  BadSectors& sectors_;
};

}  // namespace agentfs
