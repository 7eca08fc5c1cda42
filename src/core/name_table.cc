// SPDX-License-Identifier: Apache-2.0
#include "core/name_table.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "absl/hash/hash.h"

namespace agentfs {

NameEntry* NameEntry::Make(std::string_view name) {
  void* memory = ::operator new(sizeof(NameEntry) + name.size());
  auto* entry = new (memory) NameEntry(static_cast<uint8_t>(name.size()));
  std::memcpy(reinterpret_cast<char*>(entry + 1), name.data(), name.size());
  return entry;
}

void NameEntry::Destroy(NameEntry* entry) {
  entry->~NameEntry();
  ::operator delete(entry);
}

uint64_t NameTable::Hash(std::string_view name) { return absl::Hash<std::string_view>{}(name); }

NameEntry* NameTable::Find(std::string_view name) const {
  if (size_ == 0) return nullptr;
  const uint64_t hash = Hash(name);
  for (uint32_t at = Home(hash); slots_[at] != 0; at = Next(at)) {
    if (slots_[at] >> kTagShift != hash >> kTagShift) continue;
    NameEntry* entry = EntryOf(slots_[at]);
    if (entry->name() == name) return entry;
  }
  return nullptr;
}

void NameTable::Place(const NameEntry* entry) {
  const uint64_t hash = Hash(entry->name());
  uint32_t at = Home(hash);
  while (slots_[at] != 0) at = Next(at);
  slots_[at] = SlotOf(entry, hash);
}

void NameTable::Grow() {
  const uint32_t old_capacity = capacity_;
  const std::unique_ptr<uint64_t[]> old = std::move(slots_);
  capacity_ = std::max<uint32_t>(4, old_capacity + old_capacity / 2);
  slots_ = std::make_unique<uint64_t[]>(capacity_);
  for (uint32_t i = 0; i < old_capacity; ++i) {
    if (old[i] != 0) Place(EntryOf(old[i]));
  }
}

void NameTable::Insert(NameEntry* entry) {
  if ((uint64_t{size_} + 1) * 4 > uint64_t{capacity_} * 3) Grow();
  Place(entry);
  ++size_;
}

// What comes behind moves up, as far as it may: a slot never lies behind an
// empty one on the way from its home.
void NameTable::Erase(const NameEntry* entry) {
  uint32_t hole = Home(Hash(entry->name()));
  while (EntryOf(slots_[hole]) != entry) hole = Next(hole);
  for (uint32_t at = Next(hole); slots_[at] != 0; at = Next(at)) {
    const uint32_t home = Home(Hash(EntryOf(slots_[at])->name()));
    // How far the slot is from its home, and from the hole, going round.
    const uint32_t from_home = at >= home ? at - home : at + capacity_ - home;
    const uint32_t from_hole = at >= hole ? at - hole : at + capacity_ - hole;
    if (from_home < from_hole) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole] = 0;
  --size_;
}

void NameTable::Clear() {
  slots_.reset();
  capacity_ = 0;
  size_ = 0;
}

}  // namespace agentfs
