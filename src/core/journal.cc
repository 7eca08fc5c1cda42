// SPDX-License-Identifier: Apache-2.0
#include "core/journal.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/time/time.h"
#include "sys/memory_reserve.h"

namespace agentfs {
namespace {

// What a mutation costs in memory besides its bytes.
constexpr uint64_t kMutationOverhead = sizeof(Mutation);
// A commit takes so much more of the disk than its mutations of memory: of each row a page.
constexpr uint64_t kDiskOfPending = 64;
// How many batches a writer waits for to find room.
constexpr int kMostFlushes = 64;
// How long to wait before writing again to a store that refused.
constexpr absl::Duration kRetryInterval = absl::Milliseconds(500);

// Short keys and values are part of the mutation.
uint64_t Weight(size_t key, size_t value, size_t blob) {
  return kMutationOverhead + (key > RowKey::kInlineSize ? key : 0) +
         (value > RowValue::kInlineSize ? value : 0) + blob;
}

}  // namespace

Journal::Journal(Store& store, const Options& options, Hooks hooks)
    : store_(store), options_(options), hooks_(std::move(hooks)), room_(store) {
  {
    absl::MutexLock lock(&append_mu_);
    current_ = std::make_unique<Pending>();
    current_->sequence = 1;
  }
  thread_ = std::thread([this] { Run(); });
}

Journal::~Journal() { (void)Close(); }

uint64_t Journal::max_pending_bytes() const {
  return std::min(commit_bytes() / kDiskOfPending, options_.max_pending_bytes);
}

// ---- appending

void Journal::MarkDirty() {
  const bool urgent = pending_bytes_.load(std::memory_order_relaxed) > max_pending_bytes() / 4;
  if (dirty_.load(std::memory_order_relaxed) && !urgent) return;
  const bool first = !dirty_.exchange(true);
  // Awake, the committer looks by itself before the interval is over.
  if (urgent || (first && asleep_.load())) {
    absl::MutexLock lock(&mu_);
    work_.Signal();
  }
}

// The slot is filled after append_mu_ is released: the caller's hold on the gate keeps the batch.
Mutation* Journal::Append(Mutation::Kind kind, TableId table, std::string_view key,
                          std::string_view value, Buffer blob, ViewNode* pin) {
  const uint64_t bytes = Weight(key.size(), value.size(), blob.size());
  Mutation* slot;
  {
    absl::MutexLock lock(&append_mu_);
    slot = &current_->batch.mutations.Add();
    current_->batch.bytes += bytes;
    if (pin != nullptr) current_->pins.emplace_back(*pin);
  }
  slot->table = table;
  slot->kind = kind;
  slot->key.Assign(key);
  slot->value.Assign(value);
  slot->blob = std::move(blob);
  pending_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return slot;
}

void Journal::Change::MarkDirty() {
  if (whose_ == ChangeOf::kUser) journal_.NoteUserChange();
  journal_.MarkDirty();
}

Mutation* Journal::Change::Put(TableId table, std::string_view key, std::string_view value,
                               Buffer blob) {
  Mutation* slot = journal_.Append(Mutation::Kind::kPut, table, key, value, std::move(blob));
  MarkDirty();
  return slot;
}

void Journal::Change::Delete(TableId table, std::string_view key) {
  journal_.Append(Mutation::Kind::kDelete, table, key, {}, {});
  MarkDirty();
}

Mutation* Journal::Change::PutPinned(ViewNode& node, TableId table, std::string_view key,
                                     std::string_view value) {
  Mutation* slot = journal_.Append(Mutation::Kind::kPut, table, key, value, {}, &node);
  MarkDirty();
  return slot;
}

void Journal::Change::DeletePinned(ViewNode& node, TableId table, std::string_view key) {
  journal_.Append(Mutation::Kind::kDelete, table, key, {}, {}, &node);
  MarkDirty();
}

void Journal::Change::ObjectWritten(std::shared_ptr<BlobObject> object, Pages pages) {
  absl::MutexLock lock(&journal_.append_mu_);
  Pending& batch = *journal_.current_;
  auto& objects = pages == Pages::kMapped ? batch.mapped : batch.overwritten;
  if (objects.empty() || objects.back() != object) objects.push_back(std::move(object));
  if (whose_ == ChangeOf::kUser) journal_.NoteUserChange();
}

void Journal::Change::Record(OpEvent&& event) {
  const uint64_t bytes = sizeof event + event.name.size() + event.name2.size();
  {
    absl::MutexLock lock(&journal_.append_mu_);
    journal_.current_->ops.Add(std::move(event));
    journal_.current_->batch.bytes += bytes;
  }
  journal_.pending_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  MarkDirty();
}

void Journal::Change::AfterCommit(std::function<void()> work) {
  {
    absl::MutexLock lock(&journal_.append_mu_);
    journal_.current_->after_commit.push_back(std::move(work));
  }
  MarkDirty();
}

void Journal::Change::AfterSync(std::function<void()> work) {
  {
    absl::MutexLock lock(&journal_.append_mu_);
    journal_.current_->must_sync = true;
  }
  AfterCommit(std::move(work));
}

void Journal::Exclusive::Put(TableId table, std::string_view key, std::string_view value) {
  journal_.Append(Mutation::Kind::kPut, table, key, value, {});
  journal_.NoteUserChange();
  journal_.MarkDirty();
}

void Journal::Exclusive::Delete(TableId table, std::string_view key) {
  journal_.Append(Mutation::Kind::kDelete, table, key, {}, {});
  journal_.NoteUserChange();
  journal_.MarkDirty();
}

void Journal::PutAtSeal(TableId table, std::string_view key, std::string_view value) {
  Append(Mutation::Kind::kPut, table, key, value, {});
}

// What is pending may need less room than was set aside for it, or give some back: what was removed
// does so once its rows have gone, too, some batches later.
Result<void> Journal::TakeRoom(uint64_t bytes) {
  Result<void> taken = room_.Take(bytes, pending_bytes());
  for (int flushes = 0; !taken.ok() && flushes < kMostFlushes; ++flushes) {
    const uint64_t appended = AppendedBatch();
    const bool was_last = IsCommitted(appended);
    if (!was_last) AGENTFS_TRY(AwaitBatch(appended, Durability::kNone));
    store_.MakeRoom();
    taken = room_.Take(bytes, pending_bytes());
    if (was_last) break;
  }
  return taken;
}

Result<void> Journal::Admit(Growth growth, uint64_t bytes) {
  if (!MemoryReserve::IsThere()) [[unlikely]]
    return Error(ENOMEM);
  if (growth != Growth::kFrees && error_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    absl::MutexLock lock(&mu_);
    return last_error_;
  }
  if (growth == Growth::kGrows) AGENTFS_TRY(TakeRoom(bytes));
  if (pending_bytes_.load(std::memory_order_relaxed) <= max_pending_bytes()) [[likely]]
    return Ok();
  absl::MutexLock lock(&mu_);
  while (pending_bytes_.load() > max_pending_bytes() && !stopping_) {
    if (error_.load() != 0) return growth == Growth::kFrees ? Ok() : Result<void>(last_error_);
    work_.Signal();
    done_.Wait(&mu_);
  }
  return Ok();
}

// ---- waiting

Result<void> Journal::AwaitBatch(uint64_t batch, Durability durability) {
  absl::MutexLock lock(&mu_);
  // One that has begun already fails for reasons of before.
  const uint64_t begun = attempts_;
  const bool synced = durability == Durability::kSynced;
  (synced ? wanted_synced_ : wanted_) = std::max(synced ? wanted_synced_ : wanted_, batch);
  work_.Signal();
  while ((synced ? synced_ : committed_).load() < batch) {
    if (failed_attempt_ > begun) return last_error_;
    if (stopping_ && !thread_.joinable()) return Error(EBADF);
    done_.Wait(&mu_);
  }
  return Ok();
}

Result<void> Journal::Flush(Durability durability) {
  return AwaitBatch(AppendedBatch(), durability);
}

Result<void> Journal::SyncChanges() {
  const uint64_t batch = ChangedBatch();
  return IsSynced(batch) ? Ok() : AwaitBatch(batch, Durability::kSynced);
}

Result<void> Journal::WaitCommitted(uint64_t batch) {
  if (IsCommitted(batch)) return Ok();
  return AwaitBatch(batch, Durability::kNone);
}

Result<void> Journal::Close() {
  {
    absl::MutexLock lock(&mu_);
    if (stopping_) return Ok();
  }
  Result<void> flushed = Flush(Durability::kSynced);
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    work_.Signal();
    done_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
  return flushed;
}

// ---- the committer's thread

void Journal::AwaitInterval() {
  const absl::Time deadline = absl::Now() + absl::Milliseconds(options_.interval_ms);
  while (!stopping_ && !MustCommit()) {
    if (work_.WaitWithDeadline(&mu_, deadline)) return;
  }
}

bool Journal::AwaitWork(Durability* durability) {
  absl::MutexLock lock(&mu_);
  const auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !stopping_ && !dirty_.load() && !MustCommit() && cut_.empty();
  };
  if (!stopping_ && error_.load() != 0) {
    work_.WaitWithTimeout(&mu_, kRetryInterval);
  } else {
    AwaitInterval();
  }
  if (idle()) {
    // An interval without any change: from now on the first one has to wake it.
    asleep_.store(true);
    while (idle()) work_.Wait(&mu_);
    asleep_.store(false);
    AwaitInterval();
  }
  *durability = wanted_synced_ > synced_ ? Durability::kSynced : Durability::kNone;
  ++attempts_;
  return !stopping_ || dirty_.load();
}

void Journal::Run() {
  Durability durability = Durability::kNone;
  while (AwaitWork(&durability)) {
    Cycle(durability);
    absl::MutexLock lock(&mu_);
    if (stopping_) break;
  }
}

// While commits fail, batches are cut all the same, so that none grows beyond what the disk may
// have room for when they work again.
void Journal::Cycle(Durability durability) {
  if (!CommitCut(durability) && !HasMuchAppended()) return;
  if (!Cut()) return Failed(Error(ENOMEM));
  if (error_.load() == 0) (void)CommitCut(durability);
}

bool Journal::HasMuchAppended() {
  absl::MutexLock lock(&append_mu_);
  return current_->batch.bytes > max_pending_bytes() / 4;
}

bool Journal::CommitCut(Durability durability) {
  while (!cut_.empty()) {
    Pending& first = *cut_.front();
    const Durability needed = first.must_sync ? Durability::kSynced : durability;
    if (auto result = TryCommit(first, needed); !result.ok()) {
      Failed(result.error());
      return false;
    }
    std::unique_ptr<Pending> done = std::move(cut_.front());
    cut_.pop_front();
    Succeeded(std::move(done), needed);
  }
  return true;
}

Result<void> Journal::TryCommit(Pending& pending, Durability durability) {
  try {
    return Commit(pending, durability);
  } catch (const std::bad_alloc&) {
    return Error(ENOMEM);
  }
}

bool Journal::Cut() {
  try {
    hooks_.before_seal();
    auto next = std::make_unique<Pending>();
    cut_.emplace_back();
    {
      Exclusive gate(*this);
      hooks_.at_seal();
      absl::MutexLock lock(&append_mu_);
      next->sequence = current_->sequence + 1;
      sequence_.store(next->sequence);
      dirty_.store(false);
      cut_.back() = std::exchange(current_, std::move(next));
    }
    MakeOpRows(*cut_.back());
    if (hooks_.has_work && hooks_.has_work()) MarkDirty();
  } catch (const std::bad_alloc&) {
    if (!cut_.empty() && cut_.back() == nullptr) cut_.pop_back();
    return false;
  }
  return true;
}

// The rows take memory too, until they are committed.
void Journal::MakeOpRows(Pending& pending) {
  if (!hooks_.after_cut) return;
  const uint64_t before = pending.batch.bytes;
  hooks_.after_cut(pending.ops, pending.batch);
  pending_bytes_.fetch_add(pending.batch.bytes - before, std::memory_order_relaxed);
}

// A row must not be on the disk before the pages that it maps, and a row that nobody has synced
// may get there at any time.
Result<void> Journal::SyncObjects(Pending& pending, Durability durability) {
  const auto keep = [&](std::vector<std::shared_ptr<BlobObject>>& objects) {
    for (const auto& object : objects) unsynced_objects_.insert(object);
    objects.clear();
  };
  keep(pending.overwritten);
  if (!store_.capabilities().durable) keep(pending.mapped);
  const absl::flat_hash_set<std::shared_ptr<BlobObject>> mapped(pending.mapped.begin(),
                                                                pending.mapped.end());
  for (const auto& object : mapped) {
    AGENTFS_TRY(object->Sync());
    unsynced_objects_.erase(object);
  }
  pending.mapped.clear();
  if (durability != Durability::kSynced) return Ok();
  for (const auto& object : unsynced_objects_) AGENTFS_TRY(object->Sync());
  unsynced_objects_.clear();
  return Ok();
}

Result<void> Journal::Commit(Pending& pending, Durability durability) {
  AGENTFS_TRY(SyncObjects(pending, durability));
  if (pending.batch.empty() && durability == Durability::kNone) return Ok();
  return store_.Commit(pending.batch, durability);
}

void Journal::Succeeded(std::unique_ptr<Pending> pending, Durability durability) {
  error_.store(0);
  const uint64_t sequence = pending->sequence;
  const uint64_t bytes = pending->batch.bytes;
  // Before anybody learns of it: who has waited for the batch may take down the view whose nodes
  // it holds.
  for (auto& work : pending->after_commit) work();
  pending.reset();
  committed_.store(sequence, std::memory_order_release);
  pending_bytes_.fetch_sub(bytes);
  room_.LookAgain(pending_bytes());
  {
    absl::MutexLock lock(&mu_);
    if (durability == Durability::kSynced) synced_.store(sequence, std::memory_order_release);
    done_.SignalAll();
  }
  hooks_.after_commit();
}

void Journal::Failed(Error error) {
  error_.store(error.code());
  absl::MutexLock lock(&mu_);
  last_error_ = std::move(error);
  failed_attempt_ = attempts_;
  done_.SignalAll();
}

}  // namespace agentfs
