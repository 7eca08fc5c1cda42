// SPDX-License-Identifier: Apache-2.0
#include "core/growing_files.h"

#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {

RowKey GrowthMark::Key() const { return KeyWriter().Int(content.value).Int(layer.value).TakeKey(); }

RowValue GrowthMark::Value() const {
  ValueWriter out;
  out.Int(static_cast<int64_t>(node.value)).Int(static_cast<int64_t>(object.value));
  return out.TakeValue();
}

std::optional<GrowthMark> GrowthMark::Parse(std::string_view key, std::string_view value) {
  KeyReader in(key);
  ValueReader columns(value);
  GrowthMark mark;
  mark.content = ContentId(in.Int());
  mark.layer = LayerId(in.Int());
  mark.node = NodeId(static_cast<uint64_t>(columns.Int()));
  mark.object = ObjectId(static_cast<uint64_t>(columns.Int()));
  if (!in.ok() || !in.AtEnd() || !columns.ok()) return std::nullopt;
  return mark;
}

bool GrowingFiles::IsMarked(const Journal& journal, ContentId content, LayerId layer) const {
  if (empty()) return false;
  absl::MutexLock lock(&mu_);
  const auto it = entries_.find(content);
  return it != entries_.end() && !it->second.unread && it->second.mark.layer == layer &&
         journal.IsSynced(it->second.batch);
}

void GrowingFiles::KeepUnread(const GrowthMark& mark) {
  absl::MutexLock lock(&mu_);
  if (!entries_.emplace(mark.content, Entry{mark, 0, true}).second) return;
  unread_.fetch_add(1, std::memory_order_relaxed);
  count_.store(entries_.size(), std::memory_order_relaxed);
}

bool GrowingFiles::IsUnread(ContentId content, LayerId layer) const {
  if (unread_.load(std::memory_order_relaxed) == 0) return false;  // asked with each read
  absl::MutexLock lock(&mu_);
  const auto it = entries_.find(content);
  return it != entries_.end() && it->second.unread && it->second.mark.layer == layer;
}

std::optional<GrowthMark> GrowingFiles::Take(ContentId content) {
  if (empty()) return std::nullopt;
  absl::MutexLock lock(&mu_);
  const auto it = entries_.find(content);
  if (it == entries_.end()) return std::nullopt;
  const GrowthMark mark = it->second.mark;
  if (it->second.unread) unread_.fetch_sub(1, std::memory_order_relaxed);
  entries_.erase(it);
  std::erase(oldest_first_, content);
  count_.store(entries_.size(), std::memory_order_relaxed);
  return mark;
}

void GrowingFiles::Begin(Journal::Change& change, const GrowthMark& mark) {
  std::optional<ContentId> oldest;
  {
    absl::MutexLock lock(&mu_);
    if (!entries_.emplace(mark.content, Entry{mark, change.batch(), false}).second) return;
    oldest_first_.push_back(mark.content);
    count_.store(entries_.size(), std::memory_order_relaxed);
    if (oldest_first_.size() > kMost) oldest = oldest_first_.front();
  }
  change.Put(tables::kGrowing, mark.Key().view(), mark.Value().view());
  if (oldest) End(change, *oldest);
}

// What was synced by its object alone has its rows in this batch or an older one: the mark is
// needed until they are on the disk, and goes with them.
void GrowingFiles::End(Journal::Change& change, ContentId content) {
  if (const auto mark = Take(content)) change.Delete(tables::kGrowing, mark->Key().view());
}

void GrowingFiles::EndLayer(Journal::Exclusive& exclusive, LayerId layer) {
  std::vector<ContentId> contents;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [content, entry] : entries_) {
      if (entry.mark.layer == layer) contents.push_back(content);
    }
  }
  for (ContentId content : contents) {
    if (const auto mark = Take(content)) exclusive.Delete(tables::kGrowing, mark->Key().view());
  }
}

void GrowingFiles::EndAll(Journal::Change& change) {
  std::deque<ContentId> contents;
  {
    absl::MutexLock lock(&mu_);
    contents = oldest_first_;
  }
  for (ContentId content : contents) End(change, content);
}

}  // namespace agentfs
