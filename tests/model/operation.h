// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace agentfs::model {

enum class Kind : uint8_t {
  // by path
  kWriteFile,
  kReadFile,
  kTruncate,
  kMakeDirectory,
  kRemoveDirectory,
  kUnlink,
  kRename,
  kLink,
  kSymlink,
  kMakeNode,
  kChmod,
  kChown,
  kSetTimes,
  kStat,
  kAccess,
  kList,
  kSetXattr,
  kGetXattr,
  kRemoveXattr,
  // by handle
  kOpen,
  kClose,
  kWrite,
  kAppend,
  kRead,
  kTruncateOpen,
  kAllocate,
  kSeek,
  kCopyRange,
  kSync,
  kStatOpen,
  kLinkOpen,
  // of the volume
  kSnapshot,
  kCheckSnapshot,
  kDeleteSnapshot,
  kBranch,
  kSwitch,
  kDeleteBranch,
  kRestore,
  kReopen,
  kCollectGarbage,
  kCheckTree,
};

// One step. Which fields matter depends on the kind; `by` says as whom it is done.
struct Operation {
  Kind kind = Kind::kCheckTree;
  uint8_t by = 0;     // 0: root
  uint8_t slot = 0;   // of an open file
  uint8_t other = 0;  // another slot
  uint32_t mode = 0;  // permission bits, a type, a mask, or a variant of the operation
  int flags = 0;      // of open
  uint64_t offset = 0;
  uint64_t target = 0;  // a second offset, or a time
  uint64_t length = 0;
  uint32_t seed = 0;  // of the bytes written
  std::string path;
  std::string to;  // a second path, a link target, an xattr name, or a name in the volume
};

std::string ToString(const Operation& operation);
std::string ToString(const std::vector<Operation>& operations);

}  // namespace agentfs::model
