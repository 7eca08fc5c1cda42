// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/client_paths.h"

#include <cctype>
#include <filesystem>
#include <optional>

#include "agentfs/path.h"

namespace agentfs::mcp {
namespace {

constexpr std::string_view kScheme = "file://";

bool LiesWithin(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

bool HostHas(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

// The rest of a path that leads through the directory under another name (a link on the host).
std::optional<std::string> RestBelow(const std::string& normal, const std::string& directory) {
  for (size_t end = 0; end != std::string::npos;) {
    end = normal.find('/', end + 1);
    std::error_code failed;
    if (std::filesystem::equivalent(normal.substr(0, end), directory, failed)) {
      return end == std::string::npos ? "/" : normal.substr(end);
    }
  }
  return std::nullopt;
}

bool IsPlainInUri(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("-._~/!$&'()*+,;=:@").find(c) != std::string_view::npos;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string PercentEncoded(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (IsPlainInUri(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

Result<std::string> PercentDecoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return Error(EINVAL, "a URI with a broken escape");
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace

ClientPaths::ClientPaths(std::string directory)
    : directory_(std::move(directory)), prefix_(directory_ == "/" ? "" : directory_) {}

Result<std::string> ClientPaths::ToView(const Files& files, std::string_view path) const {
  AGENTFS_ASSIGN(std::string normal, NormalizePath(path));
  if (LiesWithin(normal, prefix_)) {
    normal.erase(0, prefix_.size());
    return normal.empty() ? "/" : normal;
  }
  if (!path.starts_with("/")) return normal;
  const std::string first(normal.substr(0, normal.find('/', 1)));
  if (HostHas(first) && !files.Resolve(first, FollowLinks::kNo).ok()) {
    if (auto rest = RestBelow(normal, directory_)) return *rest;
    return Error(EACCES, "Access denied - path outside allowed directories: " + normal +
                             " not in " + directory_);
  }
  return normal;
}

std::string ClientPaths::ToClient(std::string_view view_path) const {
  if (view_path == "/") return directory_;
  return prefix_ + std::string(view_path);
}

std::string ClientPaths::ToUri(std::string_view view_path) const {
  return std::string(kScheme) + PercentEncoded(ToClient(view_path));
}

Result<std::string> ClientPaths::FromUri(std::string_view uri) const {
  if (!uri.starts_with("file:///")) return Error(EINVAL, "not a file URI");
  AGENTFS_ASSIGN(const std::string decoded, PercentDecoded(uri.substr(kScheme.size())));
  AGENTFS_ASSIGN(std::string normal, NormalizePath(decoded));
  if (!LiesWithin(normal, prefix_)) {
    return Error(EINVAL, "not below " + directory_);
  }
  normal.erase(0, prefix_.size());
  return normal.empty() ? "/" : normal;
}

}  // namespace agentfs::mcp
