// SPDX-License-Identifier: Apache-2.0
#include "core/view_note.h"

#include <utility>

#include "base/clock.h"

namespace agentfs {

void View::SetBranch(std::string branch) {
  branch_ = std::move(branch);
  number_ = recorder().AddView(branch_);
}

// ---- names

// Directories above are named first, so that a node that is named has a path.
void View::EnsureNamed(ViewNode& node) {
  const uint16_t generation = recorder().generation();
  if (node.named.load(std::memory_order_relaxed) == generation || node.id() == kRootNode) return;
  Result<Named> named = NameOfLoaded(node);
  if (named.ok()) return NoteName(node, AsViewNode(*named->parent), named->name);
  // One without a name stays so until it gets one, which is an event.
  node.named.store(generation, std::memory_order_relaxed);
}

void View::NoteName(ViewNode& node, ViewNode& parent, std::string_view name) {
  const uint16_t generation = recorder().generation();
  if (!recorder().active() || number_ == 0) return;
  if (node.named.load(std::memory_order_relaxed) == generation) return;
  EnsureNamed(parent);
  OpEvent event;
  event.what = OpEvent::What::kNamed;
  event.view = number_;
  event.node = node.id();
  event.parent = parent.id();
  event.name = name;
  Journal::Change change(nodes_.journal());
  change.Record(std::move(event));
  node.named.store(generation, std::memory_order_relaxed);
}

// ---- notes

void View::Note::Begin(OpKind kind, const Caller& caller, ViewNode& node) {
  on_ = true;
  kind_ = kind;
  process_ = view_.recorder().Identify(caller, view_.branch_, node.id());
  view_.EnsureNamed(node);
}

OpEvent View::Note::EventOf(const ViewNode& node) const {
  OpEvent event;
  event.kind = kind_;
  event.silent = process_->level == AuditLevel::kOff;
  event.view = view_.number_;
  event.time_ns = ToNanoseconds(Now());
  event.layer = view_.nodes_.open_layer();
  event.node = node.id();
  event.process = process_;
  return event;
}

void View::Note::Attach(const ViewNode& node, uint64_t bytes) {
  if (!on_ || process_->level == AuditLevel::kOff) return;
  attached_.emplace();
  attached_->node = &node;
  attached_->event = EventOf(node);
  attached_->event.bytes = bytes;
  attached_note = &*attached_;
}

void View::Note::Done(Journal::Change& change, const ViewNode& node) {
  if (on_) change.Record(EventOf(node));
}

void View::Note::Made(Journal::Change& change, ViewNode& node, const ViewNode& parent,
                      std::string_view name, OpKind kind) {
  if (!on_) return;
  OpEvent event = EventOf(node);
  if (kind != OpKind()) event.kind = kind;
  event.parent = parent.id();
  event.name = name;
  node.named.store(view_.recorder().generation(), std::memory_order_relaxed);
  change.Record(std::move(event));
}

void View::Note::Linked(Journal::Change& change, ViewNode& node, const ViewNode& parent,
                        std::string_view name) {
  if (!on_) return;
  OpEvent event = EventOf(node);
  event.parent2 = parent.id();
  event.name2 = name;
  // One that was made without a name is called this.
  if (node.nlink == 1) {
    OpEvent named = event;
    named.what = OpEvent::What::kNamed;
    named.parent = parent.id();
    named.name = name;
    change.Record(std::move(named));
  }
  change.Record(std::move(event));
}

void View::Note::Removed(Journal::Change& change, ViewNode& node, const ViewNode& parent,
                         std::string_view name) {
  if (!on_) return;
  OpEvent event = EventOf(node);
  event.parent = parent.id();
  event.name = name;
  event.keeps_name = node.nlink == 0;
  LostName(node);
  change.Record(std::move(event));
}

void View::Note::Renamed(Journal::Change& change, ViewNode& node, Place from, Place to,
                         ViewNode* replaced) {
  if (!on_) return;
  OpEvent event = EventOf(node);
  event.parent = from.parent.id();
  event.name = from.name;
  event.parent2 = to.parent.id();
  event.name2 = to.name;
  event.directory = node.IsDirectory();
  if (replaced != nullptr && replaced->nlink > 0) {
    event.replaced = replaced->id();
    LostName(*replaced);
  }
  node.named.store(view_.recorder().generation(), std::memory_order_relaxed);
  change.Record(std::move(event));
}

// ---- without a change

void View::NoteDenied(const Caller& caller, const DeniedOp& denied) {
  if (!recorder().active() || number_ == 0) return;
  Operation operation(*this);
  RecordDenied(caller, denied);
}

// A store that cannot be written must not fill the memory with what it refused.
void View::RecordDenied(const Caller& caller, const DeniedOp& denied) {
  VolumeState& volume = nodes_.volume();
  if (volume.journal->pending_bytes() > volume.options.max_pending_bytes) return;
  NodeRef node = nodes_.table().Find(denied.node);
  NodeRef second = denied.node2 ? nodes_.table().Find(denied.node2) : NodeRef();
  if (!node) return;
  EnsureNamed(AsViewNode(*node));
  if (second) EnsureNamed(AsViewNode(*second));
  OpEvent event;
  event.process = recorder().Identify(caller, branch_, denied.node);
  if (event.process->level == AuditLevel::kOff) return;
  event.kind = denied.kind;
  event.error = denied.error;
  event.view = number_;
  event.time_ns = ToNanoseconds(Now());
  if (denied.name.empty()) {
    event.node = denied.node;
  } else {
    event.parent = denied.node;
    event.name = denied.name;
  }
  if (second) event.parent2 = denied.node2;
  event.name2 = denied.name2;
  Journal::Change change(nodes_.journal());
  event.layer = nodes_.open_layer();
  change.Record(std::move(event));
}

uint64_t View::NoteOpened(const Caller& caller, Node& base_node) {
  if (!recorder().active() || number_ == 0) return 0;
  Operation operation(*this);
  ViewNode& node = AsViewNode(base_node);
  OpEvent event;
  event.process = recorder().Identify(caller, branch_, node.id());
  if (event.process->level != AuditLevel::kAll) return 0;
  EnsureNamed(node);
  const uint64_t token = recorder().NextToken();
  event.kind = OpKind::kOpen;
  event.view = number_;
  event.time_ns = ToNanoseconds(Now());
  event.node = node.id();
  event.token = token;
  Journal::Change change(nodes_.journal());
  event.layer = nodes_.open_layer();
  change.Record(std::move(event));
  return token;
}

void View::NoteClosed(uint64_t token, uint64_t bytes_read, uint64_t bytes) {
  if (token == 0) return;
  OpEvent event;
  event.what = OpEvent::What::kClosed;
  event.token = token;
  event.bytes_read = bytes_read;
  event.bytes = bytes;
  Journal::Change change(nodes_.journal());
  change.Record(std::move(event));
}

// No operation is under way, and nobody has asked through this view.
void View::NoteRestored() {
  if (!recorder().active() || number_ == 0) return;
  recorder().ForgetNames();
  OpEvent event;
  event.kind = OpKind::kRestore;
  event.view = number_;
  event.time_ns = ToNanoseconds(Now());
  event.process = recorder().Identify(Caller(), branch_, NodeId());
  Journal::Change change(nodes_.journal());
  event.layer = nodes_.open_layer();
  change.Record(std::move(event));
}

}  // namespace agentfs
