// SPDX-License-Identifier: Apache-2.0
//
// Shared libraries that are loaded when they are first called. Some bring dozens of others along,
// which would cost every start of the program milliseconds, and few commands need them.
//
//   inline LazyLibrary git_library("libgit2.so.1.5");
//   AGENTFS_LAZY(git_library, git_merge_file);     // in place of the function of that name
#pragma once

#include <algorithm>
#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace agentfs {

// Thread-safe. Stays loaded.
class LazyLibrary {
 public:
  explicit constexpr LazyLibrary(const char* name) : mu_(absl::kConstInit), name_(name) {}

  // Throws std::runtime_error, with what to install, if the library or the symbol is not there: the
  // package depends on it.
  void* Find(const char* symbol) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  absl::Mutex mu_;
  const char* const name_;
  void* handle_ ABSL_GUARDED_BY(mu_) = nullptr;
};

template <size_t kSize>
struct SymbolName {
  constexpr SymbolName(const char (&text)[kSize]) { std::copy_n(text, kSize, value); }
  char value[kSize];
};

// Called as the function itself would be.
template <typename Function, LazyLibrary& library, SymbolName kName>
class LazyFunction;

template <typename Value, typename... Arguments, LazyLibrary& library, SymbolName kName>
class LazyFunction<Value(Arguments...), library, kName> {
 public:
  Value operator()(Arguments... arguments) const {
    static const auto function =
        reinterpret_cast<Value (*)(Arguments...)>(library.Find(kName.value));
    return function(arguments...);
  }
};

// With as many arguments as it names.
template <typename Value, typename... Arguments, LazyLibrary& library, SymbolName kName>
class LazyFunction<Value(Arguments..., ...), library, kName> {
 public:
  Value operator()(Arguments... arguments) const {
    static const auto function =
        reinterpret_cast<Value (*)(Arguments..., ...)>(library.Find(kName.value));
    return function(arguments...);
  }
};

#define AGENTFS_LAZY(library, name) \
  inline constexpr ::agentfs::LazyFunction<decltype(::name), library, #name> name {}

}  // namespace agentfs
