// SPDX-License-Identifier: Apache-2.0
//
// Tells ThreadSanitizer about abseil's locks. The distribution's abseil is not instrumented, so
// the sanitizer would see neither its locks nor what they order, and report every access that they
// guard as a race. The linker (--wrap) sends the calls through the functions here. Between a
// "pre" and its "post" the sanitizer ignores the thread's accesses: abseil evaluates Conditions
// there, under the lock.
#include <sanitizer/tsan_interface.h>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

// Debian's inline namespace is part of the names.
#define REAL(name) __real__ZN4absl7debian3##name
#define WRAP(name) __wrap__ZN4absl7debian3##name

namespace {

constexpr unsigned kWrite = __tsan_mutex_linker_init;
constexpr unsigned kRead = __tsan_mutex_linker_init | __tsan_mutex_read_lock;
constexpr unsigned kTry = __tsan_mutex_linker_init | __tsan_mutex_try_lock;

void Release(void* mutex) {
  __tsan_mutex_pre_unlock(mutex, kWrite);
  __tsan_mutex_post_unlock(mutex, kWrite);
}

// For calls that give the lock up for a while.
template <typename Call>
auto WhileReleased(void* mutex, const Call& call) {
  Release(mutex);
  __tsan_mutex_pre_lock(mutex, kWrite);
  const auto result = call();
  __tsan_mutex_post_lock(mutex, kWrite, 0);
  return result;
}

}  // namespace

extern "C" {

void REAL(5Mutex4LockEv)(absl::Mutex*);
void WRAP(5Mutex4LockEv)(absl::Mutex* mutex) {
  __tsan_mutex_pre_lock(mutex, kWrite);
  REAL(5Mutex4LockEv)(mutex);
  __tsan_mutex_post_lock(mutex, kWrite, 0);
}

bool REAL(5Mutex7TryLockEv)(absl::Mutex*);
bool WRAP(5Mutex7TryLockEv)(absl::Mutex* mutex) {
  __tsan_mutex_pre_lock(mutex, kTry);
  const bool locked = REAL(5Mutex7TryLockEv)(mutex);
  __tsan_mutex_post_lock(mutex, locked ? kTry : kTry | __tsan_mutex_try_lock_failed, 0);
  return locked;
}

void REAL(5Mutex6UnlockEv)(absl::Mutex*);
void WRAP(5Mutex6UnlockEv)(absl::Mutex* mutex) {
  __tsan_mutex_pre_unlock(mutex, kWrite);
  REAL(5Mutex6UnlockEv)(mutex);
  __tsan_mutex_post_unlock(mutex, kWrite);
}

void REAL(5Mutex10ReaderLockEv)(absl::Mutex*);
void WRAP(5Mutex10ReaderLockEv)(absl::Mutex* mutex) {
  __tsan_mutex_pre_lock(mutex, kRead);
  REAL(5Mutex10ReaderLockEv)(mutex);
  __tsan_mutex_post_lock(mutex, kRead, 0);
}

void REAL(5Mutex12ReaderUnlockEv)(absl::Mutex*);
void WRAP(5Mutex12ReaderUnlockEv)(absl::Mutex* mutex) {
  __tsan_mutex_pre_unlock(mutex, kRead);
  REAL(5Mutex12ReaderUnlockEv)(mutex);
  __tsan_mutex_post_unlock(mutex, kRead);
}

void REAL(5MutexD1Ev)(absl::Mutex*);
void WRAP(5MutexD1Ev)(absl::Mutex* mutex) {
  REAL(5MutexD1Ev)(mutex);
  __tsan_mutex_destroy(mutex, kWrite);
}

void REAL(5Mutex8LockWhenERKNS0_9ConditionE)(absl::Mutex*, const absl::Condition*);
void WRAP(5Mutex8LockWhenERKNS0_9ConditionE)(absl::Mutex* mutex, const absl::Condition* condition) {
  __tsan_mutex_pre_lock(mutex, kWrite);
  REAL(5Mutex8LockWhenERKNS0_9ConditionE)(mutex, condition);
  __tsan_mutex_post_lock(mutex, kWrite, 0);
}

void REAL(5Mutex5AwaitERKNS0_9ConditionE)(absl::Mutex*, const absl::Condition*);
void WRAP(5Mutex5AwaitERKNS0_9ConditionE)(absl::Mutex* mutex, const absl::Condition* condition) {
  WhileReleased(mutex, [&] {
    REAL(5Mutex5AwaitERKNS0_9ConditionE)(mutex, condition);
    return 0;
  });
}

bool REAL(5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE)(absl::Mutex*,
                                                                    const absl::Condition*,
                                                                    absl::Duration);
bool WRAP(5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE)(
    absl::Mutex* mutex, const absl::Condition* condition, absl::Duration timeout) {
  return WhileReleased(mutex, [&] {
    return REAL(5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE)(mutex, condition,
                                                                          timeout);
  });
}

void REAL(7CondVar4WaitEPNS0_5MutexE)(absl::CondVar*, absl::Mutex*);
void WRAP(7CondVar4WaitEPNS0_5MutexE)(absl::CondVar* condition, absl::Mutex* mutex) {
  WhileReleased(mutex, [&] {
    REAL(7CondVar4WaitEPNS0_5MutexE)(condition, mutex);
    return 0;
  });
}

bool REAL(7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE)(absl::CondVar*, absl::Mutex*,
                                                                absl::Duration);
bool WRAP(7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE)(absl::CondVar* condition,
                                                                absl::Mutex* mutex,
                                                                absl::Duration timeout) {
  return WhileReleased(mutex, [&] {
    return REAL(7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE)(condition, mutex, timeout);
  });
}

bool REAL(7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE)(absl::CondVar*, absl::Mutex*,
                                                             absl::Time);
bool WRAP(7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE)(absl::CondVar* condition,
                                                             absl::Mutex* mutex,
                                                             absl::Time deadline) {
  return WhileReleased(mutex, [&] {
    return REAL(7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE)(condition, mutex, deadline);
  });
}

}  // extern "C"
