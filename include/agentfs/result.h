// SPDX-License-Identifier: Apache-2.0
//
// Errors as values. A function that can fail returns Result<T>; a caller either handles the error
// or passes it on with AGENTFS_TRY. Exceptions never cross a function of ours.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace agentfs {

// Why an operation failed: an errno for programs and, where a person will read it, a message that
// says what was attempted, on what, and why it failed; `remedy` says what to do about it.
// Cheap without a message: hot paths return Error(ENOENT) without allocating.
class [[nodiscard]] Error {
 public:
  explicit Error(int code) : code_(code == 0 ? EIO : code) {}
  Error(int code, std::string message, std::string remedy = {})
      : code_(code == 0 ? EIO : code),
        text_(std::make_unique<Text>(Text{std::move(message), std::move(remedy)})) {}

  Error(Error&&) noexcept = default;
  Error& operator=(Error&&) noexcept = default;
  Error(const Error& other)
      : code_(other.code_), text_(other.text_ ? std::make_unique<Text>(*other.text_) : nullptr) {}
  Error& operator=(const Error& other) { return *this = Error(other); }

  int code() const { return code_; }
  // The message, or the errno's own text where there is none.
  std::string message() const;
  std::string_view remedy() const { return text_ ? std::string_view(text_->remedy) : ""; }

  // The same error with "what: " put before its message.
  Error WithContext(std::string_view what) const;

 private:
  struct Text {
    std::string message;
    std::string remedy;
  };
  int code_;
  std::unique_ptr<Text> text_;
};

// A T or an Error. Accessing the wrong one aborts: it is a bug, not an error.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(Error error) : ok_(false) { new (&error_) Error(std::move(error)); }
  template <typename U = T>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::decay_t<U>, Result> &&
           !std::is_same_v<std::decay_t<U>, Error>) Result(U&& value)
      : ok_(true) {
    new (&value_) T(std::forward<U>(value));
  }
  Result(Result&& other) noexcept : ok_(other.ok_) {
    if (ok_) {
      new (&value_) T(std::move(other.value_));
    } else {
      new (&error_) Error(std::move(other.error_));
    }
  }
  Result(const Result& other) : ok_(other.ok_) {
    if (ok_) {
      new (&value_) T(other.value_);
    } else {
      new (&error_) Error(other.error_);
    }
  }
  Result& operator=(Result other) noexcept {
    this->~Result();
    new (this) Result(std::move(other));
    return *this;
  }
  ~Result() {
    if (ok_) {
      value_.~T();
    } else {
      error_.~Error();
    }
  }

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }

  T& value() & { return Checked(), value_; }
  const T& value() const& { return Checked(), value_; }
  T&& value() && { return Checked(), std::move(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    if (ok_) std::abort();
    return error_;
  }
  Error&& error() && {
    if (ok_) std::abort();
    return std::move(error_);
  }
  // 0 when there is a value, the error's errno otherwise.
  int code() const { return ok_ ? 0 : error_.code(); }

 private:
  void Checked() const {
    if (!ok_) std::abort();
  }
  bool ok_;
  union {
    T value_;
    Error error_;
  };
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}
  Result(Result&&) noexcept = default;
  Result& operator=(Result&&) noexcept = default;
  Result(const Result& other)
      : error_(other.error_ ? std::make_unique<Error>(*other.error_) : nullptr) {}
  Result& operator=(const Result& other) { return *this = Result(other); }

  bool ok() const { return error_ == nullptr; }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    if (ok()) std::abort();
    return *error_;
  }
  int code() const { return ok() ? 0 : error_->code(); }

 private:
  std::unique_ptr<Error> error_;
};

inline Result<void> Ok() { return {}; }

}  // namespace agentfs

#define AGENTFS_CONCAT_(a, b) a##b
#define AGENTFS_CONCAT(a, b) AGENTFS_CONCAT_(a, b)

// AGENTFS_TRY(expr): returns expr's error from the enclosing function, if it has one.
#define AGENTFS_TRY(expr)                                              \
  do {                                                                 \
    if (auto agentfs_try_ = (expr); !agentfs_try_.ok()) [[unlikely]] { \
      return ::agentfs::Error(std::move(agentfs_try_).error());        \
    }                                                                  \
  } while (false)

// AGENTFS_ASSIGN(auto x, expr): the same, and on success moves the value into x.
#define AGENTFS_ASSIGN(lhs, expr) \
  AGENTFS_ASSIGN_(AGENTFS_CONCAT(agentfs_result_, __LINE__), lhs, expr)
#define AGENTFS_ASSIGN_(tmp, lhs, expr)              \
  auto tmp = (expr);                                 \
  if (!tmp.ok()) [[unlikely]] {                      \
    return ::agentfs::Error(std::move(tmp).error()); \
  }                                                  \
  lhs = std::move(tmp).value()
