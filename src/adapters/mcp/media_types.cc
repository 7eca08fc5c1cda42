// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/media_types.h"

#include <array>
#include <utility>

#include "absl/strings/match.h"

namespace agentfs::mcp {

std::string_view MediaType(std::string_view path) {
  using Pair = std::pair<std::string_view, std::string_view>;
  static constexpr std::array<Pair, 11> kTypes = {{
      {".png", "image/png"},
      {".jpg", "image/jpeg"},
      {".jpeg", "image/jpeg"},
      {".gif", "image/gif"},
      {".webp", "image/webp"},
      {".bmp", "image/bmp"},
      {".svg", "image/svg+xml"},
      {".mp3", "audio/mpeg"},
      {".wav", "audio/wav"},
      {".ogg", "audio/ogg"},
      {".flac", "audio/flac"},
  }};
  for (const auto& [ending, type] : kTypes) {
    if (absl::EndsWithIgnoreCase({path.data(), path.size()}, {ending.data(), ending.size()})) {
      return type;
    }
  }
  return "application/octet-stream";
}

}  // namespace agentfs::mcp
