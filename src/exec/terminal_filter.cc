// SPDX-License-Identifier: Apache-2.0
#include "exec/terminal_filter.h"

#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

namespace agentfs {

Result<Fd> MakeTerminalFilter() {
  std::unique_ptr<void, void (*)(void*)> filter(::seccomp_init(SCMP_ACT_ALLOW), ::seccomp_release);
  if (!filter) return Error(ENOMEM);
#ifdef __x86_64__
  // A 64-bit kernel takes the system calls of the others too.
  for (uint32_t other : {SCMP_ARCH_X86, SCMP_ARCH_X32}) {
    if (const int failed = ::seccomp_arch_add(filter.get(), other); failed != 0) {
      return Error(-failed).WithContext("making the terminal's filter");
    }
  }
#endif
  for (const uint64_t request : {uint64_t{TIOCSTI}, uint64_t{TIOCLINUX}}) {
    // The kernel looks at 32 bits of it.
    const int failed = ::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                                          SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, request));
    if (failed != 0) return Error(-failed).WithContext("making the terminal's filter");
  }
  Fd file(::memfd_create("agentfs-filter", MFD_CLOEXEC));
  if (!file) return ErrnoError();
  if (const int failed = ::seccomp_export_bpf(filter.get(), file.get()); failed != 0) {
    return Error(-failed).WithContext("making the terminal's filter");
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return ErrnoError();
  return file;
}

}  // namespace agentfs
