// SPDX-License-Identifier: Apache-2.0
#include "exec/inner_program.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <span>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

asm(".pushsection .rodata\n"
    ".balign 16\n"
    "agentfs_inner_begin:\n"
    ".incbin \"" AGENTFS_INNER_FILE
    "\"\n"
    "agentfs_inner_end:\n"
    ".popsection\n");

extern const char agentfs_inner_begin[] asm("agentfs_inner_begin");
extern const char agentfs_inner_end[] asm("agentfs_inner_end");

namespace agentfs {

Result<Fd> OpenInnerProgram(const std::string& made) {
  if (auto there = OpenAt(AT_FDCWD, made, O_RDONLY); !made.empty() && there.ok()) return there;
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  Fd file(::memfd_create("agentfs", kFlags | MFD_EXEC));
  // Before Linux 6.3 every such file may be executed.
  if (!file && errno == EINVAL) file = Fd(::memfd_create("agentfs", kFlags));
  if (!file) return OpenAt(AT_FDCWD, "/proc/self/exe", O_RDONLY);
  AGENTFS_TRY(WriteAt(file.get(), 0,
                      std::span(agentfs_inner_begin,
                                static_cast<size_t>(agentfs_inner_end - agentfs_inner_begin))));
  (void)::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  return file;
}

}  // namespace agentfs
