# SPDX-License-Identifier: Apache-2.0
#
# ThreadSanitizer and the distribution's abseil: see tsan/absl_mutex.cc.

add_library(agentfs_tsan_locks STATIC ${CMAKE_CURRENT_LIST_DIR}/tsan/absl_mutex.cc)
target_compile_options(agentfs_tsan_locks PRIVATE -fsanitize=thread)
target_link_libraries(agentfs_flags INTERFACE agentfs_tsan_locks)
foreach(name
    5Mutex4LockEv
    5Mutex7TryLockEv
    5Mutex6UnlockEv
    5Mutex10ReaderLockEv
    5Mutex12ReaderUnlockEv
    5MutexD1Ev
    5Mutex8LockWhenERKNS0_9ConditionE
    5Mutex5AwaitERKNS0_9ConditionE
    5Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE
    7CondVar4WaitEPNS0_5MutexE
    7CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE
    7CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE)
  target_link_options(agentfs_flags INTERFACE -Wl,--wrap=_ZN4absl7debian3${name})
endforeach()
