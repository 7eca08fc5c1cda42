// SPDX-License-Identifier: Apache-2.0
//
// What an apply does to the base, step by step, and the journal that it keeps of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agentfs/result.h"
#include "sys/host_tree.h"

namespace agentfs {

// One step. Paths have no leading slash. Steps can be repeated, and taken back.
struct ApplyStep {
  enum class Kind : uint8_t {
    kRemove,           // the file goes to the backups
    kMakeDirectory,    // with its mode only at the end
    kMove,             // from `other`
    kRemoveDirectory,  // which is empty by then
    kWrite,            // what was staged takes its place
    kOverwrite,        // the same, into the file that is there: it has further names
    kSetAttributes,
    kRenew,  // the same under the same name, but another one: known by none
  };
  Kind kind = Kind::kWrite;
  std::string path;
  std::string other;      // kMove: from where; kWrite: what it is a further name of, staged or not
  std::string temp;       // where it is staged
  bool replaces = false;  // there was something at the path
  HostAttributes before;  // of what was there, where it is needed to take the step back
  HostAttributes after;
  std::string keep;  // under which name layers find what was there (Volume::KeptNames)
  // What was staged, to know it again.
  uint64_t inode = 0, size = 0;
};

// The times of a directory whose entries change, to give them back.
struct DirectoryTimes {
  std::string path;
  Timestamp atime, mtime;
};

// What the base has elsewhere afterwards, and layers know by its old path (Volume::BaseMoved).
struct MovedBase {
  uint64_t identity = 0;  // 0: it stands where the base has another, and is that now
  std::string from, to;
};

struct ApplyRecord {
  std::string branch;
  std::string snapshot;  // the branch's state before
  int64_t time_ns = 0;
  bool whole = false;               // all that the branch had changed
  std::vector<std::string> settle;  // paths ("/a") that the base has now as the branch had them
  std::vector<std::string> merged;  // those of them that are other than the branch had them
  std::vector<ApplyStep> steps;
  std::vector<DirectoryTimes> directories;
  std::vector<MovedBase> moved;
};

std::string EncodeRecord(const ApplyRecord& record);
// EBADMSG: damaged.
Result<ApplyRecord> DecodeRecord(std::string_view text);

}  // namespace agentfs
