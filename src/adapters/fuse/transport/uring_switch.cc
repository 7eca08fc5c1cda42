// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/transport/uring_switch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/time/clock.h"
#include "adapters/fuse/transport/uring_worker.h"

namespace agentfs::fuse {
namespace {

// Anybody may open the file and lock it: a mount must not wait for them.
constexpr int kTries = 50;
constexpr absl::Duration kBetweenTries = absl::Milliseconds(1);

bool Lock(int file) {
  for (int i = 0; i < kTries; ++i) {
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
    absl::SleepFor(kBetweenTries);
  }
  return false;
}

bool IsOn(int file) {
  char value = 'N';
  return ::pread(file, &value, 1, 0) == 1 && value == 'Y';
}

bool Set(int file, char value) { return ::pwrite(file, &value, 1, 0) == 1; }

}  // namespace

UringSwitch UringSwitch::TurnOn(const std::string& parameter) {
  UringSwitch result;
  Fd readable(::open(parameter.c_str(), O_RDONLY | O_CLOEXEC));
  if (!readable || !CanMakeRings()) return result;
  // Who sees it on may see another's turn, which ends any moment: only under the lock is it sure.
  Fd writable(::open(parameter.c_str(), O_RDWR | O_CLOEXEC));
  if (!writable || !Lock(writable.get())) {
    result.on_ = IsOn(readable.get());
    return result;
  }
  if (IsOn(writable.get())) {
    result.on_ = true;
  } else if (Set(writable.get(), 'Y')) {
    result.on_ = true;
    result.turned_ = std::move(writable);
  }
  return result;
}

UringSwitch::~UringSwitch() {
  if (turned_) static_cast<void>(Set(turned_.get(), 'N'));
}

}  // namespace agentfs::fuse
