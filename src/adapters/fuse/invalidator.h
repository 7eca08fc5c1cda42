// SPDX-License-Identifier: Apache-2.0
//
// Tells the kernel what others have changed, on a thread of its own: a notification waits for
// locks that requests hold.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "adapters/fuse/direct_files.h"
#include "adapters/fuse/inode_table.h"
#include "adapters/fuse/known_names.h"
#include "adapters/fuse/transport/notifier.h"
#include "adapters/fuse/tree.h"
#include "agentfs/ids.h"

namespace agentfs::fuse {

// Thread-safe. Made before the trees that it observes; works between Start and Stop.
class Invalidator final : public TreeObserver {
 public:
  Invalidator() = default;
  ~Invalidator() override { Stop(); }

  // All outlive Stop. `names` is needed where the kernel cannot drop all entries at
  // once; `direct` may be null.
  void Start(InodeTable& inodes, const Notifier& notifier, KnownNames* names, DirectFiles* direct)
      ABSL_LOCKS_EXCLUDED(mu_);
  // What is queued and not sent is dropped. The kernel must be served, or have let go, so that a
  // notification under way ends.
  void Stop() ABSL_LOCKS_EXCLUDED(mu_);
  // The first half of Stop: nothing is sent any more. What waits in the kernel is left to wait: it
  // ends when the device is closed, whose descriptor it needs no more.
  void Cease() ABSL_LOCKS_EXCLUDED(mu_);

  void Changed(const Tree& tree, const ChangeEvent& event) override;

  // The kernel's id of a directory, and a name in it that it is to forget with all below it.
  void Drop(uint64_t parent, std::string_view name) {
    Add({Item::Kind::kMoved, parent, std::string(name)});
  }
  // The kernel's id of a file whose content, or a directory whose listing, it is to ask for again.
  void Data(uint64_t id) { Add({Item::Kind::kData, id}); }
  void All();
  // Returns when each notification that was queued so far has been sent, or is given up: the kernel
  // has forgotten the inode, or was told of it for a second and still does not know it, or nothing
  // is sent any more (Cease).
  void Flush() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Item {
    enum class Kind : uint8_t { kAttributes, kData, kEntry, kMoved, kRemoved, kAll };
    Kind kind;
    uint64_t id = 0;        // the kernel's
    std::string name = {};  // of the entry in it
    uint64_t child = 0;     // that is removed
    uint64_t number = 0;    // in the order in which they were queued
    int attempts = 0;
    absl::Time due = {};  // not to be tried again before
  };
  void AddNode(const Tree& tree, NodeId node, Item::Kind kind);
  void AddContent(const Tree& tree, NodeId node) ABSL_LOCKS_EXCLUDED(mu_);
  // A name in a directory: the entry, the listing and the directory's times.
  void AddName(const Tree& tree, NodeId parent, std::string_view name,
               Item::Kind kind = Item::Kind::kEntry, NodeId removed = {});
  uint64_t Find(const Tree& tree, NodeId node) ABSL_LOCKS_EXCLUDED(mu_);  // 0: not known
  void Add(Item item) ABSL_LOCKS_EXCLUDED(mu_);
  void Work() ABSL_LOCKS_EXCLUDED(mu_);
  // Nullopt: nothing is to be sent any more.
  std::optional<Item> Next() ABSL_LOCKS_EXCLUDED(mu_);
  std::deque<Item>* ReadyLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);  // null: nothing is
  void TryAgainLocked(Item item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // False: the kernel does not know the inode, although it was told of it.
  bool Send(const Item& item);
  void Follow(uint64_t id) ABSL_LOCKS_EXCLUDED(mu_);
  void SendAll(uint64_t number) ABSL_LOCKS_EXCLUDED(mu_);
  bool WorthAnotherAttemptLocked(Item& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsTriedAgainLocked(const Item& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || !queue_.empty(); }
  bool AllSentLocked(uint64_t number) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex mu_;
  InodeTable* inodes_ ABSL_GUARDED_BY(mu_) = nullptr;  // null: nothing is known, nothing to do
  const Notifier* notifier_ = nullptr;                 // set before the thread starts
  KnownNames* names_ = nullptr;                        // the same
  DirectFiles* direct_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::deque<Item> queue_ ABSL_GUARDED_BY(mu_);
  std::deque<Item> again_ ABSL_GUARDED_BY(mu_);  // to be sent once more; the first is due first
  uint64_t added_ ABSL_GUARDED_BY(mu_) = 0;      // the last number
  uint64_t sending_ ABSL_GUARDED_BY(mu_) = 0;    // the number under way; 0: none
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace agentfs::fuse
