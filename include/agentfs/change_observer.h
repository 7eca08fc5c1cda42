// SPDX-License-Identifier: Apache-2.0
//
// Who wants to know what changes in a view: caches in front of it, subscribers to events.
#pragma once

#include <cstdint>
#include <string_view>

#include "agentfs/ids.h"

namespace agentfs {

struct ChangeEvent {
  enum class Kind : uint8_t {
    kCreated,     // `node` has the name `name` in `parent`: new, or one more
    kRemoved,     // it no longer has
    kRenamed,     // it has moved to `new_name` in `new_parent`, where `replaced` was (0: nothing)
    kExchanged,   // the two have changed places
    kContent,     // its content, and with it size and times
    kAttributes,  // mode, owner, times, extended attributes
    kBase,        // the base has changed at `name` in `parent` ("": itself), where `node` is now
    kReset,       // anything may have changed: the branch was restored
  };
  Kind kind;
  uint64_t origin = 0;  // the Caller's
  NodeId node = {};
  NodeId parent = {};
  std::string_view name = {};
  NodeId new_parent = {};
  std::string_view new_name = {};
  NodeId replaced = {};
};

// Called by the thread that made the change, in the order of the changes to a node, before the
// operation returns. Must be quick, and must neither wait for nor call the filesystem.
class ChangeObserver {
 public:
  virtual ~ChangeObserver() = default;
  virtual void Changed(const ChangeEvent& event) = 0;
};

}  // namespace agentfs
