// SPDX-License-Identifier: Apache-2.0
#include "store/file_remedy.h"

#include <cerrno>

namespace agentfs {

std::string_view FileRemedy(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return "free some space on its filesystem and try again; nothing was changed";
    case EROFS:
    case EACCES:
    case EPERM:
      return "make the file and its directory writable, or open it read-only";
    case EBUSY:
      return "end the other program that has the file open";
    default:
      return {};
  }
}

}  // namespace agentfs
