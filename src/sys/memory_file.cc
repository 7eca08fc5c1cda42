// SPDX-License-Identifier: Apache-2.0
#include "sys/memory_file.h"

#include <sys/mman.h>

namespace agentfs {

Result<Fd> MakeMemoryFile(std::string_view content) {
  Fd file(::memfd_create("agentfs", MFD_CLOEXEC));
  if (file.get() < 0) return ErrnoError();
  AGENTFS_TRY(WriteAt(file.get(), 0, content));
  return file;
}

}  // namespace agentfs
