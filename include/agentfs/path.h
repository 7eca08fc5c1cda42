// SPDX-License-Identifier: Apache-2.0
//
// Path strings of the embedding API and the command line. (The mount hands over single names and
// never comes here: there a backslash is a byte of a name.)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"

namespace agentfs {

inline constexpr size_t kMaxName = 255;

// The normal form: backslashes become slashes; starts with '/'; no empty components, no ".", no
// trailing slash but the root's; ".." resolved and clamped at the root. Purely textual.
// EINVAL: the empty string, or a NUL. ENAMETOOLONG: a component over 255 bytes.
Result<std::string> NormalizePath(std::string_view path);

// The components of a normal path; none for "/".
std::vector<std::string_view> SplitPath(std::string_view normal_path);
// "/a/b" -> {"/a", "b"}; the root has no name.
std::string_view ParentPath(std::string_view normal_path);
std::string_view FileName(std::string_view normal_path);

// Whether `name` can be one component: 0, ENOENT (empty), EINVAL ('/' or NUL), ENAMETOOLONG.
int CheckName(std::string_view name);

}  // namespace agentfs
