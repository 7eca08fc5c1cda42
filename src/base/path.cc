// SPDX-License-Identifier: Apache-2.0
#include "agentfs/path.h"

#include <algorithm>

namespace agentfs {
namespace {

bool IsSeparator(char c) { return c == '/' || c == '\\'; }

// Cuts the next component off the front of `rest`; empty when there is none left.
std::string_view NextComponent(std::string_view& rest) {
  size_t begin = 0;
  while (begin < rest.size() && IsSeparator(rest[begin])) ++begin;
  size_t end = begin;
  while (end < rest.size() && !IsSeparator(rest[end])) ++end;
  std::string_view component = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return component;
}

void DropLast(std::string& normal) {
  size_t slash = normal.rfind('/');
  if (slash != std::string::npos) normal.resize(slash);
}

}  // namespace

Result<std::string> NormalizePath(std::string_view path) {
  if (path.empty()) return Error(EINVAL, "the path is empty");
  if (path.find('\0') != std::string_view::npos) return Error(EINVAL, "the path contains a NUL");
  std::string normal;
  normal.reserve(path.size() + 1);
  for (;;) {
    std::string_view component = NextComponent(path);
    if (component.empty()) break;
    if (component == ".") continue;
    if (component == "..") {
      DropLast(normal);
      continue;
    }
    if (component.size() > kMaxName) return Error(ENAMETOOLONG);
    normal += '/';
    normal += component;
  }
  if (normal.empty()) normal.push_back('/');
  return normal;
}

std::vector<std::string_view> SplitPath(std::string_view normal_path) {
  std::vector<std::string_view> components;
  for (;;) {
    size_t begin = normal_path.find_first_not_of('/');
    if (begin == std::string_view::npos) return components;
    normal_path.remove_prefix(begin);
    size_t end = std::min(normal_path.find('/'), normal_path.size());
    components.push_back(normal_path.substr(0, end));
    normal_path.remove_prefix(end);
  }
}

std::string_view ParentPath(std::string_view normal_path) {
  size_t slash = normal_path.rfind('/');
  if (slash == std::string_view::npos) return "/";
  return slash == 0 ? normal_path.substr(0, 1) : normal_path.substr(0, slash);
}

std::string_view FileName(std::string_view normal_path) {
  size_t slash = normal_path.rfind('/');
  return slash == std::string_view::npos ? normal_path : normal_path.substr(slash + 1);
}

int CheckName(std::string_view name) {
  if (name.empty()) return ENOENT;
  if (name.size() > kMaxName) return ENAMETOOLONG;
  for (char c : name) {
    if (c == '/' || c == '\0') return EINVAL;
  }
  return 0;
}

}  // namespace agentfs
