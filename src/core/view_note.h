// SPDX-License-Identifier: Apache-2.0
//
// What an operation leaves in the op log.
#pragma once

#include <optional>
#include <string_view>

#include "core/attached_note.h"
#include "core/view.h"

namespace agentfs {

// Made before the operation's locks, since finding out who asks and what nodes are called may take
// some. Costs nothing where nothing is recorded.
class View::Note {
 public:
  struct Place {
    const ViewNode& parent;
    std::string_view name;
  };

  // `node` is what the operation is about, or the directory of its name.
  Note(View& view, OpKind kind, const Caller& caller, ViewNode& node) : view_(view) {
    if (view.recorder().active() && view.number_ != 0) Begin(kind, caller, node);
  }
  ~Note() {
    if (attached_) attached_note = nullptr;
  }
  Note(const Note&) = delete;
  Note& operator=(const Note&) = delete;

  // Another node whose name is needed.
  void Also(ViewNode& node) {
    if (on_) view_.EnsureNamed(node);
  }
  // Recorded with the change of the node's content (RecordAttached).
  void Attach(const ViewNode& node, uint64_t bytes);

  // ---- under the change
  void Done(Journal::Change& change, const ViewNode& node);
  // `kind` if it is another one than the operation's.
  void Made(Journal::Change& change, ViewNode& node, const ViewNode& parent, std::string_view name,
            OpKind kind = OpKind());
  void Linked(Journal::Change& change, ViewNode& node, const ViewNode& parent,
              std::string_view name);
  void Removed(Journal::Change& change, ViewNode& node, const ViewNode& parent,
               std::string_view name);
  // `replaced`, which was there, has lost this name; null: there was nothing.
  void Renamed(Journal::Change& change, ViewNode& node, Place from, Place to,
               ViewNode* replaced = nullptr);
  // One of the node's names has gone; it is looked for anew.
  static void LostName(ViewNode& node) {
    if (node.nlink > 0) node.named.store(0, std::memory_order_relaxed);
  }

 private:
  void Begin(OpKind kind, const Caller& caller, ViewNode& node);
  OpEvent EventOf(const ViewNode& node) const;

  View& view_;
  bool on_ = false;
  OpKind kind_ = OpKind::kWrite;
  std::shared_ptr<const OpProcess> process_;
  std::optional<AttachedNote> attached_;  // an operation has no other below it
};

}  // namespace agentfs
