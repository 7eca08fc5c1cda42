// SPDX-License-Identifier: Apache-2.0
//
// What operations leave for the committer, who makes rows of it: as little work as possible on the
// time of who waits for the operation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agentfs/ids.h"
#include "agentfs/op_log.h"

namespace agentfs {

struct OpEvent {
  enum class What : uint8_t {
    kOp,     // a row
    kNamed,  // no row: `node` is called `name` in `parent`, unless more is known
    kClosed  // what was opened as `token` is closed
  };
  What what = What::kOp;
  OpKind kind = OpKind::kWrite;
  bool silent = false;     // no row, but names follow
  bool directory = false;  // what is renamed is one
  bool keeps_name = true;  // after an unlink: there is no other name
  int error = 0;
  uint32_t view = 0;
  int64_t time_ns = 0;
  LayerId layer = {};
  NodeId node = {};
  NodeId replaced = {};              // by a rename, and with other names left
  NodeId parent = {}, parent2 = {};  // 0: the path is the node's own
  std::string_view name = {}, name2 = {};
  uint64_t bytes = 0, bytes_read = 0;
  uint64_t token = 0;
  std::shared_ptr<const OpProcess> process = {};
};

// Events in order, with their names. Guarded by who has it.
class OpEvents {
 public:
  // The names are copied.
  void Add(OpEvent&& event) {
    if (size_ % kEvents == 0) events_.push_back(std::make_unique<OpEvent[]>(kEvents));
    OpEvent& kept = events_.back()[size_ % kEvents];
    kept = std::move(event);
    kept.name = Keep(kept.name);
    kept.name2 = Keep(kept.name2);
    ++size_;
  }
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  const OpEvent& operator[](size_t i) const { return events_[i / kEvents][i % kEvents]; }
  void Clear() {
    events_.clear();
    size_ = 0;
    blocks_.clear();
    left_ = 0;
  }

 private:
  static constexpr size_t kEvents = 64;    // in an array; they never move
  static constexpr size_t kBlock = 16384;  // bytes of names
  std::string_view Keep(std::string_view name) {
    if (name.empty()) return {};
    if (name.size() > left_) {
      left_ = name.size() > kBlock ? name.size() : kBlock;
      blocks_.push_back(std::make_unique<char[]>(left_));
      at_ = blocks_.back().get();
    }
    char* kept = at_;
    name.copy(kept, name.size());
    at_ += name.size();
    left_ -= name.size();
    return {kept, name.size()};
  }

  std::vector<std::unique_ptr<OpEvent[]>> events_;
  size_t size_ = 0;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* at_ = nullptr;
  size_t left_ = 0;
};

}  // namespace agentfs
