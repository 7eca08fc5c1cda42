// SPDX-License-Identifier: Apache-2.0
#include "adapters/control/change_events.h"

#include <utility>

namespace agentfs::control {

class ChangeEvents::Watch final : public ChangeObserver,
                                  public std::enable_shared_from_this<Watch> {
 public:
  Watch(ChangeEvents& events, std::string branch, std::shared_ptr<FileSystem> view)
      : events_(events), branch_(std::move(branch)), view_(std::move(view)) {
    view_->AddObserver(*this);
  }
  ~Watch() override { view_->RemoveObserver(*this); }

  void Changed(const ChangeEvent& event) override {
    if (events_.hub_.HasSubscribers()) events_.Add(*this, event);
  }

  const std::string& branch() const { return branch_; }
  FileSystem& view() { return *view_; }

 private:
  ChangeEvents& events_;
  const std::string branch_;
  const std::shared_ptr<FileSystem> view_;
};

// A ChangeEvent that owns its names.
struct ChangeEvents::Change {
  std::shared_ptr<Watch> watch;
  ChangeEvent::Kind kind;
  NodeId node, parent, new_parent;
  std::string name, new_name;
};

namespace {

std::string Join(const std::string& directory, const std::string& name) {
  if (name.empty()) return directory;
  return directory == "/" ? "/" + name : directory + "/" + name;
}

// "" if the directory is no more.
std::string PathIn(FileSystem& view, NodeId directory, const std::string& name) {
  NodeRef node = view.FindNode(directory);
  if (!node) return "";
  auto path = view.PathOf(*node);
  return path.ok() ? Join(*path, name) : "";
}

// Of a node whose name the change did not say; of several names one.
std::string PathOfNode(FileSystem& view, NodeId id) {
  NodeRef node = view.FindNode(id);
  if (!node) return "";
  if (node == view.Root()) return "/";
  auto named = view.NameOf(*node);
  if (!named.ok()) return "";
  auto parent = view.PathOf(*named->parent);
  return parent.ok() ? Join(*parent, named->name) : "";
}

EventKind KindOf(ChangeEvent::Kind kind) {
  switch (kind) {
    case ChangeEvent::Kind::kCreated:
      return EventKind::kCreated;
    case ChangeEvent::Kind::kRemoved:
      return EventKind::kRemoved;
    case ChangeEvent::Kind::kRenamed:
    case ChangeEvent::Kind::kExchanged:
      return EventKind::kRenamed;
    default:
      return EventKind::kModified;
  }
}

}  // namespace

ChangeEvents::ChangeEvents(EventHub& hub) : hub_(hub), thread_([this] { Run(); }) {}

ChangeEvents::~ChangeEvents() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  thread_.join();
}

std::shared_ptr<ChangeEvents::Watch> ChangeEvents::WatchBranch(const std::string& branch,
                                                               std::shared_ptr<FileSystem> view) {
  absl::MutexLock lock(&watches_mu_);
  if (auto watch = watches_[branch].lock()) return watch;
  auto watch = std::make_shared<Watch>(*this, branch, std::move(view));
  watches_[branch] = watch;
  return watch;
}

void ChangeEvents::Add(Watch& watch, const ChangeEvent& event) {
  // The control plane tells of a restore itself.
  if (event.kind == ChangeEvent::Kind::kReset) return;
  absl::MutexLock lock(&mu_);
  const bool names_nothing = event.name.empty() && event.new_name.empty();
  if (names_nothing && !queue_.empty() && queue_.back().kind == event.kind &&
      queue_.back().node == event.node && queue_.back().watch.get() == &watch) {
    return;  // one of a file written piece by piece is enough
  }
  if (queue_.size() >= kQueueLength) {
    ++lost_;
    return;
  }
  // None while the last reference is going: there is nobody left who could want to know.
  auto held = watch.weak_from_this().lock();
  if (!held) return;
  queue_.push_back({std::move(held), event.kind, event.node, event.parent, event.new_parent,
                    std::string(event.name), std::string(event.new_name)});
}

void ChangeEvents::Publish(const Change& change) {
  FileSystem& view = change.watch->view();
  Event event;
  event.kind = KindOf(change.kind);
  event.branch = change.watch->branch();
  event.path =
      change.parent ? PathIn(view, change.parent, change.name) : PathOfNode(view, change.node);
  if (event.kind == EventKind::kRenamed) {
    event.new_path = PathIn(view, change.new_parent, change.new_name);
  }
  if (event.path.empty()) return;  // unnamed, or gone with its directory
  hub_.Publish(event);
  if (change.kind != ChangeEvent::Kind::kExchanged) return;
  std::swap(event.path, event.new_path);
  hub_.Publish(event);
}

void ChangeEvents::Run() {
  for (;;) {
    std::deque<Change> changes;
    Event lost;
    {
      absl::MutexLock lock(&mu_);
      publishing_ = false;
      mu_.Await(absl::Condition(this, &ChangeEvents::HasWorkLocked));
      if (stopping_) return;
      changes.swap(queue_);
      lost.count = std::exchange(lost_, 0);
      publishing_ = true;
    }
    for (const Change& change : changes) Publish(change);
    if (lost.count > 0) hub_.Publish(lost);
  }
}

void ChangeEvents::Drain() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &ChangeEvents::IsIdleLocked));
}

}  // namespace agentfs::control
