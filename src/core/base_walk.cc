// SPDX-License-Identifier: Apache-2.0
#include "core/base_walk.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "agentfs/path.h"
#include "core/directory.h"
#include "core/view_nodes.h"

namespace agentfs {
namespace {

// Who reads a larger directory is ahead for long enough by itself.
constexpr size_t kMostNames = 1 << 16;
constexpr size_t kDeepest = 64;
constexpr size_t kNamesPerLook = 256;
constexpr size_t kSmallDirectory = 64;

}  // namespace

std::string_view DirectoryInBase(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

void BaseWalk::StartAfterFile(const std::string& path, Order order) {
  levels_.clear();
  order_ = order;
  if (!Enter(std::string(DirectoryInBase(path)))) return;
  SkipThrough(FileName(path));
  if (levels_.back().names.size() <= kSmallDirectory) PutFilesBeforeLast();
}

void BaseWalk::StartIn(const std::string& directory, Order order) {
  levels_.clear();
  order_ = order;
  Enter(directory);
}

bool BaseWalk::Enter(const std::string& directory) {
  if (levels_.size() >= kDeepest) return false;
  auto entries = base_->List(directory);
  if (!entries.ok() || entries->size() > kMostNames) return false;
  Level level;
  level.path = directory;
  level.names.reserve(entries->size());
  for (BaseEntry& entry : *entries) {
    const uint64_t cursor = NameCursor(entry.name);
    level.names.push_back({cursor, std::move(entry)});
  }
  std::sort(level.names.begin(), level.names.end(),
            [this](const Name& a, const Name& b) { return IsBefore(a, b); });
  // One name stands for all: who has looked at one has most often looked at the others.
  level.at_hand = !level.names.empty() &&
                  base_->IsAtHand(JoinBasePath(directory, level.names.back().entry.name));
  LookAtNames(level);
  levels_.push_back(std::move(level));
  return true;
}

void BaseWalk::LookAtNames(Level& level) {
  const size_t end = std::min(level.names.size(), level.next + kNamesPerLook);
  std::vector<std::string_view> names;
  names.reserve(end - level.next);
  for (size_t i = level.next; i < end; ++i) names.push_back(level.names[i].entry.name);
  auto stats = base_->StatNames(level.path, names);
  level.first_stat = level.next;
  level.stats.assign(names.size(), BaseStat());
  for (size_t i = 0; stats.ok() && i < names.size(); ++i) {
    if ((*stats)[i].ok()) level.stats[i] = std::move(*(*stats)[i]);
  }
}

bool BaseWalk::IsBefore(const Name& a, const Name& b) const {
  if (order_ == Order::kListing && a.cursor != b.cursor) return a.cursor < b.cursor;
  return a.entry.name < b.entry.name;
}

void BaseWalk::SkipThrough(std::string_view name) {
  Level& level = levels_.back();
  const Name last{NameCursor(name), {std::string(name), 0}};
  const auto next =
      std::upper_bound(level.names.begin(), level.names.end(), last,
                       [this](const Name& a, const Name& b) { return IsBefore(a, b); });
  level.next = static_cast<size_t>(next - level.names.begin());
}

// Directories before have been gone through by now.
void BaseWalk::PutFilesBeforeLast() {
  Level& level = levels_.back();
  const auto next = level.names.begin() + static_cast<ptrdiff_t>(level.next);
  std::vector<Name> names(next, level.names.end());
  std::copy_if(level.names.begin(), next, std::back_inserter(names),
               [](const Name& name) { return S_ISREG(name.entry.type); });
  level.names = std::move(names);
  level.next = 0;
  LookAtNames(level);
}

// Above where the walk has begun it goes on too, as the program does that it follows.
void BaseWalk::Leave() {
  const std::string left = std::move(levels_.back().path);
  levels_.pop_back();
  if (!levels_.empty() || left.empty()) return;
  if (Enter(std::string(DirectoryInBase(left)))) SkipThrough(FileName(left));
}

std::optional<BaseWalk::Item> BaseWalk::Next() {
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.next >= level.names.size()) {
      Leave();
      continue;
    }
    if (level.next >= level.first_stat + level.stats.size()) LookAtNames(level);
    const BaseStat& stat = level.stats[level.next - level.first_stat];
    std::string path = JoinBasePath(level.path, level.names[level.next].entry.name);
    const uint64_t identity = stat.identity, size = stat.attr.size;
    const uint32_t mode = stat.attr.mode;
    const bool usable = identity != 0 && !stat.mounted;
    ++level.next;
    if (!usable) continue;
    if (S_ISREG(mode)) return Item{Kind::kFile, std::move(path), identity, size, false};
    if (!S_ISDIR(mode) || !Enter(path)) continue;
    return Item{Kind::kDirectory, std::move(path), identity, 0, levels_.back().at_hand};
  }
  return std::nullopt;
}

}  // namespace agentfs
