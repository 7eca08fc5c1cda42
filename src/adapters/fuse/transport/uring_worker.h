// SPDX-License-Identifier: Apache-2.0
//
// One thread's io_uring and its entries of the kernel's FUSE queues.
#pragma once

#include <liburing.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "adapters/fuse/transport/client_follower.h"
#include "adapters/fuse/transport/page_buffer.h"
#include "adapters/fuse/transport/transport.h"
#include "adapters/fuse/transport/worker_threads.h"

namespace agentfs::fuse {

// Where a worker serves: one entry of each queue, on one processor (-1: on any).
struct UringPlace {
  std::vector<uint16_t> queues;
  int processor = -1;
};

// What the threads of one place have in common. Outlives them.
struct UringLane {
  std::atomic<size_t> threads{0};   // that have registered
  std::atomic<size_t> handling{0};  // of these, that handle a request
  // Called by one of them when few are left that do not.
  std::function<void()> few_left;
};

// Made by any thread, then used by one, from Register to its end.
class UringWorker {
 public:
  // `usual` are the processors that the thread may use beside its own.
  static Result<std::unique_ptr<UringWorker>> Create(int device, const Capabilities& capabilities,
                                                     UringPlace place, const cpu_set_t& usual,
                                                     UringLane& lane);
  ~UringWorker();  // in the thread that has registered, or if none has

  // Makes the ring and gives the kernel its entries. The thread goes to its processor.
  Result<void> Register();
  // Serves until all entries have come back because the filesystem is gone, or `threads` stop.
  // `follower` may be null.
  void Serve(Handler& handler, const WorkerThreads& threads, ClientFollower* follower);
  // Gives the ring back to the kernel, and with it the entries.
  void Close();

  // Any thread.
  const UringPlace& place() const { return place_; }
  bool registered() const { return registered_.load(std::memory_order_acquire); }
  uint64_t requests() const { return requests_.load(std::memory_order_relaxed); }  // any thread

 private:
  struct Entry {
    Entry(uint16_t q, PageBuffer m) : queue(q), memory(std::move(m)) {}
    UringRequestHeader& header() const;
    std::span<char> payload() const;

    uint16_t queue;
    PageBuffer memory;        // a page of headers, then the payload
    std::vector<char> names;  // a payload that the answer must not overwrite
  };
  class EntryExchange;

  UringWorker(int device, UringPlace place, const cpu_set_t& usual, UringLane& lane)
      : device_(device), place_(std::move(place)), usual_processors_(usual), lane_(lane) {}
  io_uring_sqe& Prepare(Entry& entry, uint32_t command);
  // The thread has the usual policy; goes to its processor; and from there wherever it may.
  static void LeaveIdle();
  void Settle();
  void Roam();
  // Its request is about to be handled: whose it is.
  Sender Begin(const Entry& entry);
  void HandleOne(Handler& handler, Entry& entry);
  void HandleFollowing(Handler& handler, Entry& entry, const Sender& sender,
                       ClientFollower& follower);
  void HandleCompleted(Handler& handler, ClientFollower* follower);

  int device_;
  UringPlace place_;
  const cpu_set_t usual_processors_;  // where the thread may run when it is not settled
  UringLane& lane_;
  std::vector<std::unique_ptr<Entry>> entries_;
  size_t live_ = 0;  // entries that the kernel or we use
  io_uring ring_{};
  bool has_ring_ = false;
  bool roams_ = false;
  bool streams_ = false;  // the last request was for a piece of a large file
  ClientFollower::Seat seat_;
  std::atomic<bool> registered_ = false;
  std::atomic<uint64_t> requests_ = 0;
};

// Whether this process may make rings of the kind that is needed.
bool CanMakeRings();

// Tells the kernel that no rings will come, so that it uses the device instead. It does only
// before every queue has an entry.
Result<void> RefuseRings(int device);

}  // namespace agentfs::fuse
