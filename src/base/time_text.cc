// SPDX-License-Identifier: Apache-2.0
#include "base/time_text.h"

#include <cstdio>
#include <ctime>

namespace agentfs {

std::string FormatTime(Timestamp time) {
  const time_t seconds = time.sec;
  struct tm parts = {};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  const size_t date = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + date, sizeof(text) - date, ".%09uZ", time.nsec);
  return text;
}

}  // namespace agentfs
