// SPDX-License-Identifier: Apache-2.0
#include "core/read_ahead.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "agentfs/path.h"
#include "core/directory.h"

namespace agentfs {
namespace {

constexpr size_t kFirstWindow = 16, kLargestWindow = 64;
// Of the files that may be open, those that are so for a walk.
constexpr size_t kShareOfFiles = 4;
// Larger ones are read ahead by the host itself as soon as they are read.
constexpr uint64_t kLargestFile = 128 << 10;
constexpr int kFirstNeeded = 2, kMostNeeded = 64;
constexpr int kMostMisses = 8;
constexpr int kGoodWalk = 4;
// So sure can one be of an order.
constexpr int kMostLead = 16;
// So many directories without a file of theirs being read: names are all that is wanted.
constexpr int kListsWithoutReads = 8;
// So many that the host had at hand anyway: there is nothing to gain.
constexpr int kMostAtHand = 4;

}  // namespace

ReadAhead::ReadAhead(BaseFs* base, BaseFiles& files)
    : base_(base),
      files_(files),
      largest_window_(std::min(kLargestWindow, files.limit() / kShareOfFiles)),
      needed_{kFirstNeeded, kFirstNeeded},
      walk_(base) {
  if (base_ == nullptr) return;
  // Here and not when it is first needed: who asks for files may be bound to one processor, and
  // its threads would be too.
  absl::MutexLock lock(&mu_);
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::exception&) {  // there is no room for one: nothing is read ahead
  }
}

ReadAhead::~ReadAhead() {
  std::thread thread;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    work_.Signal();
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

ReadAhead::Counts ReadAhead::counts() const {
  absl::MutexLock lock(&mu_);
  return counts_;
}

void ReadAhead::WaitUntilIdle() {
  absl::MutexLock lock(&mu_);
  while (working_ || (wanted_ && thread_.joinable())) idle_.Wait(&mu_);
}

void ReadAhead::Saw(Kind kind, const std::string& path, uint64_t identity) {
  if (base_ == nullptr) return;
  absl::MutexLock lock(&mu_);
  if (kind == Kind::kFile) {
    NoteOrderLocked(path);
    lists_ = 0;
    reads_ = true;
  } else if (++lists_ >= kListsWithoutReads) {
    lists_ = 0;
    reads_ = false;
  }
  if (const auto it = expected_.find(identity); it != expected_.end()) {
    const uint64_t sequence = it->second;
    expected_.erase(it);
    HitLocked(sequence);
  } else {
    MissedLocked(kind, path, identity);
  }
}

void ReadAhead::NoteOrderLocked(const std::string& path) {
  const std::string last = std::exchange(last_file_, path);
  if (DirectoryInBase(last) != DirectoryInBase(path)) return;
  if (path > last) ++name_lead_;
  if (NameCursor(FileName(path)) > NameCursor(FileName(last))) --name_lead_;
  name_lead_ = std::clamp(name_lead_, -kMostLead, kMostLead);
}

void ReadAhead::HitLocked(uint64_t sequence) {
  ++counts_.expected;
  misses_ = streak_ = 0;
  if (++hits_ == kGoodWalk) NeededLocked(begun_by_) = kFirstNeeded;
  window_ = std::min(window_ + 1, largest_window_);
  furthest_ = std::max(furthest_, sequence);
  // What the program has left far behind it will not ask for.
  while (!ahead_.empty() && ahead_.front().sequence + 2 * window_ < furthest_) {
    expected_.erase(ahead_.front().identity);
    ahead_.pop_front();
  }
  if (active_ && !over_ && sequence_ - furthest_ <= window_ / 2) WakeLocked();
}

void ReadAhead::MissedLocked(Kind kind, const std::string& path, uint64_t identity) {
  missed_[next_missed_++ % missed_.size()] = identity;
  const std::string_view directory = DirectoryInBase(path);
  const bool near = place_ && (directory == *place_ ||
                               (kind == Kind::kDirectory && directory == DirectoryInBase(*place_)));
  streak_ = near ? streak_ + 1 : 0;
  place_ = kind == Kind::kFile ? std::string(directory) : path;
  // Several from one place: that is where the program is now.
  if (active_ && (++misses_ >= kMostMisses || streak_ >= NeededLocked(kind))) EndLocked();
  if (!active_ && streak_ >= NeededLocked(kind)) BeginLocked(kind, path);
}

bool ReadAhead::WasMissedLocked(uint64_t identity) const {
  return std::find(missed_.begin(), missed_.end(), identity) != missed_.end();
}

void ReadAhead::BeginLocked(Kind kind, const std::string& path) {
  if (!thread_.joinable()) return;
  ++counts_.walks;
  active_ = true;
  begun_by_ = kind;
  over_ = false;
  hits_ = misses_ = at_hand_ = 0;
  window_ = std::min(kFirstWindow, largest_window_);
  furthest_ = sequence_;
  streak_ = 0;
  const bool by_name = name_lead_ > 0 && reads_;
  start_ = Start{kind, path, by_name ? BaseWalk::Order::kName : BaseWalk::Order::kListing};
  WakeLocked();
}

void ReadAhead::EndLocked() {
  int& needed = NeededLocked(begun_by_);
  if (hits_ < kGoodWalk) needed = std::min(2 * needed, kMostNeeded);
  active_ = false;
  expected_.clear();
  ahead_.clear();
}

void ReadAhead::WakeLocked() {
  wanted_ = true;
  if (!working_) work_.Signal();
}

void ReadAhead::Run() {
  for (;;) {
    std::optional<Start> start;
    {
      absl::MutexLock lock(&mu_);
      working_ = false;
      if (!wanted_) idle_.SignalAll();
      while (!wanted_ && !stopping_) work_.Wait(&mu_);
      if (stopping_) return;
      working_ = true;
      wanted_ = false;
      start = std::exchange(start_, std::nullopt);
    }
    try {
      if (start) Go(*start);
      while (Advance()) {
      }
    } catch (const std::exception&) {  // no memory: the reader does without us
      absl::MutexLock lock(&mu_);
      EndLocked();
    }
  }
}

void ReadAhead::Go(const Start& start) {
  if (start.kind == Kind::kFile) {
    walk_.StartAfterFile(start.path, start.order);
  } else {
    walk_.StartIn(start.path, start.order);
  }
}

bool ReadAhead::Advance() {
  {
    absl::MutexLock lock(&mu_);
    if (stopping_ || start_ || !active_ || sequence_ - furthest_ >= window_) return false;
  }
  const std::optional<BaseWalk::Item> item = walk_.Next();
  bool open = false;
  {
    absl::MutexLock lock(&mu_);
    if (start_ || !active_) return false;
    over_ = !item;
    if (over_) return false;
    open = ExpectLocked(*item);
  }
  if (open) Open(*item);
  return true;
}

bool ReadAhead::ExpectLocked(const BaseWalk::Item& item) {
  const bool file = item.kind == Kind::kFile;
  if (file && (!reads_ || item.size == 0 || item.size > kLargestFile)) return false;
  if (WasMissedLocked(item.identity)) return false;
  at_hand_ = !reads_ && item.at_hand ? at_hand_ + 1 : 0;
  if (at_hand_ == kMostAtHand) {
    EndLocked();
    NeededLocked(Kind::kDirectory) = kMostNeeded;
    return false;
  }
  ++counts_.ahead;
  expected_[item.identity] = ++sequence_;
  ahead_.push_back({item.identity, sequence_});
  return file;
}

// Whoever reads it will meet the error, if there is one.
void ReadAhead::Open(const BaseWalk::Item& item) {
  if (auto file = files_.OpenAhead(item.path, item.identity); file.ok()) {
    (*file)->WillRead(item.size);
  }
}

}  // namespace agentfs
