// SPDX-License-Identifier: Apache-2.0
#include "store/file_version.h"

#include <cerrno>

namespace agentfs {

Result<void> CheckVersion(const std::string& file, uint32_t found, const Schema& schema) {
  if (found >= schema.oldest && found <= schema.version) return Ok();
  return Error(EPROTONOSUPPORT,
               "cannot open '" + file + "': its format has version " + std::to_string(found) +
                   ", this program knows version " + std::to_string(schema.version),
               found > schema.version
                   ? "use a newer version of the program; the file was not changed"
                   : "use the version of the program that made it; the file was not changed");
}

}  // namespace agentfs
