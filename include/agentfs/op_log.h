// SPDX-License-Identifier: Apache-2.0
//
// The log of operations: what was done to the files of a workspace, by which process of which exec.
// A row is committed in the same transaction as the change that it describes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agentfs/ids.h"
#include "agentfs/result.h"
#include "agentfs/store.h"
#include "agentfs/types.h"

namespace agentfs {

class Volume;

// As stored; never renumbered.
enum class OpKind : uint8_t {
  kCreate = 1,
  kWrite = 2,  // one row for all writes of a process until something else happens to the file
  kTruncate = 3,
  kUnlink = 4,
  kMkdir = 5,
  kRmdir = 6,
  kRename = 7,
  kLink = 8,
  kSymlink = 9,
  kMknod = 10,
  kSetattr = 11,
  kSetxattr = 12,
  kRemovexattr = 13,
  kOpen = 14,     // with AuditLevel::kAll
  kRead = 15,     // a read that was denied
  kDropped = 16,  // `bytes` older rows were dropped here
  kRestore = 17,  // the branch became what a snapshot was
  kAllocate = 18,
};
std::string_view OpName(OpKind kind);  // "create"; "op" for a number that is none
std::optional<OpKind> OpNamed(std::string_view name);

enum class AuditLevel : uint8_t { kOff, kChanges, kAll };
std::string_view AuditLevelName(AuditLevel level);
std::optional<AuditLevel> AuditLevelNamed(std::string_view name);

struct AuditOptions {
  AuditLevel level = AuditLevel::kOff;  // of who belongs to no exec that says otherwise
  uint64_t max_rows = 1'000'000;        // past this the oldest go; 0: unlimited
};

// A process while it has one name.
struct OpProcess {
  uint64_t exec = 0;  // 0: it belongs to none
  uint32_t pid = 0;   // 0: not known
  uint32_t ppid = 0;
  uint32_t uid = 0;
  std::string comm = {};
  AuditLevel level = AuditLevel::kChanges;
};

// Knows who a caller is. Thread-safe.
class ProcessSource {
 public:
  virtual ~ProcessSource() = default;
  // Asked while the caller waits for the answer. Never null. The same object again while it is the
  // same process with the same name, mostly.
  virtual std::shared_ptr<const OpProcess> Identify(const Caller& caller, std::string_view branch,
                                                    NodeId node) = 0;
};

// An operation that was refused.
struct DeniedOp {
  OpKind kind = OpKind::kWrite;
  int error = 0;
  NodeId node = {};  // of a name: the directory that has it
  std::string_view name = {};
  NodeId node2 = {};  // of a second name
  std::string_view name2 = {};
};

// ---- reading

struct OpRecord {
  uint64_t id = 0;
  int64_t time_ns = 0;
  std::string branch;
  uint64_t layer = 0;
  OpKind kind = OpKind::kWrite;
  std::string path, path2;  // "/a/b"; empty: none
  uint64_t node = 0;
  uint64_t bytes = 0, bytes_read = 0;
  int error = 0;  // the errno of an attempt that was denied
  OpProcess process;
};

struct OpFilter {
  std::function<bool(const std::string&)> path = {};  // of either path
  std::optional<OpKind> kind = std::nullopt;
  std::optional<uint64_t> exec = std::nullopt;
  int64_t since_ns = 0;
  Order order = Order::kAscending;
  uint64_t limit = 0;  // at most so many, the first in that order; 0: all
};

// In the order of time, until `visit` says kStop. What happened before the call is seen.
Result<void> ScanOps(Volume& volume, const OpFilter& filter,
                     const std::function<Visit(const OpRecord&)>& visit);

// What one exec has done.
struct OpSummary {
  std::map<OpKind, uint64_t> counts;  // rows
  struct Denied {
    OpKind kind = OpKind::kRead;
    std::string path;
  };
  std::vector<Denied> denied;  // the last of them
};
// Of an exec that began at `since_ns`: in time proportional to what was recorded since then, by
// whomever.
Result<OpSummary> SummarizeOps(Volume& volume, uint64_t exec, int64_t since_ns, size_t max_denied);

// Drops rows older than `before_ns`, or (0) all but the last `keep`; says how many. A row says so.
Result<uint64_t> PruneOps(Volume& volume, int64_t before_ns, uint64_t keep);

}  // namespace agentfs
