// SPDX-License-Identifier: Apache-2.0
//
// Observers, and what they must hear of the base.
#include "core/view.h"

namespace agentfs {

void View::AddObserver(ChangeObserver& observer) {
  WithoutOperations([&] {
    operations_.AssertHeld();
    observers_.push_back(&observer);
  });
  Operation operation(*this);
  Result<NodeLock> lock = LockDirectory(AsViewNode(*root_), LockMode::kShared);
  if (lock.ok()) WatchBase(AsViewNode(*root_));
}

void View::RemoveObserver(ChangeObserver& observer) {
  WithoutOperations([&] {
    operations_.AssertHeld();
    std::erase(observers_, &observer);
  });
}

bool View::ObserversHearAll() const {
  const VolumeState& volume = nodes_.volume();
  if (volume.base == nullptr) return true;
  return volume.base->watch_generation() != 0 && !volume.base_unwatched.load();
}

void View::Tell(const ChangeEvent& event) {
  Operation operation(*this);
  Notify(event);
}

void View::WatchBase(ViewNode& node) {
  if (observers_.empty() || node.base == nullptr || node.directory() == nullptr) return;
  VolumeState& volume = nodes_.volume();
  const uint64_t generation = volume.base->watch_generation();
  Directory& directory = *node.directory();
  if (generation == 0 || directory.watched.load(std::memory_order_acquire) == generation) return;
  if (Result<void> watched = volume.base->Watch(node.base->path); watched.ok()) {
    directory.watched.store(generation, std::memory_order_release);
  } else if (watched.code() != ENOENT && watched.code() != ENOTDIR) {
    volume.base_unwatched = true;
  }
}

}  // namespace agentfs
