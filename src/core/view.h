// SPDX-License-Identifier: Apache-2.0
//
// The view of a branch or of a snapshot: the one place with filesystem semantics.
//
// Every changing operation has the same four steps: Admit (may wait for the committer), lock the
// nodes, prepare (load, copy up: may wait for a disk, may fail), then change memory and append the
// rows under one Journal::Change, which cannot fail.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "agentfs/filesystem.h"
#include "base/sharded_mutex.h"
#include "core/file_io.h"
#include "core/view_nodes.h"

namespace agentfs {

class View final : public FileSystem {
 public:
  View(VolumeState& volume, Layer* layer, ViewNodes::Access access);
  ~View() override;

  NodeRef Root() override { return root_; }
  NodeRef FindNode(NodeId id) override { return nodes_.table().Find(id); }
  Result<NodeRef> GetNode(NodeId id, const std::string& base_path) override;
  Result<Named> NameOf(Node& node) override;
  Result<std::string> PathOf(Node& directory) override;
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
  Result<void> SyncData(Node& node) override;
  Result<FsStats> StatFs() override;
  Result<int> NewHostFile() override;
  void DropHostFile(int file) override { nodes_.volume().blobs->DropFile(file); }
  Result<void> TakeContent(const Caller&, Node& node, const HostContent& content) override;
  Result<bool> GiveContent(Node& node, const HostFile& to) override;
  void AddHostWriter(std::weak_ptr<HostWriter> writer) override ABSL_LOCKS_EXCLUDED(writers_mu_);
  // Before the branch is sealed.
  void SettleHostWriters() ABSL_LOCKS_EXCLUDED(writers_mu_);

  void NoteDenied(const Caller&, const DeniedOp& denied) override;
  uint64_t NoteOpened(const Caller&, Node& node) override;
  void NoteClosed(uint64_t token, uint64_t bytes_read, uint64_t bytes) override;

  void AddObserver(ChangeObserver& observer) override;
  void RemoveObserver(ChangeObserver& observer) override;
  bool ObserversHearAll() const override;

  // ---- for the volume
  ViewNodes& nodes() { return nodes_; }
  // Before it is used: whose view this is, for the op log.
  void SetBranch(std::string branch);
  // Runs `change` while no operation is under way.
  void WithoutOperations(const std::function<void()>& change);
  // Within WithoutOperations: from now on this is the view of `layer`.
  void Reset(Layer* layer, uint64_t batch) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    nodes_.Reset(layer, batch);
    NoteRestored();
    Notify({.kind = ChangeEvent::Kind::kReset});
  }
  void Tell(const ChangeEvent& event);
  // Volume::FollowBase for one path.
  Result<void> FollowBase(std::string_view path, FollowMode mode);
  // What a crash has left of a file that was growing; the mark goes with the change. An error if it
  // is not such a file (any more), or cannot be read.
  Result<void> RecoverGrowth(const GrowthMark& mark);
  // It was noted that what this node has as its base is elsewhere now (KeptBase::Moved).
  void BaseMoved(NodeId node);
  std::atomic<uint32_t> handles{0};  // given out and not given back

 private:
  class Operation;

  // What a name in a locked, loaded directory stands for.
  struct Name {
    NameEntry* entry = nullptr;    // what the layers say; may be a whiteout
    std::optional<BaseStat> base;  // what the base says, where the layers say nothing
    uint64_t stamp = 0;            // of before it was asked (ViewNodes::BaseStamp)
    bool exists() const { return (entry && !entry->IsWhiteout()) || base; }
    // The S_IFMT bits of what exists.
    uint32_t type() const { return base ? base->attr.mode & S_IFMT : uint32_t{entry->type} << 12; }
  };
  struct NewNode {
    uint32_t mode = 0;
    uint64_t rdev = 0;
    std::string_view target = {};
    XattrMap xattrs = {};
  };

  Result<void> Admit(Growth growth, uint64_t bytes = 0);
  // Without a place at the end of the file, which `at` is then.
  Result<size_t> WriteTo(const Caller& caller, ViewNode& node, std::span<const char> data,
                         std::optional<uint64_t>& at);
  void Notify(const ChangeEvent& event) const ABSL_SHARED_LOCKS_REQUIRED(operations_) {
    for (ChangeObserver* observer : observers_) observer->Changed(event);
  }
  void NotifyNode(ChangeEvent::Kind kind, const Caller& caller, const ViewNode& node) const
      ABSL_SHARED_LOCKS_REQUIRED(operations_) {
    Notify({.kind = kind, .origin = caller.origin, .node = node.id()});
  }
  void NotifyName(ChangeEvent::Kind kind, const Caller& caller, const ViewNode& node,
                  const ViewNode& parent, std::string_view name) const
      ABSL_SHARED_LOCKS_REQUIRED(operations_) {
    Notify({.kind = kind,
            .origin = caller.origin,
            .node = node.id(),
            .parent = parent.id(),
            .name = name});
  }

  // Before the base is asked about the directory: observers will keep the answer.
  void WatchBase(ViewNode& directory) ABSL_SHARED_LOCKS_REQUIRED(operations_);

  // ---- view_names.cc
  Result<NodeLock> LockDirectory(ViewNode& node, LockMode mode);
  Result<Name> FindName(ViewNode& parent, std::string_view name)
      ABSL_SHARED_LOCKS_REQUIRED(operations_);
  Result<NodeRef> NodeOf(ViewNode& parent, std::string_view name, const Name& found);
  Result<Found> MakeNew(const Caller&, Node& parent, std::string_view name, NewNode what);
  // The mode that the umask, or the parent's default list, leaves, and the lists inherited.
  Result<void> Inherit(const Caller&, ViewNode& parent, NewNode& what);
  Result<void> PrepareNew(const Caller&, ViewNode& parent) const;
  // Returns it locked.
  NodeRef MakeNodeLocked(const Caller&, const ViewNode& parent,
                         NewNode what) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  Result<void> RemoveName(const Caller&, Node& parent, std::string_view name, bool directory);
  Result<void> CheckRemove(const Caller&, ViewNode& parent, ViewNode& child, bool directory)
      ABSL_SHARED_LOCKS_REQUIRED(operations_);
  void SetEntry(Journal::Change& change, ViewNode& parent, std::string_view name, const Name& found,
                NodeRef child, uint32_t type);
  void RemoveEntry(Journal::Change& change, ViewNode& parent, std::string_view name,
                   const Name& found);
  void DropLink(Journal::Change& change, ViewNode& node, const Timestamp& now);
  void TouchDirectory(Journal::Change& change, ViewNode& directory, const Timestamp& now);

  // ---- view_note.cc
  // What is to be recorded of the operation under way.
  class Note;
  // The op log learns what the node is called, if it does not know. Takes nodes' locks.
  void EnsureNamed(ViewNode& node);
  // The same for who has just come by the name.
  void NoteName(ViewNode& node, ViewNode& parent, std::string_view name);
  void RecordDenied(const Caller& caller, const DeniedOp& denied);
  void NoteRestored();
  OpRecorder& recorder() { return nodes_.volume().ops; }

  // ---- view_anchor.cc
  class Anchor;
  void AnchorName(ViewNode& node);
  static bool NeedsAnchorLocked(const ViewNode& node);
  Result<void> AnchorIn(ViewNode& parent, ViewNode& child);

  // ---- view_follow.cc
  Result<NodeRef> ParentDirectoryOf(std::string_view path);
  Result<void> FollowLocked(ViewNode& parent, std::string_view name, FollowMode mode)
      ABSL_SHARED_LOCKS_REQUIRED(operations_);
  Result<void> FollowNodeLocked(ViewNode& parent, std::string_view name, NameEntry* entry,
                                const BaseStat& stat, FollowMode mode)
      ABSL_SHARED_LOCKS_REQUIRED(operations_);
  void FollowDirectory(Journal::Change& change, ViewNode& node, std::string path,
                       const BaseStat& stat, FollowMode mode);
  // `stat` is of the base's file that it is over.
  void SeeAnew(Journal::Change& change, ViewNode& node, const BaseStat& stat);
  // `taken`: the base has the name, too.
  void PutSince(Journal::Change& change, ViewNode& parent, NameEntry* entry, uint32_t type,
                bool taken = true);
  // `stat` is of the base's `path`; null: it has another node there.
  void ForgetNode(Journal::Change& change, ViewNode& node, std::string path, const BaseStat* stat);
  void ForgetEntry(Journal::Change& change, ViewNode& parent, NameEntry* entry);
  bool IsNewer(const ViewNode& node, const NameEntry* entry) const;
  bool IsGivenAnew(const NameEntry& entry, NodeId of_base) const;
  Result<bool> IsElsewhere(const NameEntry& entry, NodeId of_base);
  Result<void> AcceptLocked(ViewNode& parent, std::string_view name);

  // ---- view_path.cc
  Result<Named> NameOfLoaded(ViewNode& node);
  Result<std::string> NameIn(ViewNode& parent, ViewNode& child);

  // ---- view_listing.cc
  Result<bool> IsEmptyLocked(ViewNode& directory) ABSL_SHARED_LOCKS_REQUIRED(operations_);
  Result<void> LoadListingLocked(ViewNode& directory, bool from_start)
      ABSL_SHARED_LOCKS_REQUIRED(operations_);
  enum class Detail : uint8_t { kNames, kAttributes };
  struct Listed {
    std::string name = {};
    NodeId node = {};
    uint32_t type = 0;
    uint64_t cursor = 0;
    Result<Found> found = Found();  // filled with kAttributes; an error: the name is to be left out
  };
  // Of a listed name that only the base has; neither: the base has it no more.
  struct FromBase {
    std::optional<Found> found;
    Name name;
  };
  std::optional<Found> KnownLocked(const ViewNode& parent, const Directory::BaseName& name,
                                   uint64_t fresh);
  Result<std::vector<FromBase>> AskListed(const ViewNode& directory,
                                          const std::vector<Directory::Item>& items);
  Listed ListBaseLocked(ViewNode& parent, Directory::BaseName& entry, FromBase known,
                        Detail detail);
  // Both directory and child are in memory afterwards; the directory's lock is exclusive.
  Result<Found> FoundLocked(ViewNode& parent, std::string_view name, const Name& found);
  Result<std::vector<Listed>> ListLocked(ViewNode& directory, uint64_t cursor, size_t limit,
                                         Detail detail) ABSL_SHARED_LOCKS_REQUIRED(operations_);
  Result<std::vector<Listed>> ListAfter(const Caller&, ViewNode& directory, uint64_t cursor,
                                        size_t limit, Detail detail)
      ABSL_SHARED_LOCKS_REQUIRED(operations_);
  Result<void> ForEachListed(const Caller&, ViewNode& directory, uint64_t cursor, Detail detail,
                             const std::function<Visit(const Listed&)>& visit);

  // ---- view_rename.cc
  struct RenameSide {
    ViewNode& parent;
    std::string_view name;
    Name found = {};
    NodeRef node = {};
    NodeRef whiteout = {};               // that takes its place
    std::vector<NodeId> ancestors = {};  // of the parent, itself among them; if the parents differ
  };
  Result<NodeRef> NodeOfSide(const RenameSide& side, ViewNode& other_parent);
  Result<void> RenameLocked(const Caller&, RenameSide& from, RenameSide& to, RenameMode mode,
                            Note& note) ABSL_SHARED_LOCKS_REQUIRED(operations_);
  void NotifyRename(ChangeEvent::Kind kind, const Caller& caller, const RenameSide& from,
                    const RenameSide& to) const ABSL_SHARED_LOCKS_REQUIRED(operations_);
  Result<void> CheckRename(const Caller&, const RenameSide& from, const RenameSide& to,
                           RenameMode mode) ABSL_SHARED_LOCKS_REQUIRED(operations_);
  // From the directory up to the root, both included.
  Result<std::vector<NodeId>> AncestorsOf(ViewNode& node);
  void Exchange(const RenameSide& from, const RenameSide& to, Note& note);
  Result<Buffer> OriginalOf(const RenameSide& side);
  void Replace(const RenameSide& from, const RenameSide& to, const Buffer& original, Note& note);
  Result<void> ReplaceWithWhiteout(const Caller&, RenameSide& from, const RenameSide& to,
                                   const Buffer& original, Note& note)
      ABSL_SHARED_LOCKS_REQUIRED(operations_);

  // ---- view_attr.cc
  Result<void> CheckSetAttr(const Caller&, ViewNode& node, const AttrChange& change);
  static void ApplyAttr(const Caller&, ViewNode& node, const AttrChange& change);
  // What the access list becomes by a chmod; nothing: there is none.
  Result<std::optional<Buffer>> AclAfterChmod(ViewNode& node, const AttrChange& change);
  Result<std::string> XattrLocked(ViewNode& node, std::string_view name);
  // `value` null: removes it. Under `change`, with the node's record.
  void PutXattrLocked(Journal::Change& change, ViewNode& node, std::string_view name,
                      const Buffer* value);
  Result<void> SetAcl(const Caller&, ViewNode& node, std::string_view name, std::string_view value,
                      Note& note) ABSL_SHARED_LOCKS_REQUIRED(operations_);

  ViewNodes nodes_;
  std::string branch_;
  uint32_t number_ = 0;  // the op log's, of this view
  FileIo io_;
  NodeRef root_;
  // Held by renames between two directories; before any node's lock.
  absl::Mutex rename_mu_;
  ShardedMutex operations_;  // shared by every operation under way; the outermost lock
  std::vector<ChangeObserver*> observers_ ABSL_GUARDED_BY(operations_);
  absl::Mutex writers_mu_;
  std::vector<std::weak_ptr<HostWriter>> writers_ ABSL_GUARDED_BY(writers_mu_);
};

// Every entry point of the view holds one.
class ABSL_SCOPED_LOCKABLE View::Operation {
 public:
  explicit Operation(View& view) ABSL_SHARED_LOCK_FUNCTION(view.operations_)
      : mu_(view.operations_) {
    mu_.ReaderLock();
  }
  ~Operation() ABSL_UNLOCK_FUNCTION() { mu_.ReaderUnlock(); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

 private:
  ShardedMutex& mu_;
};

// Made before the locks of an operation that may change `node`: if that was the first change of a
// file of the base, the file then gets an entry of its own, and so do the directories above it.
// Otherwise the person could take the name away in the base, and the branch's version with it.
class View::Anchor {
 public:
  Anchor(View& view, ViewNode& node) : view_(view), node_(node) {}
  ~Anchor();
  Anchor(const Anchor&) = delete;
  Anchor& operator=(const Anchor&) = delete;

 private:
  View& view_;
  ViewNode& node_;
};

}  // namespace agentfs
