// SPDX-License-Identifier: Apache-2.0
#include "sys/lazy_library.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace agentfs {

void* LazyLibrary::Find(const char* symbol) {
  absl::MutexLock lock(&mu_);
  if (handle_ == nullptr) handle_ = ::dlopen(name_, RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    throw std::runtime_error(std::string(name_) + " cannot be loaded (" + ::dlerror() +
                             "): install the package that has it");
  }
  void* found = ::dlsym(handle_, symbol);
  if (found == nullptr) throw std::runtime_error(std::string(name_) + " has no " + symbol);
  return found;
}

}  // namespace agentfs
