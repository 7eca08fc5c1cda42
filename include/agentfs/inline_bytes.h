// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a row on their way to a store: short ones lie in the object itself, because rows are
// made by one thread and freed by another, which is what allocators are worst at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace agentfs {

// A string of bytes that allocates only past kInline. Not thread-safe.
template <size_t kInline>
class InlineBytes {
 public:
  static constexpr size_t kInlineSize = kInline;

  InlineBytes() {}
  template <typename T>
  requires(std::is_convertible_v<const T&, std::string_view> &&
           !std::is_same_v<std::decay_t<T>, InlineBytes>) InlineBytes(const T& bytes) {
    Append(bytes);
  }
  InlineBytes(const InlineBytes& other) { Append(other.view()); }
  InlineBytes(InlineBytes&& other) noexcept { Steal(other); }
  InlineBytes& operator=(const InlineBytes& other) {
    if (this != &other) Assign(other.view());
    return *this;
  }
  InlineBytes& operator=(InlineBytes&& other) noexcept {
    if (this == &other) return *this;
    Free();
    Steal(other);
    return *this;
  }
  ~InlineBytes() { Free(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const char* data() const { return capacity_ == kInline ? inline_ : heap_; }
  std::string_view view() const { return {data(), size_}; }
  operator std::string_view() const { return view(); }
  operator std::string() const { return std::string(view()); }

  // `bytes` must not be a part of this.
  void Assign(std::string_view bytes) {
    size_ = 0;
    Append(bytes);
  }
  void Append(std::string_view bytes) {
    char* end = Extend(bytes.size());
    if (!bytes.empty()) std::memcpy(end, bytes.data(), bytes.size());
  }
  // Makes this longer; gives the new bytes, uninitialised.
  char* Extend(size_t count) {
    if (count > capacity_ - size_) [[unlikely]]
      Grow(count);
    char* end = (capacity_ == kInline ? inline_ : heap_) + size_;
    size_ += static_cast<uint32_t>(count);
    return end;
  }

  friend bool operator==(const InlineBytes& a, std::string_view b) { return a.view() == b; }
  friend bool operator==(const InlineBytes& a, const InlineBytes& b) {
    return a.view() == b.view();
  }

 private:
  void Grow(size_t count) {
    const size_t capacity = size_ + count > 2 * kInline ? size_ + count : 2 * kInline;
    char* heap = new char[capacity];
    std::memcpy(heap, data(), size_);
    Free();
    heap_ = heap;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void Free() {
    if (capacity_ != kInline) delete[] heap_;
    capacity_ = kInline;
  }
  void Steal(InlineBytes& other) {
    size_ = other.size_;
    capacity_ = other.capacity_;
    if (capacity_ == kInline) {
      std::memcpy(inline_, other.inline_, size_);
    } else {
      heap_ = other.heap_;
      other.capacity_ = kInline;
    }
    other.size_ = 0;
  }

  uint32_t size_ = 0;
  uint32_t capacity_ = kInline;  // kInline: the bytes are in inline_
  union {
    char inline_[kInline];
    char* heap_;
  };
};

}  // namespace agentfs
