// SPDX-License-Identifier: Apache-2.0
//
// The smallest filesystem that tests a transport: a root directory with files, in memory.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "adapters/fuse/exchange.h"

namespace agentfs::fuse::test {

// Any thread. A test may change files behind the kernel's back.
class MemoryHandler : public Handler {
 public:
  enum class Opens : uint8_t { kAnswered, kNone };  // kNone: OPEN and OPENDIR are ENOSYS

  struct Options {
    uint64_t valid_seconds = 0;  // of attributes and entries
    Opens opens = Opens::kAnswered;
  };
  MemoryHandler() : MemoryHandler(Options{}) {}
  explicit MemoryHandler(Options options) : options_(options) {}

  void Handle(Exchange& exchange) noexcept override;

  uint64_t Put(const std::string& name, std::string content);  // the node
  void Remove(const std::string& name);
  std::string Content(const std::string& name);
  uint64_t NodeOf(const std::string& name);

  // READ of this file waits until it is opened again, and Waiting() counts who does.
  void Close(const std::string& name);
  void Open();
  void AwaitWaiting(int count);
  // Requests of one operation so far.
  uint64_t Count(uint32_t opcode) const { return counts_[opcode % counts_.size()].load(); }
  // Look-ups that the kernel has not forgotten.
  int64_t Remembered() const { return remembered_.load(); }

 private:
  struct File {
    uint64_t node = 0;
    std::string content;
  };

  void Lookup(Exchange& exchange);
  void Forget(Exchange& exchange);
  void BatchForget(Exchange& exchange);
  void GetAttr(Exchange& exchange);
  void SetAttr(Exchange& exchange);
  void OpenFile(Exchange& exchange);
  void Read(Exchange& exchange);
  void Write(Exchange& exchange);
  void Create(Exchange& exchange);
  void Unlink(Exchange& exchange);
  void ReadDirectory(Exchange& exchange, bool plus);

  File* FindNode(uint64_t node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  fuse_attr AttributesOf(uint64_t node, const File* file) const;
  fuse_entry_out EntryOf(const File& file) const;
  File& PutLocked(const std::string& name, std::string content) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WaitWhileClosed(uint64_t node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  absl::Mutex mu_;
  std::map<std::string, File> files_ ABSL_GUARDED_BY(mu_);
  uint64_t next_node_ ABSL_GUARDED_BY(mu_) = 2;
  uint64_t closed_ ABSL_GUARDED_BY(mu_) = 0;
  int waiting_ ABSL_GUARDED_BY(mu_) = 0;
  std::array<std::atomic<uint64_t>, 64> counts_{};
  std::atomic<int64_t> remembered_ = 0;
};

}  // namespace agentfs::fuse::test
