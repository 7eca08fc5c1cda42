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

#include "vfs/hidden_paths.h"
#include "vfs/name_checking_fs.h"

namespace agentfs {

class HidingFs final : public NameCheckingFs {
 public:
  HidingFs(std::shared_ptr<FileSystem> inner, std::shared_ptr<const HiddenPaths> hidden)
      : NameCheckingFs(std::move(inner)), hidden_(std::move(hidden)) {}

  Result<Found> Lookup(const Caller& caller, Node& parent, std::string_view name) override;
  Result<void> Rename(const Caller& caller, Node& parent, std::string_view name, Node& new_parent,
                      std::string_view new_name, RenameMode mode) override;
  Result<void> ReadDirectory(const Caller& caller, Node& node, uint64_t cursor,
                             const DirVisitor& visit) override;
  Result<void> ReadDirectoryPlus(const Caller& caller, Node& node, uint64_t cursor,
                                 const DirAttrVisitor& visit) override;

 private:
  bool Hides(Node& parent, std::string_view name) const;
  // Where it is hidden: ENOENT for what is to be found or removed, EACCES for what is to be made.
  Result<void> CheckFound(Node& parent, std::string_view name) const;
  Result<void> CheckRemoved(Node& parent, std::string_view name) const override {
    return CheckFound(parent, name);
  }
  Result<void> CheckMade(Node& parent, std::string_view name) const override;
  // EACCES: something hidden would get another path.
  Result<void> CheckMoved(Node& parent, std::string_view name) const;
  // The directory's path, with '/' at its end; empty: nothing is hidden in it.
  Result<std::string> TopOf(Node& directory) const;

  const std::shared_ptr<const HiddenPaths> hidden_;
};

}  // namespace agentfs
