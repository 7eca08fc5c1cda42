// SPDX-License-Identifier: Apache-2.0
//
// A filesystem without some paths: they are not found, not listed, not removed (ENOENT), and
// nothing can be given their names (EACCES). Links and ".." are resolved before anything comes
// here, so there is no way round; a directory above a hidden path cannot be moved (EACCES) nor
// removed (ENOTEMPTY).
//
// It is about names: a file that had a second one before keeps that. Whoever uses the filesystem
// below is not concerned. Thread-safe. Keeps no lock.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "vfs/forwarding_fs.h"
#include "vfs/hidden_paths.h"

namespace agentfs {

class HidingFs final : public ForwardingFs {
 public:
  HidingFs(std::shared_ptr<FileSystem> inner, std::shared_ptr<const HiddenPaths> hidden)
      : ForwardingFs(std::move(inner)), hidden_(std::move(hidden)) {}

  Result<Found> Lookup(const Caller& caller, Node& parent, std::string_view name) override;
  Result<Found> Create(const Caller& caller, Node& parent, std::string_view name,
                       uint32_t mode) override;
  Result<Found> MakeDirectory(const Caller& caller, Node& parent, std::string_view name,
                              uint32_t mode) override;
  Result<Found> MakeNode(const Caller& caller, Node& parent, std::string_view name, uint32_t mode,
                         uint64_t rdev) override;
  Result<Found> MakeSymlink(const Caller& caller, Node& parent, std::string_view name,
                            std::string_view target) override;
  Result<Attr> Link(const Caller& caller, Node& node, Node& parent, std::string_view name) override;
  Result<void> Unlink(const Caller& caller, Node& parent, std::string_view name) override;
  Result<void> RemoveDirectory(const Caller& caller, Node& parent, std::string_view name) override;
  Result<void> Rename(const Caller& caller, Node& parent, std::string_view name, Node& new_parent,
                      std::string_view new_name, RenameMode mode) override;
  Result<void> ReadDirectory(const Caller& caller, Node& node, uint64_t cursor,
                             const DirVisitor& visit) override;
  Result<void> ReadDirectoryPlus(const Caller& caller, Node& node, uint64_t cursor,
                                 const DirAttrVisitor& visit) override;

 private:
  bool Hides(Node& parent, std::string_view name) const;
  // ENOENT for what is to be found, EACCES for what is to be made, where it is hidden.
  Result<void> CheckFound(Node& parent, std::string_view name) const;
  Result<void> CheckMade(Node& parent, std::string_view name) const;
  // EACCES: something hidden would get another path.
  Result<void> CheckMoved(Node& parent, std::string_view name) const;
  // The directory's path, with '/' at its end; empty: nothing is hidden in it.
  Result<std::string> TopOf(Node& directory) const;

  const std::shared_ptr<const HiddenPaths> hidden_;
};

}  // namespace agentfs
