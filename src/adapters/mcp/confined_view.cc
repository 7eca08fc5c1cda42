// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/confined_view.h"

#include "vfs/forwarding_fs.h"

namespace agentfs::mcp {
namespace {

constexpr std::string_view kReserved = ".agentfs";

bool IsReserved(const Node& parent, std::string_view name) {
  return parent.id() == kRootNode && name == kReserved;
}

// Only functions that take a name in a directory have something to refuse.
class ConfinedView final : public ForwardingFs {
 public:
  using ForwardingFs::ForwardingFs;

  Result<Found> Lookup(const Caller& caller, Node& parent, std::string_view name) override {
    if (IsReserved(parent, name)) return Error(ENOENT);
    return inner().Lookup(caller, parent, name);
  }
  Result<Found> Create(const Caller& caller, Node& parent, std::string_view name,
                       uint32_t mode) override {
    if (IsReserved(parent, name)) return Error(EACCES);
    return inner().Create(caller, parent, name, mode);
  }
  Result<Found> MakeDirectory(const Caller& caller, Node& parent, std::string_view name,
                              uint32_t mode) override {
    if (IsReserved(parent, name)) return Error(EACCES);
    return inner().MakeDirectory(caller, parent, name, mode);
  }
  Result<Found> MakeNode(const Caller& caller, Node& parent, std::string_view name, uint32_t mode,
                         uint64_t rdev) override {
    if (IsReserved(parent, name)) return Error(EACCES);
    return inner().MakeNode(caller, parent, name, mode, rdev);
  }
  Result<Found> MakeSymlink(const Caller& caller, Node& parent, std::string_view name,
                            std::string_view target) override {
    if (IsReserved(parent, name)) return Error(EACCES);
    return inner().MakeSymlink(caller, parent, name, target);
  }
  Result<Attr> Link(const Caller& caller, Node& node, Node& parent,
                    std::string_view name) override {
    if (IsReserved(parent, name)) return Error(EACCES);
    return inner().Link(caller, node, parent, name);
  }
  Result<void> Unlink(const Caller& caller, Node& parent, std::string_view name) override {
    if (IsReserved(parent, name)) return Error(EACCES);
    return inner().Unlink(caller, parent, name);
  }
  Result<void> RemoveDirectory(const Caller& caller, Node& parent, std::string_view name) override {
    if (IsReserved(parent, name)) return Error(EACCES);
    return inner().RemoveDirectory(caller, parent, name);
  }
  Result<void> Rename(const Caller& caller, Node& parent, std::string_view name, Node& new_parent,
                      std::string_view new_name, RenameMode mode) override {
    if (IsReserved(parent, name) || IsReserved(new_parent, new_name)) return Error(EACCES);
    return inner().Rename(caller, parent, name, new_parent, new_name, mode);
  }
};

}  // namespace

std::shared_ptr<FileSystem> Confine(std::shared_ptr<FileSystem> view) {
  return std::make_shared<ConfinedView>(std::move(view));
}

}  // namespace agentfs::mcp
