// SPDX-License-Identifier: Apache-2.0
//
// Who a request of the kernel comes from, and to which exec that process belongs.
//
// Each exec runs in a pid namespace of its own, so the namespace says which exec a process belongs
// to, however deep below it was started and whoever became its parent. What is known of a thread is
// kept with an open file of its in /proc: that is of this very thread, and tells when it has gone,
// so that a number that was given again cannot be mistaken.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/op_log.h"
#include "sys/fd.h"

namespace agentfs {

// Thread-safe. Lock order: a shard's, then execs_mu_.
class ProcessTracker final : public ProcessSource {
 public:
  // The level of who belongs to no exec.
  explicit ProcessTracker(AuditLevel level);

  std::shared_ptr<const OpProcess> Identify(const Caller& caller, std::string_view branch,
                                            NodeId node) override;

  // From now on what this thread asks for, for whomever, is done by this process; null: by the
  // caller again. For sessions in the server, each call of which is an exec.
  static void ActAs(std::shared_ptr<const OpProcess> process);

  // What runs below the process `client`, in a namespace of its own, belongs to the exec. If one
  // process has several, the one whose id is in AGENTFS_EXEC of what the client started.
  struct Exec {
    uint64_t id = 0;
    uint32_t client = 0;
    std::string branch = {};
    AuditLevel level = AuditLevel::kChanges;
  };
  void AddExec(Exec exec) ABSL_LOCKS_EXCLUDED(execs_mu_);
  void EndExec(uint64_t id) ABSL_LOCKS_EXCLUDED(execs_mu_);

 private:
  struct Known {
    Fd comm;              // /proc/TID/comm
    std::string name;     // what it said last
    int64_t seen_ns = 0;  // when the thread was last known to be this
    std::shared_ptr<const OpProcess> process;
  };
  struct alignas(64) Shard {
    absl::Mutex mu;
    absl::flat_hash_map<uint32_t, Known> threads ABSL_GUARDED_BY(mu);
  };
  // A namespace that stays what it is while we have it open.
  struct Namespace {
    Fd file;
    uint64_t inode = 0;
    uint64_t exec = 0;
  };
  static constexpr size_t kShards = 8;

  bool IsStill(Known& known, int64_t now) const;
  Known Look(uint32_t thread, uint32_t uid, int64_t now) ABSL_LOCKS_EXCLUDED(execs_mu_);
  uint64_t ExecOf(uint32_t thread) ABSL_LOCKS_EXCLUDED(execs_mu_);
  // By who started its namespace.
  uint64_t FindExec(uint32_t thread, uint64_t inode) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(execs_mu_);
  const Exec* FindLive(uint64_t id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(execs_mu_);
  AuditLevel LevelOf(uint64_t exec) const ABSL_LOCKS_EXCLUDED(execs_mu_);
  std::shared_ptr<const OpProcess> WriterOf(std::string_view branch, NodeId node)
      ABSL_LOCKS_EXCLUDED(execs_mu_);
  uint64_t FindMapper(NodeId node, const std::vector<uint64_t>& execs)
      ABSL_LOCKS_EXCLUDED(execs_mu_);
  void Remember(NodeId node, uint64_t exec) ABSL_LOCKS_EXCLUDED(execs_mu_);

  const AuditLevel level_;
  const std::shared_ptr<const OpProcess> self_;
  const uint64_t own_namespace_;
  const size_t threads_per_shard_ = std::max<size_t>(1, DescriptorBudget() / kShards);
  Shard shards_[kShards];

  mutable absl::Mutex execs_mu_;
  std::vector<Exec> execs_ ABSL_GUARDED_BY(execs_mu_);
  std::vector<Namespace> namespaces_ ABSL_GUARDED_BY(execs_mu_);
  std::atomic<bool> several_execs_{false};
  // Who last changed a file, for what its mappings write later; only while there are several execs.
  absl::flat_hash_map<uint64_t, uint64_t> last_exec_ ABSL_GUARDED_BY(execs_mu_);
  absl::flat_hash_map<uint64_t, std::shared_ptr<const OpProcess>> mappers_
      ABSL_GUARDED_BY(execs_mu_);  // by exec
};

}  // namespace agentfs
