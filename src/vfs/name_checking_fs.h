// SPDX-License-Identifier: Apache-2.0
//
// A filesystem in which names are made and removed only if they may be: what decorators that decide
// by path are derived from. What a rename needs each says itself. As thread-safe as the one below
// and its checks, which are called without a lock.
#pragma once

#include <string>
#include <string_view>

#include "vfs/forwarding_fs.h"

namespace agentfs {

class NameCheckingFs : public ForwardingFs {
 public:
  using ForwardingFs::ForwardingFs;

  Result<Found> Create(const Caller& caller, Node& parent, std::string_view name,
                       uint32_t mode) override {
    AGENTFS_TRY(CheckMade(parent, name));
    return inner().Create(caller, parent, name, mode);
  }
  Result<Found> MakeDirectory(const Caller& caller, Node& parent, std::string_view name,
                              uint32_t mode) override {
    AGENTFS_TRY(CheckMade(parent, name));
    return inner().MakeDirectory(caller, parent, name, mode);
  }
  Result<Found> MakeNode(const Caller& caller, Node& parent, std::string_view name, uint32_t mode,
                         uint64_t rdev) override {
    AGENTFS_TRY(CheckMade(parent, name));
    return inner().MakeNode(caller, parent, name, mode, rdev);
  }
  Result<Found> MakeSymlink(const Caller& caller, Node& parent, std::string_view name,
                            std::string_view target) override {
    AGENTFS_TRY(CheckMade(parent, name));
    return inner().MakeSymlink(caller, parent, name, target);
  }
  Result<Attr> Link(const Caller& caller, Node& node, Node& parent,
                    std::string_view name) override {
    AGENTFS_TRY(CheckMade(parent, name));
    return inner().Link(caller, node, parent, name);
  }
  Result<void> Unlink(const Caller& caller, Node& parent, std::string_view name) override {
    AGENTFS_TRY(CheckRemoved(parent, name));
    return inner().Unlink(caller, parent, name);
  }
  Result<void> RemoveDirectory(const Caller& caller, Node& parent, std::string_view name) override {
    AGENTFS_TRY(CheckRemoved(parent, name));
    return inner().RemoveDirectory(caller, parent, name);
  }

 protected:
  // The error that an operation ends with which would make, or remove, the name.
  virtual Result<void> CheckMade(Node& parent, std::string_view name) const = 0;
  virtual Result<void> CheckRemoved(Node& parent, std::string_view name) const = 0;

  // The path that the name has now; with an empty name the directory's, with '/' at its end.
  Result<std::string> PathBelow(Node& directory, std::string_view name) const {
    AGENTFS_ASSIGN(std::string path, inner().PathOf(directory));
    if (path != "/") path += '/';
    path += name;
    return path;
  }
};

}  // namespace agentfs
