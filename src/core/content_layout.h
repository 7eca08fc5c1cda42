// SPDX-License-Identifier: Apache-2.0
//
// How a volume cuts its files' content (docs/decisions/0002-content-homes.md has the measurements).
#pragma once

#include <cstdint>
#include <string_view>

#include "agentfs/volume.h"

namespace agentfs {

inline constexpr uint32_t kDefaultChunkSize = 64 * 1024;
inline constexpr uint32_t kSingleFileChunkSize = 256 * 1024;
inline constexpr uint32_t kMinChunkSize = 4 * 1024;
inline constexpr uint32_t kMaxChunkSize = 4 * 1024 * 1024;

inline constexpr std::string_view kChunkSizeName = "chunk_size";  // in table meta

struct ContentLayout {
  // The largest data row: a power of two, written down when the volume is made and fixed from then.
  uint32_t chunk_size = kDefaultChunkSize;
  // Larger files go to the blob store, if there is one. At most chunk_size; may change.
  uint32_t inline_limit = kDefaultChunkSize;

  // What a new volume gets.
  static ContentLayout For(const VolumeOptions& options) {
    const uint32_t size = options.single_file ? kSingleFileChunkSize : kDefaultChunkSize;
    return {size, size};
  }
  static bool IsChunkSize(int64_t size) {
    return size >= kMinChunkSize && size <= kMaxChunkSize && (size & (size - 1)) == 0;
  }
};

}  // namespace agentfs
