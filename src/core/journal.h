// SPDX-License-Identifier: Apache-2.0
//
// The journal: changes are applied in memory, appended here, and committed to the store in batches
// by one thread. After a crash the store holds a prefix of the changes, cut between operations.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/blob_store.h"
#include "agentfs/filesystem.h"
#include "agentfs/result.h"
#include "agentfs/store.h"
#include "base/sharded_mutex.h"
#include "core/node.h"
#include "core/op_events.h"
#include "core/room_guard.h"

namespace agentfs {

// Whether a change can be let in while the store cannot be written, or its disk is nearly full: one
// that frees space can. kSettles: of what is on the disk already; it needs a store that can be
// written, and no more.
enum class Growth : uint8_t { kGrows, kSettles, kFrees };

// Whose a change is: somebody's, who may wait for it, or the volume's own, whom nobody waits for.
enum class ChangeOf : uint8_t { kUser, kVolume };

// What was written to an object: pages that the batch maps, or such as older rows map already.
enum class Pages : uint8_t { kMapped, kOverwritten };

class Journal {
 public:
  struct Options {
    uint64_t max_pending_bytes = uint64_t{64} << 20;
    uint32_t interval_ms = 100;
  };
  // Runs on the committer's thread: `before_seal` may append more (under a Change of its own);
  // `at_seal` runs with every change shut out and must be short; `after_commit` may take its time.
  struct Hooks {
    std::function<void()> before_seal;
    std::function<void()> at_seal;
    std::function<void()> after_commit;
    // Whether `before_seal` would have something to do.
    std::function<bool()> has_work;
    // With the batch just cut and what its changes have recorded, of which it makes rows.
    std::function<void(OpEvents&, Batch&)> after_cut;
  };
  Journal(Store& store, const Options& options, Hooks hooks);
  ~Journal();  // commits what is pending, unsynced, if it can

  // Waits while too much is pending; gives the store's error (ENOSPC, EIO) while it cannot be
  // written, ENOSPC where there is no room for `bytes` more (RoomGuard), and ENOMEM while there is
  // no memory to come to an end with. Call before taking node locks.
  Result<void> Admit(Growth growth, uint64_t bytes = 0);

  // Whether something that grows would be admitted as far as the disk goes, without waiting for
  // what is pending.
  bool HasRoom() { return room_.Take(0, pending_bytes()).ok(); }
  // What one commit may take of the disk.
  uint64_t commit_bytes() const { return room_.commit_bytes(); }

  // While a Change lives, no batch is cut and no snapshot taken: what one Change appends is
  // committed together. Short; never waits for a lock of a node or for a disk.
  class ABSL_SCOPED_LOCKABLE Change {
   public:
    explicit Change(Journal& journal, ChangeOf whose = ChangeOf::kUser)
        ABSL_SHARED_LOCK_FUNCTION(journal.gate_)
        : journal_(journal), whose_(whose) {
      journal_.gate_.ReaderLock();
    }
    ~Change() ABSL_UNLOCK_FUNCTION() { journal_.gate_.ReaderUnlock(); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

    // The number of the batch that this change goes into.
    uint64_t batch() const { return journal_.sequence_.load(std::memory_order_relaxed); }
    // The mutation stays where it is, and may be rewritten under a later Change with the same
    // batch(), until the batch is cut.
    Mutation* Put(TableId table, std::string_view key, std::string_view value, Buffer blob = {});
    void Delete(TableId table, std::string_view key);
    // The same for a record of `node`, which stays in memory until the batch is committed.
    Mutation* PutPinned(ViewNode& node, TableId table, std::string_view key,
                        std::string_view value);
    void DeletePinned(ViewNode& node, TableId table, std::string_view key);
    // Goes to the op log with this change. What the event refers to is copied.
    void Record(OpEvent&& event);
    // The object has writes that a synced commit must make durable. With kMapped the batch has
    // rows that map what was not mapped before: on a durable store the object is synced before the
    // batch is committed, so that no row is ever on the disk before the pages that it maps.
    void ObjectWritten(std::shared_ptr<BlobObject> object, Pages pages);
    // Runs on the committer's thread once the batch is committed.
    void AfterCommit(std::function<void()> work);
    // The same once it is on stable storage, where it is brought at once: for what destroys
    // content that older rows map.
    void AfterSync(std::function<void()> work);

   private:
    void MarkDirty();

    Journal& journal_;
    const ChangeOf whose_;
  };

  // Shuts out every Change for as long as it lives: snapshots and restores swap layers under it.
  class ABSL_SCOPED_LOCKABLE Exclusive {
   public:
    explicit Exclusive(Journal& journal) ABSL_EXCLUSIVE_LOCK_FUNCTION(journal.gate_)
        : journal_(journal) {
      journal_.gate_.Lock();
    }
    ~Exclusive() ABSL_UNLOCK_FUNCTION() { journal_.gate_.Unlock(); }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;
    uint64_t batch() const { return journal_.sequence_.load(std::memory_order_relaxed); }
    void Put(TableId table, std::string_view key, std::string_view value);
    void Delete(TableId table, std::string_view key);

   private:
    Journal& journal_;
  };

  // Commits everything appended before the call. On error everything stays pending and is tried
  // again.
  Result<void> Flush(Durability durability);
  // The same, synced, of what users have changed.
  Result<void> SyncChanges();
  // Waits until batch `batch` is committed (unsynced will do).
  Result<void> WaitCommitted(uint64_t batch);
  // Flushes with kSynced and stops the committer. Idempotent.
  Result<void> Close();

  // The last batch that anything was appended to.
  uint64_t AppendedBatch() const {
    // In this order: a cut raises the sequence before it clears the mark.
    const bool dirty = dirty_.load();
    const uint64_t current = sequence_.load();
    return dirty ? current : current - 1;
  }
  // The last one that a user's change went into.
  uint64_t ChangedBatch() const { return changed_.load(); }
  // Makes the committer cut a batch soon, though nothing was appended: a hook has something to add.
  void Wake() { MarkDirty(); }
  bool IsCommitted(uint64_t batch) const {
    return batch <= committed_.load(std::memory_order_acquire);
  }
  bool IsSynced(uint64_t batch) const { return batch <= synced_.load(std::memory_order_acquire); }
  uint64_t pending_bytes() const { return pending_bytes_.load(std::memory_order_relaxed); }
  // At the seal only: a row of the volume's own in the batch being cut.
  void PutAtSeal(TableId table, std::string_view key, std::string_view value)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);

 private:
  struct Pending {
    uint64_t sequence = 0;
    Batch batch;
    std::vector<NodePin> pins;
    std::vector<std::shared_ptr<BlobObject>> mapped, overwritten;  // objects
    OpEvents ops;
    bool must_sync = false;
    std::vector<std::function<void()>> after_commit;
    bool empty() const { return batch.empty() && after_commit.empty(); }
  };

  uint64_t max_pending_bytes() const;
  void Run();
  // Waits for something to do; says with which durability, or that it is time to stop.
  bool AwaitWork(Durability* durability);
  void AwaitInterval() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool MustCommit() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return wanted_ > committed_.load() || wanted_synced_ > synced_ ||
           pending_bytes_.load() > max_pending_bytes() / 4 ||
           (commit_bytes() != Store::Room::kUnlimited && hooks_.has_work && hooks_.has_work());
  }
  void Cycle(Durability durability);
  // Commits what was cut, in order; false: something stays pending.
  bool CommitCut(Durability durability);
  Result<void> TryCommit(Pending& pending, Durability durability);
  // Cuts the batch being filled; false: there was no memory for it.
  bool Cut();
  bool HasMuchAppended() ABSL_LOCKS_EXCLUDED(append_mu_);
  void MakeOpRows(Pending& pending);
  Result<void> Commit(Pending& pending, Durability durability);
  Result<void> SyncObjects(Pending& pending, Durability durability);
  void Succeeded(std::unique_ptr<Pending> pending, Durability durability);
  void Failed(Error error);
  Result<void> TakeRoom(uint64_t bytes);
  Result<void> AwaitBatch(uint64_t batch, Durability durability);
  void NoteUserChange() { changed_.store(sequence_.load(std::memory_order_relaxed)); }
  // The gate is held, shared or exclusive.
  Mutation* Append(Mutation::Kind kind, TableId table, std::string_view key, std::string_view value,
                   Buffer blob, ViewNode* pin = nullptr);
  void MarkDirty();

  Store& store_;
  const Options options_;
  const Hooks hooks_;
  RoomGuard room_;

  // Lock order: node locks, gate_, then append_mu_ or mu_.
  ShardedMutex gate_;
  absl::Mutex append_mu_ ABSL_ACQUIRED_AFTER(gate_);
  // The batch being filled. Replaced under gate_; appended to under append_mu_.
  std::unique_ptr<Pending> current_ ABSL_GUARDED_BY(append_mu_);
  std::atomic<uint64_t> sequence_{1};
  std::atomic<uint64_t> changed_{0};
  std::atomic<uint64_t> committed_{0};
  std::atomic<uint64_t> synced_{0};  // set under mu_
  std::atomic<uint64_t> pending_bytes_{0};
  std::atomic<int> error_{0};  // of the last try to commit; 0: fine
  std::atomic<bool> dirty_{false};
  std::atomic<bool> asleep_{false};  // the committer waits until it is woken; set under mu_

  absl::Mutex mu_ ABSL_ACQUIRED_AFTER(gate_);
  uint64_t wanted_ ABSL_GUARDED_BY(mu_) = 0;          // commit at least up to this batch
  uint64_t wanted_synced_ ABSL_GUARDED_BY(mu_) = 0;   // and this one synced
  uint64_t attempts_ ABSL_GUARDED_BY(mu_) = 0;        // to commit, begun
  uint64_t failed_attempt_ ABSL_GUARDED_BY(mu_) = 0;  // the last one that failed
  Error last_error_ ABSL_GUARDED_BY(mu_){EIO};
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  absl::CondVar work_;  // there is something to commit
  absl::CondVar done_;  // something was committed, or could not be

  // Only the committer's thread touches these.
  std::deque<std::unique_ptr<Pending>> cut_;                           // not committed yet
  absl::flat_hash_set<std::shared_ptr<BlobObject>> unsynced_objects_;  // overwritten ones

  std::thread thread_;
};

}  // namespace agentfs
