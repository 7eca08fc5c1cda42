// SPDX-License-Identifier: Apache-2.0
//
// A small FileSystem in memory, for tests of what is written against the seam: simple enough to be
// right by inspection, and able to fail on demand.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/filesystem.h"

namespace agentfs::testing {

class FakeNode;

class FakeFs : public FileSystem {
 public:
  FakeFs();
  ~FakeFs() override;

  // The `count`th change from now (1: the next one), and it alone, fails with `code`.
  void FailChange(uint64_t count, int code);
  uint64_t changes() const { return changes_; }
  void set_max_bytes(uint64_t bytes) { max_bytes_ = bytes; }

  NodeRef Root() override;
  Result<Found> Lookup(const Caller&, Node& parent, std::string_view name) override;
  Result<Found> Create(const Caller&, Node& parent, std::string_view name, uint32_t mode) override;
  Result<Found> MakeDirectory(const Caller&, Node& parent, std::string_view name,
                              uint32_t mode) override;
  Result<Found> MakeNode(const Caller&, Node& parent, std::string_view name, uint32_t mode,
                         uint64_t rdev) override;
  Result<Found> MakeSymlink(const Caller&, Node& parent, std::string_view name,
                            std::string_view target) override;
  Result<Found> CreateUnnamed(const Caller&, Node& parent, uint32_t mode) override;
  Result<Attr> Link(const Caller&, Node& node, Node& parent, std::string_view name) override;
  Result<void> Unlink(const Caller&, Node& parent, std::string_view name) override;
  Result<void> RemoveDirectory(const Caller&, Node& parent, std::string_view name) override;
  Result<void> Rename(const Caller&, Node& parent, std::string_view name, Node& new_parent,
                      std::string_view new_name, RenameMode mode) override;
  Result<std::string> ReadLink(const Caller&, Node& node) override;
  Result<void> ReadDirectory(const Caller&, Node& node, uint64_t cursor,
                             const DirVisitor& visit) override;
  Result<void> ReadDirectoryPlus(const Caller&, Node& node, uint64_t cursor,
                                 const DirAttrVisitor& visit) override;
  Result<Attr> GetAttr(Node& node) override;
  Result<Attr> SetAttr(const Caller&, Node& node, const AttrChange& change) override;
  Result<void> Access(const Caller&, Node& node, int mask) override;
  Result<std::string> GetXattr(const Caller&, Node& node, std::string_view name) override;
  Result<std::vector<std::string>> ListXattrs(const Caller&, Node& node) override;
  Result<void> SetXattr(const Caller&, Node& node, std::string_view name, std::string_view value,
                        XattrMode mode) override;
  Result<void> RemoveXattr(const Caller&, Node& node, std::string_view name) override;
  Result<void> Open(const Caller&, Node& node, int flags) override;
  Result<size_t> Read(Node& node, uint64_t offset, std::span<char> out) override;
  Result<size_t> Write(const Caller&, Node& node, uint64_t offset,
                       std::span<const char> data) override;
  Result<uint64_t> Append(const Caller&, Node& node, std::span<const char> data) override;
  Result<void> Allocate(const Caller&, Node& node, AllocateMode mode, uint64_t offset,
                        uint64_t length) override;
  Result<uint64_t> Seek(Node& node, uint64_t offset, SeekTarget target) override;
  Result<uint64_t> CopyRange(const Caller&, Node& source, uint64_t source_offset, Node& target,
                             uint64_t target_offset, uint64_t length) override;
  Result<void> Sync(Node& node) override;
  Result<FsStats> StatFs() override;
  NodeRef FindNode(NodeId) override { return {}; }
  Result<NodeRef> GetNode(NodeId, const std::string&) override { return Error(ENOTSUP); }
  Result<Named> NameOf(Node&) override { return Error(ENOTSUP); }
  Result<std::string> PathOf(Node&) override { return Error(ENOTSUP); }
  void AddObserver(ChangeObserver&) override {}
  void RemoveObserver(ChangeObserver&) override {}
  bool ObserversHearAll() const override { return true; }

 private:
  FakeNode* NewNode(const Caller& caller, uint32_t mode);
  Result<void> BeginChange();
  Result<void> CheckFree(const Caller& caller, FakeNode& parent, std::string_view name);
  Result<FakeNode*> Child(const Caller& caller, Node& parent, std::string_view name);
  Result<Found> Add(const Caller& caller, Node& parent, std::string_view name, uint32_t mode);
  Result<void> Permit(const Caller& caller, const FakeNode& node, int mask);
  void Touch(FakeNode& node);
  void Drop(FakeNode& node);

  std::recursive_mutex mutex_;
  std::vector<std::unique_ptr<FakeNode>> nodes_;  // all there ever were
  uint64_t changes_ = 0, fail_at_ = 0;
  int fail_code_ = 0;
  uint64_t clock_ = 1'000'000'000'000;
  uint64_t bytes_ = 0, max_bytes_ = UINT64_MAX;
};

}  // namespace agentfs::testing
