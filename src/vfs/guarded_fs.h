// SPDX-License-Identifier: Apache-2.0
//
// A filesystem as far as rules allow: what they deny fails with EACCES, whoever asks, and is told
// to the op log. Rules are about paths, so they are asked about the path that a node has now:
// symbolic links and ".." are resolved before anything comes here, a file that may not be read or
// written gets no second name, and a directory is moved only where the same is denied beneath it.
//
// Names of what is denied can be seen, and its attributes; a denied directory shows nothing that is
// in it. Thread-safe. Keeps no lock while it asks the filesystem below.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/filesystem.h"
#include "vfs/rules_in_force.h"

namespace agentfs {

class GuardedFs final : public FileSystem {
 public:
  GuardedFs(std::shared_ptr<FileSystem> inner, std::shared_ptr<const RulesInForce> rules)
      : inner_(std::move(inner)), rules_(std::move(rules)) {}

  // ---- names
  Result<Found> Lookup(const Caller& caller, Node& parent, std::string_view name) override;
  Result<Found> Create(const Caller& caller, Node& parent, std::string_view name,
                       uint32_t mode) override;
  Result<Found> MakeDirectory(const Caller& caller, Node& parent, std::string_view name,
                              uint32_t mode) override;
  Result<Found> MakeNode(const Caller& caller, Node& parent, std::string_view name, uint32_t mode,
                         uint64_t rdev) override;
  Result<Found> MakeSymlink(const Caller& caller, Node& parent, std::string_view name,
                            std::string_view target) override;
  Result<Found> CreateUnnamed(const Caller& caller, Node& parent, uint32_t mode) override;
  Result<Attr> Link(const Caller& caller, Node& node, Node& parent, std::string_view name) override;
  Result<void> Unlink(const Caller& caller, Node& parent, std::string_view name) override;
  Result<void> RemoveDirectory(const Caller& caller, Node& parent, std::string_view name) override;
  Result<void> Rename(const Caller& caller, Node& parent, std::string_view name, Node& new_parent,
                      std::string_view new_name, RenameMode mode) override;
  Result<std::string> ReadLink(const Caller& caller, Node& node) override;
  Result<void> ReadDirectory(const Caller& caller, Node& node, uint64_t cursor,
                             const DirVisitor& visit) override;
  Result<void> ReadDirectoryPlus(const Caller& caller, Node& node, uint64_t cursor,
                                 const DirAttrVisitor& visit) override;

  // ---- attributes
  Result<Attr> SetAttr(const Caller& caller, Node& node, const AttrChange& change) override;
  Result<void> Access(const Caller& caller, Node& node, int mask) override;
  Result<std::string> GetXattr(const Caller& caller, Node& node, std::string_view name) override;
  Result<void> SetXattr(const Caller& caller, Node& node, std::string_view name,
                        std::string_view value, XattrMode mode) override;
  Result<void> RemoveXattr(const Caller& caller, Node& node, std::string_view name) override;

  // ---- data
  Result<void> Open(const Caller& caller, Node& node, int flags) override;
  Result<size_t> Read(Node& node, uint64_t offset, std::span<char> out) override;
  Result<size_t> Write(const Caller& caller, Node& node, uint64_t offset,
                       std::span<const char> data) override;
  Result<uint64_t> Append(const Caller& caller, Node& node, std::span<const char> data) override;
  Result<void> Allocate(const Caller& caller, Node& node, AllocateMode mode, uint64_t offset,
                        uint64_t length) override;
  Result<uint64_t> CopyRange(const Caller& caller, Node& source, uint64_t source_offset,
                             Node& target, uint64_t target_offset, uint64_t length) override;

  // ---- what rules say nothing about
  NodeRef Root() override { return inner_->Root(); }
  NodeRef FindNode(NodeId id) override { return inner_->FindNode(id); }
  Result<NodeRef> GetNode(NodeId id, const std::string& base_path) override {
    return inner_->GetNode(id, base_path);
  }
  Result<Named> NameOf(Node& node) override { return inner_->NameOf(node); }
  Result<std::string> PathOf(Node& directory) override { return inner_->PathOf(directory); }
  Result<Attr> GetAttr(Node& node) override { return inner_->GetAttr(node); }
  Result<std::vector<std::string>> ListXattrs(const Caller& caller, Node& node) override {
    return inner_->ListXattrs(caller, node);
  }
  Result<uint64_t> Seek(Node& node, uint64_t offset, SeekTarget target) override {
    return inner_->Seek(node, offset, target);
  }
  Result<void> Sync(Node& node) override { return inner_->Sync(node); }
  Result<void> SyncData(Node& node) override { return inner_->SyncData(node); }
  Result<int> NewHostFile() override { return inner_->NewHostFile(); }
  void DropHostFile(int file) override { inner_->DropHostFile(file); }
  // Who writes such files has opened them through us.
  Result<void> TakeContent(const Caller& caller, Node& node, const HostContent& content) override {
    return inner_->TakeContent(caller, node, content);
  }
  void AddHostWriter(std::weak_ptr<HostWriter> writer) override {
    inner_->AddHostWriter(std::move(writer));
  }
  Result<FsStats> StatFs() override { return inner_->StatFs(); }
  void NoteDenied(const Caller& caller, const DeniedOp& denied) override {
    inner_->NoteDenied(caller, denied);
  }
  uint64_t NoteOpened(const Caller& caller, Node& node) override {
    return inner_->NoteOpened(caller, node);
  }
  void NoteClosed(uint64_t token, uint64_t bytes_read, uint64_t bytes) override {
    inner_->NoteClosed(token, bytes_read, bytes);
  }
  void AddObserver(ChangeObserver& observer) override { inner_->AddObserver(observer); }
  void RemoveObserver(ChangeObserver& observer) override { inner_->RemoveObserver(observer); }
  bool ObserversHearAll() const override { return inner_->ObserversHearAll(); }

 private:
  // Where a name is, as the rules see it; none: nowhere any more.
  std::optional<std::string> PathIn(Node& directory, std::string_view name);
  std::optional<std::string> PathNow(Node& node);
  Result<void> CheckName(Node& parent, std::string_view name, PathAccess access);
  Result<void> CheckNode(Node& node, PathAccess access);
  Result<void> CheckMove(Node& parent, std::string_view name, Node& new_parent,
                         std::string_view new_name);

  void Remember(NodeId node) ABSL_LOCKS_EXCLUDED(mu_);
  bool WasDenied(NodeId node) const ABSL_LOCKS_EXCLUDED(mu_);

  const std::shared_ptr<FileSystem> inner_;
  const std::shared_ptr<const RulesInForce> rules_;
  mutable absl::Mutex mu_;
  // Seen where it may not be read: so it stays when that name has gone.
  absl::flat_hash_set<uint64_t> denied_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs
