// SPDX-License-Identifier: Apache-2.0
//
// A filesystem that passes everything on to another: what decorators are derived from, so that each
// says only what it changes. As thread-safe as the one below.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agentfs/filesystem.h"

namespace agentfs {

class ForwardingFs : public FileSystem {
 public:
  explicit ForwardingFs(std::shared_ptr<FileSystem> inner) : inner_(std::move(inner)) {}

  Result<Found> Lookup(const Caller& caller, Node& parent, std::string_view name) override {
    return inner_->Lookup(caller, parent, name);
  }
  Result<Found> Create(const Caller& caller, Node& parent, std::string_view name,
                       uint32_t mode) override {
    return inner_->Create(caller, parent, name, mode);
  }
  Result<Found> MakeDirectory(const Caller& caller, Node& parent, std::string_view name,
                              uint32_t mode) override {
    return inner_->MakeDirectory(caller, parent, name, mode);
  }
  Result<Found> MakeNode(const Caller& caller, Node& parent, std::string_view name, uint32_t mode,
                         uint64_t rdev) override {
    return inner_->MakeNode(caller, parent, name, mode, rdev);
  }
  Result<Found> MakeSymlink(const Caller& caller, Node& parent, std::string_view name,
                            std::string_view target) override {
    return inner_->MakeSymlink(caller, parent, name, target);
  }
  Result<Attr> Link(const Caller& caller, Node& node, Node& parent,
                    std::string_view name) override {
    return inner_->Link(caller, node, parent, name);
  }
  Result<void> Unlink(const Caller& caller, Node& parent, std::string_view name) override {
    return inner_->Unlink(caller, parent, name);
  }
  Result<void> RemoveDirectory(const Caller& caller, Node& parent, std::string_view name) override {
    return inner_->RemoveDirectory(caller, parent, name);
  }
  Result<void> Rename(const Caller& caller, Node& parent, std::string_view name, Node& new_parent,
                      std::string_view new_name, RenameMode mode) override {
    return inner_->Rename(caller, parent, name, new_parent, new_name, mode);
  }

  NodeRef Root() override { return inner_->Root(); }
  NodeRef FindNode(NodeId id) override { return inner_->FindNode(id); }
  Result<NodeRef> GetNode(NodeId id, const std::string& base_path) override {
    return inner_->GetNode(id, base_path);
  }
  Result<Named> NameOf(Node& node) override { return inner_->NameOf(node); }
  Result<std::string> PathOf(Node& directory) override { return inner_->PathOf(directory); }
  Result<Found> CreateUnnamed(const Caller& caller, Node& parent, uint32_t mode) override {
    return inner_->CreateUnnamed(caller, parent, mode);
  }
  Result<std::string> ReadLink(const Caller& caller, Node& node) override {
    return inner_->ReadLink(caller, node);
  }
  Result<void> ReadDirectory(const Caller& caller, Node& node, uint64_t cursor,
                             const DirVisitor& visit) override {
    return inner_->ReadDirectory(caller, node, cursor, visit);
  }
  Result<void> ReadDirectoryPlus(const Caller& caller, Node& node, uint64_t cursor,
                                 const DirAttrVisitor& visit) override {
    return inner_->ReadDirectoryPlus(caller, node, cursor, visit);
  }
  Result<Attr> GetAttr(Node& node) override { return inner_->GetAttr(node); }
  Result<Attr> SetAttr(const Caller& caller, Node& node, const AttrChange& change) override {
    return inner_->SetAttr(caller, node, change);
  }
  Result<void> Access(const Caller& caller, Node& node, int mask) override {
    return inner_->Access(caller, node, mask);
  }
  Result<std::string> GetXattr(const Caller& caller, Node& node, std::string_view name) override {
    return inner_->GetXattr(caller, node, name);
  }
  Result<std::vector<std::string>> ListXattrs(const Caller& caller, Node& node) override {
    return inner_->ListXattrs(caller, node);
  }
  Result<void> SetXattr(const Caller& caller, Node& node, std::string_view name,
                        std::string_view value, XattrMode mode) override {
    return inner_->SetXattr(caller, node, name, value, mode);
  }
  Result<void> RemoveXattr(const Caller& caller, Node& node, std::string_view name) override {
    return inner_->RemoveXattr(caller, node, name);
  }
  Result<void> Open(const Caller& caller, Node& node, int flags) override {
    return inner_->Open(caller, node, flags);
  }
  Result<size_t> Read(Node& node, uint64_t offset, std::span<char> out) override {
    return inner_->Read(node, offset, out);
  }
  Result<size_t> Write(const Caller& caller, Node& node, uint64_t offset,
                       std::span<const char> data) override {
    return inner_->Write(caller, node, offset, data);
  }
  Result<uint64_t> Append(const Caller& caller, Node& node, std::span<const char> data) override {
    return inner_->Append(caller, node, data);
  }
  Result<void> Allocate(const Caller& caller, Node& node, AllocateMode mode, uint64_t offset,
                        uint64_t length) override {
    return inner_->Allocate(caller, node, mode, offset, length);
  }
  Result<uint64_t> Seek(Node& node, uint64_t offset, SeekTarget target) override {
    return inner_->Seek(node, offset, target);
  }
  Result<uint64_t> CopyRange(const Caller& caller, Node& source, uint64_t source_offset,
                             Node& target, uint64_t target_offset, uint64_t length) override {
    return inner_->CopyRange(caller, source, source_offset, target, target_offset, length);
  }
  Result<void> Sync(Node& node) override { return inner_->Sync(node); }
  Result<void> SyncData(Node& node) override { return inner_->SyncData(node); }
  Result<int> NewHostFile() override { return inner_->NewHostFile(); }
  void DropHostFile(int file) override { inner_->DropHostFile(file); }
  Result<void> TakeContent(const Caller& caller, Node& node, const HostContent& content) override {
    return inner_->TakeContent(caller, node, content);
  }
  Result<bool> GiveContent(Node& node, const HostFile& to) override {
    return inner_->GiveContent(node, to);
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

 protected:
  FileSystem& inner() const { return *inner_; }

 private:
  const std::shared_ptr<FileSystem> inner_;
};

}  // namespace agentfs
