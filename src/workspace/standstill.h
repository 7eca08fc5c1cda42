// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "agentfs/result.h"
#include "agentfs/volume.h"

namespace agentfs {

// A ref that stays what it is while it is read: of a branch, which others may change, a snapshot
// that goes with this object; of anything else the ref itself. The volume must outlive it. Pages
// that the kernel has not written yet are not in it: who has mounts flushes them before.
class Standstill {
 public:
  // `why` is the snapshot's message. ENOENT is left to who opens the ref.
  static Result<Standstill> Of(Volume& volume, std::string_view ref, std::string_view why);
  Standstill(Standstill&& other) noexcept;
  Standstill& operator=(Standstill&&) = delete;
  ~Standstill();

  const std::string& ref() const { return ref_; }

 private:
  Standstill(Volume* volume, std::string ref) : volume_(volume), ref_(std::move(ref)) {}
  Volume* volume_;  // null: nothing to delete
  std::string ref_;
};

}  // namespace agentfs
