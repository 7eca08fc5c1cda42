// SPDX-License-Identifier: Apache-2.0
//
// The content of files of views, as diff, apply and restore need it: in pieces, holes skipped.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "agentfs/filesystem.h"
#include "agentfs/result.h"

namespace agentfs {

// Gives the first `size` bytes in pieces, in order, holes as zeros. EBUSY: the file has become
// shorter meanwhile.
Result<void> ReadPieces(FileSystem& fs, Node& file, uint64_t size,
                        const std::function<Result<void>(std::string_view)>& take);
// Gives the data of the first `size` bytes with its offsets; what is not given is zeros.
Result<void> ReadData(FileSystem& fs, Node& file, uint64_t size,
                      const std::function<Result<void>(uint64_t, std::string_view)>& take);
Result<std::string> ReadWhole(FileSystem& fs, Node& file, uint64_t size);
Result<bool> SameBytes(FileSystem& a_fs, const Found& a, FileSystem& b_fs, const Found& b);
// All that are to be seen, by name.
Result<std::map<std::string, std::string>> ReadXattrs(FileSystem& fs, Node& node);

}  // namespace agentfs
