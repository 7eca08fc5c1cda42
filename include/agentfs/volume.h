// SPDX-License-Identifier: Apache-2.0
//
// A volume: the layers, branches and snapshots of one workspace on a store, a blob store and,
// perhaps, a base. Views of branches and snapshots are opened from it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/base_fs.h"
#include "agentfs/blob_store.h"
#include "agentfs/filesystem.h"
#include "agentfs/ids.h"
#include "agentfs/op_log.h"
#include "agentfs/result.h"
#include "agentfs/store.h"

namespace agentfs {

inline constexpr std::string_view kMainBranch = "main";

// 0 means unlimited. A change over a limit fails and changes nothing: ENOSPC for total bytes,
// EFBIG for file bytes, EDQUOT for nodes, branches and snapshots.
struct Limits {
  uint64_t max_total_bytes = 0;
  uint64_t max_file_bytes = 0;
  uint64_t max_nodes = 0;
  uint64_t max_branches = 0;
  uint64_t max_snapshots = 0;
};

// What copy-up takes over from the base.
struct CopyUpPolicy {
  enum class Mode : uint8_t { kClone, kCloneUmask, kFixed };
  enum class Acl : uint8_t { kClone, kDrop, kMapBasic };
  Mode mode = Mode::kClone;
  uint32_t umask = 022;                                          // with kCloneUmask
  uint32_t fixed_file_mode = 0644, fixed_directory_mode = 0755;  // with kFixed
  Acl acl = Acl::kClone;
};

struct VolumeOptions {
  bool watch_base = false;  // observers of views hear of changes of the base
  // The host reads small files of the base ahead of who goes through it in the order of listings.
  bool read_ahead = false;
  Limits limits;
  CopyUpPolicy copy_up;
  AuditOptions audit;
  // Everything in the store's tables, nothing in the blob store.
  bool single_file = false;
  // For a new volume without a base: what `main` writes before its first snapshot is what "base"
  // names from then on.
  bool fill_base = false;
  // Whose free space StatFs tells; empty: the base's, else unlimited.
  std::string state_directory;
  // Where files of the base are kept that were replaced, but that layers still need (KeptNames);
  // empty: nowhere.
  std::string kept_directory;
  // Clean cached file content is dropped past this.
  uint64_t content_cache_bytes = uint64_t{256} << 20;
  // Nodes kept in memory beyond those in use, for all views together.
  uint64_t cached_nodes = 2'000'000;
  // Writers wait while more than this is pending.
  uint64_t max_pending_bytes = uint64_t{64} << 20;
  uint32_t commit_interval_ms = 100;
};

struct BranchInfo {
  std::string name;
  LayerId layer;   // the open one
  LayerId parent;  // what it stands on; 0: the base
  Timestamp created;
  bool in_use = false;  // a view is open
};

struct SnapshotInfo {
  std::string name;
  uint64_t number = 0;  // its id is "s<number>"
  LayerId layer;
  std::string branch;  // where it was taken
  std::string message;
  Timestamp created;
};

// All true at the moment of the call.
struct VolumeStats {
  uint64_t nodes = 0;  // nodes with a record of their own, in any layer
  uint64_t layers = 0, branches = 0, snapshots = 0;
  uint64_t stored_bytes = 0;   // content in the store's rows and in objects
  uint64_t shared_bytes = 0;   // of these, the part that two or more branches see
  uint64_t cached_nodes = 0;   // in memory now
  uint64_t memory_bytes = 0;   // content in memory now: caches and pending changes
  uint64_t spilled_bytes = 0;  // content of a memory store that went to disk
  uint64_t pending_bytes = 0;  // not yet committed
};

// What one branch or snapshot has of its own on top of the base.
struct ViewStats {
  uint64_t files = 0;  // not directories
  uint64_t directories = 0;
  uint64_t total_size = 0;  // the sum of the sizes of regular files
};

// What becomes of a branch's version of a path that is given back to the base.
enum class FollowMode : uint8_t {
  // It goes, but a file that is in use stays the branch's own, and so does what is where the base
  // has something that the branch has elsewhere.
  kUnlessUsed,
  kUnlessNewer,  // it goes, but a file that is in use, or was changed after the last snapshot
  kAccept,       // it stays; but what the base has there now the branch has seen
};

// What the layers between two refs have rows of: all that can differ between them.
struct Touched {
  struct Name {
    NodeId parent;
    std::string name;
    NodeId node;  // what it names; 0: nothing
    // When the layers took the name from the base, in milliseconds since 1970; 0: the base had
    // none.
    int64_t since_ms = 0;
  };
  struct Node {
    NodeId node;
    std::string base_path;  // where the base has it, if it has
    uint32_t nlink = 0;
    // What the base's file looked like when the branch changed it.
    bool has_base = false;
    BaseSignature signature;
  };
  std::vector<Name> names;  // given, taken away or moved
  std::vector<Node> nodes;  // other attributes or content, or made or gone
  bool one_line = false;    // one of the refs stands on the other: all rows are the newest
};

struct GcReport {
  uint64_t layers_removed = 0;
  uint64_t layers_merged = 0;
  uint64_t rows_removed = 0;
  uint64_t objects_removed = 0;
  uint64_t bytes_reclaimed = 0;
};

struct FsckProblem {
  std::string what;  // "entry /a/b of layer 7 names node 12, which does not exist"
  bool repaired = false;
};
struct FsckReport {
  std::vector<FsckProblem> problems;
  uint64_t rows_checked = 0;
  bool clean() const { return problems.empty(); }
};

// Thread-safe. At most one Volume may be open on a store at a time (the composition root locks).
class Volume {
 public:
  // Opens the volume in `store`, or makes an empty one with the branch `main` if the store is
  // empty. `base` and `blobs` may be null: no base; everything in the store.
  static Result<std::unique_ptr<Volume>> Open(std::unique_ptr<Store> store,
                                              std::unique_ptr<BlobStore> blobs,
                                              std::unique_ptr<BaseFs> base,
                                              const VolumeOptions& options);
  virtual ~Volume() = default;

  // ---- branches and snapshots. Names: 1 to 128 bytes of A-Za-z0-9._-/, no leading dash or dot.
  // A `ref` is a branch, a snapshot's name, a snapshot's id ("s12"), or "base".

  // Forks from `ref`; from a live branch an unnamed sealed layer is made first. O(1).
  // EEXIST, EINVAL (name), ENOENT (ref), EDQUOT.
  virtual Result<BranchInfo> CreateBranch(std::string_view name, std::string_view ref) = 0;
  virtual Result<void> DeleteBranch(std::string_view name) = 0;  // EBUSY while a view is open
  virtual std::vector<BranchInfo> ListBranches() = 0;            // by name

  // Seals the branch's open layer under a name (empty: "s<number>") and opens a child. O(1).
  // Everything that returned before is in it. With kSynced it is on stable storage when this
  // returns; with kNone it is committed soon, in its order.
  virtual Result<SnapshotInfo> CreateSnapshot(std::string_view branch, std::string_view name,
                                              std::string_view message, Durability durability) = 0;
  virtual Result<void> DeleteSnapshot(std::string_view ref) = 0;
  virtual std::vector<SnapshotInfo> ListSnapshots() = 0;  // by number
  // Makes `branch` what `ref` was. Open views of it see the change; nodes that are no more give
  // ESTALE. O(1).
  virtual Result<void> Restore(std::string_view branch, std::string_view ref) = 0;

  // Gives paths back to the base: the branch says nothing of them any more, and shows what the base
  // has there, now and later. Paths that the base does not have, or has with another type, stay as
  // they are, as do those below a directory that the base does not have; parents come before what
  // they hold. A directory is given back without what the branch has in it. With kAccept nothing is
  // given back.
  virtual Result<void> FollowBase(std::string_view branch, const std::vector<std::string>& paths,
                                  FollowMode mode) = 0;

  // Before files of the base are replaced: under which name in the kept directory the file at each
  // path is to be put (a link or a copy, with its mtime), because a layer has changed a part of it
  // or its attributes alone; "" where no layer needs it. Layers find it there from then on, and
  // `gc` removes it when none needs it any more. Paths have no leading slash.
  virtual Result<std::vector<std::string>> KeptNames(const std::vector<std::string>& paths) = 0;

  // Before files and directories of the base are moved: what names each for ever, if a layer has a
  // record of it; else 0. Afterwards, where it is now: layers look for it there.
  virtual Result<std::vector<uint64_t>> MovableIdentities(
      const std::vector<std::string>& paths) = 0;
  virtual Result<void> BaseMoved(uint64_t identity, const std::string& path) = 0;
  // The same when that is undone: it is at `path` again.
  virtual Result<void> BaseMovedBack(uint64_t identity, const std::string& path) = 0;

  // ---- views
  // The view of a branch; all of a branch's views are one. Held: the branch is in use.
  virtual Result<std::shared_ptr<FileSystem>> OpenBranch(std::string_view branch) = 0;
  // A snapshot (or "base"), read-only: changes give EROFS.
  virtual Result<std::shared_ptr<FileSystem>> OpenSnapshot(std::string_view ref) = 0;

  // In time proportional to the changes between the two, whatever the size of the tree.
  virtual Result<Touched> TouchedBetween(std::string_view from, std::string_view to) = 0;

  // ---- upkeep
  virtual Result<GcReport> CollectGarbage() = 0;
  // Checks every invariant of docs/design/storage-format.md. EBUSY while a view is open and
  // `repair` is asked for.
  virtual Result<FsckReport> Check(bool repair) = 0;
  virtual Result<VolumeStats> GetStats() = 0;
  virtual Result<ViewStats> GetViewStats(std::string_view ref) = 0;

  // ---- records of what was done (exec_rows, call_rows, kv_rows, approval_rows, op_*: the tables
  // of store/schema.h from kFirstOfRecords on); exec_log.h and its like give them types. All rows
  // or none, in their order with the changes around them, soon. EINVAL for other tables.
  virtual Result<void> WriteRecords(const Batch& rows) = 0;
  // What was written before is seen; so this may have to wait for a commit.
  virtual Result<std::optional<Row>> GetRecord(TableId table, std::string_view key) = 0;
  virtual Result<void> ScanRecords(const ScanRange& range, const Store::Visitor& visit) = 0;
  // An id that no row of exec_rows or call_rows ever had; 0 for other tables.
  virtual uint64_t NextRecord(TableId table) = 0;
  // Who knows callers; before the first view is opened.
  virtual void SetProcessSource(std::shared_ptr<ProcessSource> source) = 0;
  // As the options say.
  virtual AuditLevel GetAuditLevel() const = 0;
  // An exec says that it is to be recorded, whatever the options say.
  virtual void StartRecording() = 0;
  // Rows of the op log before this one go; PruneOps finds out which. They have gone when it
  // returns.
  virtual Result<void> DropOpsBefore(uint64_t op) = 0;

  // Commits everything pending.
  virtual Result<void> Flush(Durability durability) = 0;
  // Flushes with kSynced and closes the store. Views must be gone: EBUSY. Idempotent; the
  // destructor does it too and cannot report.
  virtual Result<void> Close() = 0;
};

// Checks what a volume needs to be opened: the tables meta, layers, branches and snapshots; EBADMSG
// from Volume::Open says that it is damaged. Repairing makes Open succeed; branches that lost their
// layer, and layers that lost their branch ("recovered-<layer>"), are told in the report. Volume::
// Check is for the other tables. Nobody may have the volume open.
Result<FsckReport> CheckVolumeTables(Store& store, bool repair);

// Whether `name` may name a branch or snapshot; the error says why not.
Result<void> CheckRefName(std::string_view name);

}  // namespace agentfs
