// SPDX-License-Identifier: Apache-2.0
//
// The seam between transport and dispatcher: one request of the kernel and the place for its
// answer.
#pragma once

#include <linux/fuse.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace agentfs::fuse {

// Used by one thread, from the moment the request has come until it is answered.
class Exchange {
 public:
  virtual ~Exchange() = default;

  const fuse_in_header& header() const { return header_; }
  // The fixed arguments of the operation. A kernel that knows a shorter structure sends less; the
  // rest is zero.
  template <typename T>
  T Arguments() const {
    T arguments{};
    const std::span<const char> sent = Fixed(sizeof(T));
    std::memcpy(&arguments, sent.data(), sent.size());
    return arguments;
  }
  // What follows fixed arguments of `fixed` bytes: names, data. Valid until the answer.
  virtual std::span<const char> Payload(size_t fixed) const = 0;
  // Where the answer goes: room for what the kernel may ask for (max_write and a page more).
  virtual std::span<char> space() = 0;

  // A disk is about to be waited for: the thread need not stay where the request has come from.
  virtual void WillWait() {}

  // Exactly one of these ends the exchange. `bytes` of space() are the answer.
  virtual void Answer(size_t bytes) = 0;
  virtual void Fail(int code) = 0;  // a positive errno
  virtual void NoAnswer() = 0;      // FORGET and INTERRUPT have none

  // An answer that is one structure, and perhaps another behind it.
  template <typename T>
  void AnswerWith(const T& value) {
    std::memcpy(space().data(), &value, sizeof(T));
    Answer(sizeof(T));
  }

 protected:
  // At most `size` bytes of fixed arguments.
  virtual std::span<const char> Fixed(size_t size) const = 0;
  fuse_in_header header_{};
};

// Called by the transport's threads, several at a time. The exchange is answered when it returns.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual void Handle(Exchange& exchange) noexcept = 0;
};

}  // namespace agentfs::fuse
