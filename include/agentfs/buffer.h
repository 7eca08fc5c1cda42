// SPDX-License-Identifier: Apache-2.0
//
// Reference-counted bytes: one allocation, shared between a file's cache, the pending batch and a
// store that keeps values in memory, without copying.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace agentfs {

// A handle on shared bytes; null by default. Copying shares; the bytes may be changed only by one
// who knows that nobody else reads them meanwhile (unique(), or a protocol of the owner's).
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer& other) : rep_(other.rep_) { Ref(); }
  Buffer(Buffer&& other) noexcept : rep_(std::exchange(other.rep_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(rep_, other.rep_);
    return *this;
  }
  ~Buffer() { Unref(); }

  // `size` uninitialised bytes, in an allocation that can hold `capacity` (at least size).
  static Buffer Allocate(size_t size, size_t capacity = 0);
  static Buffer Copy(std::string_view bytes, size_t capacity = 0);

  explicit operator bool() const { return rep_ != nullptr; }
  size_t size() const { return rep_ ? rep_->size : 0; }
  size_t capacity() const { return rep_ ? rep_->capacity : 0; }
  const char* data() const { return rep_ ? rep_->bytes() : nullptr; }
  char* mutable_data() { return rep_ ? rep_->bytes() : nullptr; }
  std::string_view view() const { return {data(), size()}; }
  bool unique() const { return rep_ && rep_->refs.load(std::memory_order_acquire) == 1; }

  // Changes the size in place; at most capacity(). New bytes are uninitialised.
  void SetSize(size_t size) { rep_->size = static_cast<uint32_t>(size); }

 private:
  struct Rep {
    std::atomic<uint32_t> refs;
    uint32_t size;
    uint32_t capacity;
    char* bytes() { return reinterpret_cast<char*>(this + 1); }
    const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  };
  explicit Buffer(Rep* rep) : rep_(rep) {}
  void Ref() {
    if (rep_) rep_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  void Unref();

  Rep* rep_ = nullptr;
};

}  // namespace agentfs
