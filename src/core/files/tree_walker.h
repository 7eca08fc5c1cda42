// SPDX-License-Identifier: Apache-2.0
//
// A tree, node by node: parents before children, children by name. It keeps its own stack, so that
// the depth of a tree is bounded by memory and not by the thread's stack.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agentfs/directory_trail.h"
#include "agentfs/filesystem.h"
#include "agentfs/result.h"

namespace agentfs {

// One at a time by one thread. Links are not followed. A directory is listed when it is entered;
// a name that has gone when its turn comes is left out. A directory below itself is ELOOP.
class TreeWalker {
 public:
  // The filesystem and the caller must outlive it.
  TreeWalker(FileSystem& fs, const Caller& caller, Found start);

  enum class Event : uint8_t {
    kEnter,  // a node of any type
    kLeave,  // a directory whose children have all been given
    kEnd,
  };
  // The accessors below speak of the event's node and are valid until the next call. After an
  // error, whose message names the path, the walk is over.
  Result<Event> Next();

  const Found& found() const { return current_; }
  // The directory that the node is in and its name there; null and "" for the start.
  Node* parent() const { return parent_; }
  std::string_view name() const { return name_; }
  // Relative to the start, without leading slash; "" for the start.
  const std::string& path() const { return path_; }

 private:
  struct Level {
    Found directory;
    std::string name;                // of the directory in the level above
    std::vector<std::string> names;  // sorted, the next one last
    size_t path_size;                // of path_ for the directory itself
  };
  Result<void> Enter();
  Event Leave();

  FileSystem& fs_;
  const Caller& caller_;
  std::vector<Level> levels_;
  DirectoryTrail trail_;  // the directories of levels_
  Found current_;
  Node* parent_ = nullptr;
  std::string name_;
  std::string path_;
  bool started_ = false;
};

// The names in a directory, sorted. EACCES without the right to read it.
Result<std::vector<std::string>> SortedNames(FileSystem& fs, const Caller& caller, Node& directory);

// "what PATH: why", with the path quoted.
Error AtPath(const Error& error, std::string_view what, std::string_view path);

}  // namespace agentfs
