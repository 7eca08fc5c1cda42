// SPDX-License-Identifier: Apache-2.0
#include "core/files/resolver.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "agentfs/path.h"

namespace agentfs {
namespace {

constexpr int kMaxLinks = 40;

bool IsDots(std::string_view name) { return name == "." || name == ".."; }

// What a byte may mean to a path, as bits.
enum ByteKind : uint8_t { kOrdinary = 0, kSlash = 1, kDot = 2, kForbidden = 4 };

constexpr std::array<uint8_t, 256> kByteKinds = [] {
  std::array<uint8_t, 256> kinds{};
  kinds['/'] = kSlash;
  kinds['.'] = kDot;
  kinds['\\'] = kinds['\0'] = kForbidden;
  return kinds;
}();

// Whether a path is surely in normal form: no slash is followed by a slash or a dot, no name can be
// too long. Without branches in its loop: it is on the way of every lookup by path.
bool IsPlainlyNormal(std::string_view path) {
  uint8_t before = 0, trouble = 0;
  for (char c : path) {
    uint8_t kind = kByteKinds[static_cast<uint8_t>(c)];
    trouble |= (kind & kForbidden) | ((before & kSlash) * (kind & (kSlash | kDot)));
    before = kind;
  }
  return trouble == 0 && path.size() <= kMaxName;
}

// The same, exactly, for a path that begins with a slash and ends in none.
bool HasNormalNames(std::string_view path) {
  if (path.find_first_of(std::string_view("\\\0", 2)) != std::string_view::npos) return false;
  for (size_t begin = 1; begin <= path.size();) {
    size_t end = std::min(path.find('/', begin), path.size());
    std::string_view name = path.substr(begin, end - begin);
    if (name.empty() || name.size() > kMaxName || IsDots(name)) return false;
    begin = end + 1;
  }
  return true;
}

// The next name of `path` at or after `*at`, which moves behind it; empty at the end.
std::string_view NextName(std::string_view path, size_t* at) {
  size_t begin = path.find_first_not_of('/', *at);
  if (begin == std::string_view::npos) {
    *at = path.size();
    return {};
  }
  *at = std::min(path.find('/', begin), path.size());
  return path.substr(begin, *at - begin);
}

}  // namespace

bool IsNormalPath(std::string_view path) {
  if (path.empty() || path[0] != '/') return false;
  if (path.size() == 1) return true;
  return path.back() != '/' && (IsPlainlyNormal(path) || HasNormalNames(path));
}

Result<Found> Resolver::Find(std::string_view path, FollowLinks follow) const {
  if (IsNormalPath(path)) return FindNormal(path, follow);
  AGENTFS_ASSIGN(std::string normal, NormalizePath(path));
  return FindNormal(normal, follow);
}

Result<Found> Resolver::FindNormal(std::string_view path, FollowLinks follow) const {
  NodeRef directory = fs_.Root();
  if (path.size() == 1) {
    AGENTFS_ASSIGN(Attr attr, fs_.GetAttr(*directory));
    return Found{std::move(directory), attr};
  }
  for (size_t begin = 1;;) {
    size_t end = std::min(path.find('/', begin), path.size());
    bool last = end == path.size();
    Result<Found> next = fs_.Lookup(caller_, *directory, path.substr(begin, end - begin));
    if (!next.ok()) return next;
    if (S_ISLNK(next->attr.mode) && (!last || follow == FollowLinks::kYes)) [[unlikely]] {
      AGENTFS_ASSIGN(Place place,
                     Wander(std::move(directory), std::string(path.substr(begin)), follow));
      if (!place.exists()) return Error(ENOENT);
      return std::move(place.found);
    }
    if (last) return next;
    directory = std::move(next->node);
    begin = end + 1;
  }
}

Result<Place> Resolver::FindPlace(std::string_view path, FollowLinks follow) const {
  if (IsNormalPath(path)) return FindNormalPlace(path, follow);
  AGENTFS_ASSIGN(std::string normal, NormalizePath(path));
  return FindNormalPlace(normal, follow);
}

Result<Place> Resolver::FindNormalPlace(std::string_view path, FollowLinks follow) const {
  if (path.size() == 1) {
    AGENTFS_ASSIGN(Found root, FindNormal(path, follow));
    return Place{.parent = {}, .name = {}, .found = std::move(root)};
  }
  AGENTFS_ASSIGN(Found parent, FindNormal(ParentPath(path), FollowLinks::kYes));
  std::string_view name = FileName(path);
  Result<Found> found = fs_.Lookup(caller_, *parent.node, name);
  if (!found.ok()) {
    if (found.code() != ENOENT) return std::move(found).error();
    return Place{.parent = std::move(parent.node), .name = std::string(name), .found = {}};
  }
  if (S_ISLNK(found->attr.mode) && follow == FollowLinks::kYes) {
    return Wander(std::move(parent.node), std::string(name), follow);
  }
  return Place{
      .parent = std::move(parent.node), .name = std::string(name), .found = std::move(*found)};
}

Result<Place> Resolver::FindFree(std::string_view path) const {
  AGENTFS_ASSIGN(Place place, FindPlace(path, FollowLinks::kNo));
  if (place.exists()) return Error(EEXIST);
  return place;
}

Result<Place> Resolver::Arrived(NodeRef parent, std::string_view name, NodeRef directory) const {
  AGENTFS_ASSIGN(Attr attr, fs_.GetAttr(*directory));
  if (!S_ISDIR(attr.mode)) return Error(ENOTDIR);
  if (name.empty()) parent = NodeRef();
  return Place{.parent = std::move(parent),
               .name = std::string(name),
               .found = {std::move(directory), attr}};
}

Result<Place> Resolver::Wander(NodeRef directory, std::string rest, FollowLinks follow) const {
  NodeRef parent;         // of `directory`, where it was reached by a name of its own
  std::string last_name;  // in `parent`
  size_t at = 0;
  for (int links = 0;;) {
    std::string_view name = NextName(rest, &at);
    if (name.empty()) return Arrived(std::move(parent), last_name, std::move(directory));
    bool last = at == rest.size();
    bool dots = IsDots(name);
    Result<Found> next = fs_.Lookup(caller_, *directory, name);
    if (!next.ok()) {
      bool nothing_follows = rest.find_first_not_of('/', at) == std::string::npos;
      if (next.code() != ENOENT || dots || !nothing_follows) return std::move(next).error();
      return Place{.parent = std::move(directory), .name = std::string(name), .found = {}};
    }
    if (S_ISLNK(next->attr.mode) && (!last || follow == FollowLinks::kYes)) {
      if (++links > kMaxLinks) return Error(ELOOP);
      AGENTFS_ASSIGN(std::string target, fs_.ReadLink(caller_, *next->node));
      if (target.empty()) return Error(ENOENT);
      if (target[0] == '/') directory = fs_.Root();
      rest = target.append(rest, at);
      at = 0;
      parent = NodeRef();
      last_name.clear();
      continue;
    }
    last_name = dots ? std::string_view() : name;
    parent = std::exchange(directory, next->node);
    if (last) {
      if (dots) parent = NodeRef();
      return Place{
          .parent = std::move(parent), .name = std::move(last_name), .found = std::move(*next)};
    }
  }
}

}  // namespace agentfs
