// SPDX-License-Identifier: Apache-2.0
//
// What the operation of this thread is to record once its change of a file's content is made, deep
// below the operation itself.
#pragma once

#include "core/journal.h"
#include "core/node.h"

namespace agentfs {

struct AttachedNote {
  const ViewNode* node = nullptr;  // null: there is nothing to record, or it is done
  OpEvent event;
};

// Null: nothing is attached to this thread.
inline thread_local AttachedNote* attached_note = nullptr;

// Within the change that makes the operation on the node visible.
inline void RecordAttached(Journal::Change& change, const ViewNode& node) {
  AttachedNote* note = attached_note;
  if (note == nullptr || note->node != &node) return;
  note->node = nullptr;
  change.Record(std::move(note->event));
}

}  // namespace agentfs
