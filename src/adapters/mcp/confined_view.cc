// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/confined_view.h"

namespace agentfs::mcp {
namespace {

constexpr std::string_view kReserved = ".agentfs";

bool IsReserved(const Node& parent, std::string_view name) {
  return parent.id() == kRootNode && name == kReserved;
}

// Only functions that take a name in a directory have something to refuse; all others pass on.
class ConfinedView final : public FileSystem {
 public:
  explicit ConfinedView(std::shared_ptr<FileSystem> view) : view_(std::move(view)) {}

  Result<Found> Lookup(const Caller& caller, Node& parent, std::string_view name) override {
    if (IsReserved(parent, name)) return Error(ENOENT);
    return view_->Lookup(caller, parent, name);
  }
  Result<Found> Create(const Caller& caller, Node& parent, std::string_view name,
                       uint32_t mode) override {
    if (IsReserved(parent, name)) return Error(EACCES);
    return view_->Create(caller, parent, name, mode);
  }
  Result<Found> MakeDirectory(const Caller& caller, Node& parent, std::string_view name,
                              uint32_t mode) override {
    if (IsReserved(parent, name)) return Error(EACCES);
    return view_->MakeDirectory(caller, parent, name, mode);
  }
  Result<Found> MakeNode(const Caller& caller, Node& parent, std::string_view name, uint32_t mode,
                         uint64_t rdev) override {
    if (IsReserved(parent, name)) return Error(EACCES);
    return view_->MakeNode(caller, parent, name, mode, rdev);
  }
  Result<Found> MakeSymlink(const Caller& caller, Node& parent, std::string_view name,
                            std::string_view target) override {
    if (IsReserved(parent, name)) return Error(EACCES);
    return view_->MakeSymlink(caller, parent, name, target);
  }
  Result<Attr> Link(const Caller& caller, Node& node, Node& parent,
                    std::string_view name) override {
    if (IsReserved(parent, name)) return Error(EACCES);
    return view_->Link(caller, node, parent, name);
  }
  Result<void> Unlink(const Caller& caller, Node& parent, std::string_view name) override {
    if (IsReserved(parent, name)) return Error(EACCES);
    return view_->Unlink(caller, parent, name);
  }
  Result<void> RemoveDirectory(const Caller& caller, Node& parent, std::string_view name) override {
    if (IsReserved(parent, name)) return Error(EACCES);
    return view_->RemoveDirectory(caller, parent, name);
  }
  Result<void> Rename(const Caller& caller, Node& parent, std::string_view name, Node& new_parent,
                      std::string_view new_name, RenameMode mode) override {
    if (IsReserved(parent, name) || IsReserved(new_parent, new_name)) return Error(EACCES);
    return view_->Rename(caller, parent, name, new_parent, new_name, mode);
  }

  NodeRef Root() override { return view_->Root(); }
  NodeRef FindNode(NodeId id) override { return view_->FindNode(id); }
  Result<NodeRef> GetNode(NodeId id, const std::string& base_path) override {
    return view_->GetNode(id, base_path);
  }
  Result<Named> NameOf(Node& node) override { return view_->NameOf(node); }
  Result<std::string> PathOf(Node& directory) override { return view_->PathOf(directory); }
  Result<Found> CreateUnnamed(const Caller& caller, Node& parent, uint32_t mode) override {
    return view_->CreateUnnamed(caller, parent, mode);
  }
  Result<std::string> ReadLink(const Caller& caller, Node& node) override {
    return view_->ReadLink(caller, node);
  }
  Result<void> ReadDirectory(const Caller& caller, Node& node, uint64_t cursor,
                             const DirVisitor& visit) override {
    return view_->ReadDirectory(caller, node, cursor, visit);
  }
  Result<void> ReadDirectoryPlus(const Caller& caller, Node& node, uint64_t cursor,
                                 const DirAttrVisitor& visit) override {
    return view_->ReadDirectoryPlus(caller, node, cursor, visit);
  }
  Result<Attr> GetAttr(Node& node) override { return view_->GetAttr(node); }
  Result<Attr> SetAttr(const Caller& caller, Node& node, const AttrChange& change) override {
    return view_->SetAttr(caller, node, change);
  }
  Result<void> Access(const Caller& caller, Node& node, int mask) override {
    return view_->Access(caller, node, mask);
  }
  Result<std::string> GetXattr(const Caller& caller, Node& node, std::string_view name) override {
    return view_->GetXattr(caller, node, name);
  }
  Result<std::vector<std::string>> ListXattrs(const Caller& caller, Node& node) override {
    return view_->ListXattrs(caller, node);
  }
  Result<void> SetXattr(const Caller& caller, Node& node, std::string_view name,
                        std::string_view value, XattrMode mode) override {
    return view_->SetXattr(caller, node, name, value, mode);
  }
  Result<void> RemoveXattr(const Caller& caller, Node& node, std::string_view name) override {
    return view_->RemoveXattr(caller, node, name);
  }
  Result<void> Open(const Caller& caller, Node& node, int flags) override {
    return view_->Open(caller, node, flags);
  }
  Result<size_t> Read(Node& node, uint64_t offset, std::span<char> out) override {
    return view_->Read(node, offset, out);
  }
  Result<size_t> Write(const Caller& caller, Node& node, uint64_t offset,
                       std::span<const char> data) override {
    return view_->Write(caller, node, offset, data);
  }
  Result<uint64_t> Append(const Caller& caller, Node& node, std::span<const char> data) override {
    return view_->Append(caller, node, data);
  }
  Result<void> Allocate(const Caller& caller, Node& node, AllocateMode mode, uint64_t offset,
                        uint64_t length) override {
    return view_->Allocate(caller, node, mode, offset, length);
  }
  Result<uint64_t> Seek(Node& node, uint64_t offset, SeekTarget target) override {
    return view_->Seek(node, offset, target);
  }
  Result<uint64_t> CopyRange(const Caller& caller, Node& source, uint64_t source_offset,
                             Node& target, uint64_t target_offset, uint64_t length) override {
    return view_->CopyRange(caller, source, source_offset, target, target_offset, length);
  }
  Result<void> Sync(Node& node) override { return view_->Sync(node); }
  Result<FsStats> StatFs() override { return view_->StatFs(); }
  void NoteDenied(const Caller& caller, const DeniedOp& denied) override {
    view_->NoteDenied(caller, denied);
  }
  uint64_t NoteOpened(const Caller& caller, Node& node) override {
    return view_->NoteOpened(caller, node);
  }
  void NoteClosed(uint64_t token, uint64_t bytes_read, uint64_t bytes) override {
    view_->NoteClosed(token, bytes_read, bytes);
  }
  void AddObserver(ChangeObserver& observer) override { view_->AddObserver(observer); }
  void RemoveObserver(ChangeObserver& observer) override { view_->RemoveObserver(observer); }
  bool ObserversHearAll() const override { return view_->ObserversHearAll(); }

 private:
  const std::shared_ptr<FileSystem> view_;
};

}  // namespace

std::shared_ptr<FileSystem> Confine(std::shared_ptr<FileSystem> view) {
  return std::make_shared<ConfinedView>(std::move(view));
}

}  // namespace agentfs::mcp
