// SPDX-License-Identifier: Apache-2.0
//
// A base that is another one, for tests that change or count a few of its answers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agentfs/base_fs.h"

namespace agentfs {

class ForwardingBase : public BaseFs {
 public:
  explicit ForwardingBase(std::unique_ptr<BaseFs> inner) : inner_(std::move(inner)) {}

  Result<BaseStat> Stat(std::string_view path) override { return inner_->Stat(path); }
  Result<std::unique_ptr<BaseFile>> Open(std::string_view path) override {
    return inner_->Open(path);
  }
  Result<std::vector<BaseEntry>> List(std::string_view path) override { return inner_->List(path); }
  Result<std::vector<Result<BaseStat>>> StatNames(
      std::string_view directory, std::span<const std::string_view> names) override {
    return inner_->StatNames(directory, names);
  }
  Result<std::string> ReadLink(std::string_view path) override { return inner_->ReadLink(path); }
  Result<std::vector<std::string>> ListXattrs(std::string_view path) override {
    return inner_->ListXattrs(path);
  }
  Result<std::string> GetXattr(std::string_view path, std::string_view name) override {
    return inner_->GetXattr(path, name);
  }
  Result<FsStats> StatFs() override { return inner_->StatFs(); }
  bool IsAtHand(std::string_view path) override { return inner_->IsAtHand(path); }
  Result<void> Observe(BaseObserver* observer) override { return inner_->Observe(observer); }
  Result<void> Watch(const std::string& directory) override { return inner_->Watch(directory); }
  uint64_t watch_generation() const override { return inner_->watch_generation(); }
  bool HasToldAll() const override { return inner_->HasToldAll(); }

 private:
  const std::unique_ptr<BaseFs> inner_;
};

}  // namespace agentfs
