// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a path: what NormalizePath gives is normal, and the other functions agree with it.
#include <string>
#include <string_view>

#include "agentfs/path.h"
#include "core/files/resolver.h"
#include "require.h"

namespace agentfs {
namespace {

bool HasLongName(std::string_view path) {
  size_t length = 0;
  for (char c : path) {
    length = c == '/' || c == '\\' ? 0 : length + 1;
    if (length > kMaxName) return true;
  }
  return false;
}

void CheckNormal(const std::string& normal) {
  REQUIRE(IsNormalPath(normal));
  REQUIRE(NormalizePath(normal).value() == normal);
  std::string joined;
  for (std::string_view name : SplitPath(normal)) {
    REQUIRE(CheckName(name) == 0);
    REQUIRE(name != "." && name != "..");
    joined.append("/").append(name);
  }
  REQUIRE(normal == (joined.empty() ? "/" : joined));
  if (normal == "/") return;
  std::string parent(ParentPath(normal));
  std::string rebuilt = parent == "/" ? parent : parent + "/";
  REQUIRE(rebuilt.append(FileName(normal)) == normal);
}

void CheckPath(std::string_view path) {
  Result<std::string> normal = NormalizePath(path);
  if (!normal.ok()) {
    bool nul = path.find('\0') != std::string_view::npos;
    if (normal.code() == EINVAL) REQUIRE(path.empty() || nul);
    if (normal.code() == ENAMETOOLONG) REQUIRE(HasLongName(path));
    REQUIRE(normal.code() == EINVAL || normal.code() == ENAMETOOLONG);
    REQUIRE(!IsNormalPath(path));
    return;
  }
  REQUIRE(IsNormalPath(path) == (*normal == path));
  REQUIRE(normal->size() <= path.size() + 1);
  CheckNormal(*normal);
  // Relative paths are relative to the root, and ".." at its front changes nothing.
  REQUIRE(NormalizePath("/" + std::string(path)).value() == *normal);
  REQUIRE(NormalizePath("/../" + std::string(path)).value() == *normal);
  REQUIRE(NormalizePath("/x/../" + std::string(path)).value() == *normal);
  REQUIRE(NormalizePath(*normal + "/./x/..").value() == *normal);
}

}  // namespace
}  // namespace agentfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  agentfs::CheckPath({reinterpret_cast<const char*>(data), size});
  return 0;
}
