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
#include "vfs/name_checking_fs.h"
#include "vfs/rules_in_force.h"

namespace agentfs {

class GuardedFs final : public NameCheckingFs {
 public:
  GuardedFs(std::shared_ptr<FileSystem> inner, std::shared_ptr<const RulesInForce> rules)
      : NameCheckingFs(std::move(inner)), rules_(std::move(rules)) {}

  // ---- names
  Result<Found> Lookup(const Caller& caller, Node& parent, std::string_view name) override;
  Result<Found> CreateUnnamed(const Caller& caller, Node& parent, uint32_t mode) override;
  Result<Attr> Link(const Caller& caller, Node& node, Node& parent, std::string_view name) override;
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

 private:
  // Where a name is, as the rules see it; none: nowhere any more.
  std::optional<std::string> PathIn(Node& directory, std::string_view name) const;
  std::optional<std::string> PathNow(Node& node) const;
  Result<void> CheckChanged(Node& parent, std::string_view name) const;
  Result<void> CheckMade(Node& parent, std::string_view name) const override {
    return CheckChanged(parent, name);
  }
  Result<void> CheckRemoved(Node& parent, std::string_view name) const override {
    return CheckChanged(parent, name);
  }
  Result<void> CheckNode(Node& node, PathAccess access) const;
  Result<void> CheckMove(Node& parent, std::string_view name, Node& new_parent,
                         std::string_view new_name) const;

  void Remember(NodeId node) ABSL_LOCKS_EXCLUDED(mu_);
  bool WasDenied(NodeId node) const ABSL_LOCKS_EXCLUDED(mu_);

  const std::shared_ptr<const RulesInForce> rules_;
  mutable absl::Mutex mu_;
  // Seen where it may not be read: so it stays when that name has gone.
  absl::flat_hash_set<uint64_t> denied_ ABSL_GUARDED_BY(mu_);
};

}  // namespace agentfs
