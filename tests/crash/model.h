// SPDX-License-Identifier: Apache-2.0
//
// What a volume should contain: trees of names and inodes, by value. States share what they have
// in common, so that the state after each of many operations can be kept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "operation.h"

namespace agentfs::crash {

struct Inode {
  uint32_t mode = 0;    // with the type
  std::string content;  // of a regular file; the target of a symbolic link
  std::map<std::string, std::string> xattrs;
  // The content has been kept in an object at some time: it is overwritten in place.
  bool in_object = false;
};

struct Tree {
  std::map<std::string, uint64_t> names;  // paths; the root is not among them
  std::map<uint64_t, std::shared_ptr<const Inode>> inodes;

  const Inode* At(const std::string& path) const;
  uint32_t Links(uint64_t inode) const;
};

struct State {
  std::map<std::string, std::shared_ptr<const Tree>> branches;
  std::map<std::string, std::shared_ptr<const Tree>> snapshots;
  std::shared_ptr<const Tree> base;
  uint64_t next_inode = 1;
};

// Where content of large files is kept.
enum class LargeContent : uint8_t { kInObjects, kInRows };

// A volume that was just made over `base`: the branch main.
State FirstState(std::shared_ptr<const Tree> base);
// Applies the operation; gives the errno, 0 if it succeeded.
int Apply(const Operation& operation, LargeContent large, State* state);

}  // namespace agentfs::crash
