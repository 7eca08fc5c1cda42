// SPDX-License-Identifier: Apache-2.0
//
// The operations that the crash tests perform: each one is a single call that changes a volume, so
// that a crash falls before or after it. Operation i of a seed is always the same, whatever came
// before: what does not apply then fails, with the same errno in the model and in the volume.
#pragma once

#include <cstdint>
#include <string>

namespace agentfs::crash {

struct Operation {
  enum class Kind : uint8_t {
    kCreate,
    kWrite,
    kAppend,
    kTruncate,
    kPunch,
    kChmod,
    kSetXattr,
    kRemoveXattr,
    kMakeDirectory,
    kRemoveDirectory,
    kUnlink,
    kUnlinkHeld,  // and the file stays open until the process ends
    kRename,
    kExchange,
    kLink,
    kSymlink,
    kSync,
    kSnapshot,
    kSyncedSnapshot,
    kDeleteSnapshot,
    kCreateBranch,
    kDeleteBranch,
    kRestore,
    kCollectGarbage,
  };
  Kind kind = Kind::kSync;
  std::string branch;  // that it works on
  std::string path;    // the first letter of a name says its type: f, d(irectory), l(ink)
  std::string other;   // a second path, or a ref
  uint64_t offset = 0;
  uint64_t length = 0;
  uint32_t number = 0;  // makes what is written unlike that of other operations

  // Whether its success means that all before it is on stable storage.
  bool IsSync() const { return kind == Kind::kSync || kind == Kind::kSyncedSnapshot; }
  // The bytes that it writes.
  std::string Data() const;
};

// How the paths of a seed's operations are spread.
inline constexpr uint64_t kLargest = 200 * 1024;  // no file grows beyond

Operation MakeOperation(uint64_t seed, uint32_t index);
std::string ToString(const Operation& operation);

}  // namespace agentfs::crash
