// SPDX-License-Identifier: Apache-2.0
//
// The steps on open files.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "world.h"

namespace agentfs::model {
namespace {

using posix::ErrnoName;
using posix::OpenFile;
using posix::Pattern;
using posix::Subject;

bool AllZeros(const std::string& bytes) {
  return bytes.find_first_not_of('\0') == std::string::npos;
}

}  // namespace

std::string World::Open(const Operation& o) {
  if (OpensSpecial(o.path)) return "";
  Handle& handle = handles_[o.slot];
  handle = {};
  paths_stale_ = true;
  const auto open = [&](Subject& subject) { return subject.Open(o.path, o.flags, o.mode); };
  auto a = OnExpected(o, open);
  auto b = OnActual(o, open);
  if (a.code() != b.code()) return Compare(a, b);
  if (a.ok()) handle = {std::move(*a), std::move(*b), (o.flags & O_APPEND) != 0};
  return "";
}

std::string World::CompareHandles(Handle& handle) {
  const auto a = handle.expected->Stat();
  const auto b = handle.actual->Stat();
  std::string difference = Compare(a, b);
  if (!difference.empty() || !a.ok()) return difference;
  difference = CompareAttributes(*a, *b, rules_);
  return difference.empty() ? "" : "of the open file: " + difference;
}

std::string World::ExecuteHandle(const Operation& o) {
  std::string difference;
  if (o.kind == Kind::kOpen) {
    difference = Open(o);
  } else if (!has_open(o.slot)) {
    return "";
  } else if (o.kind == Kind::kClose) {
    handles_[o.slot] = {};
  } else {
    difference = ExecuteData(o, handles_[o.slot]);
  }
  if (difference.empty() && has_open(o.slot)) difference = CompareHandles(handles_[o.slot]);
  if (difference.empty() && o.kind == Kind::kLinkOpen) difference = CompareAround(o.path);
  return difference;
}

std::string World::ExecuteData(const Operation& o, Handle& handle) {
  switch (o.kind) {
    case Kind::kWrite:
      if (handle.appends) return "";
      return OnHandles(o, handle, [&](OpenFile& file) {
        return file.Write(o.offset, Pattern(o.length, o.seed));
      });
    case Kind::kAppend:
      if (!handle.appends) return "";
      return OnHandles(o, handle,
                       [&](OpenFile& file) { return file.Append(Pattern(o.length, o.seed)); });
    case Kind::kRead:
      return OnHandles(o, handle, [&](OpenFile& file) { return file.Read(o.offset, o.length); });
    case Kind::kTruncateOpen: {
      const auto attr = handle.expected->Stat();
      if (attr.ok() && attr->size == o.length) return "";
      return OnHandles(o, handle, [&](OpenFile& file) { return file.Truncate(o.length); });
    }
    case Kind::kAllocate:
      return Allocate(o, handle);
    case Kind::kSeek:
      return Seek(o, handle);
    case Kind::kCopyRange:
      return CopyRange(o, handle);
    case Kind::kSync:
      return Compare(Ok(), handle.actual->Sync());  // the real disk's time is not ours to spend
    case Kind::kLinkOpen:
      paths_stale_ = true;
      return Compare(expected().LinkOpen(*handle.expected, o.path),
                     actual().LinkOpen(*handle.actual, o.path));
    default:
      return "";  // kStatOpen: compared after every step
  }
}

std::string World::Allocate(const Operation& o, Handle& handle) {
  const auto allocate = [&](OpenFile& file) {
    return file.Allocate(static_cast<AllocateMode>(o.mode), o.offset, o.length);
  };
  const auto done = OnExpected(o, [&](Subject&) { return allocate(*handle.expected); });
  if (done.code() == EOPNOTSUPP) return "";
  return Compare(done, OnActual(o, [&](Subject&) { return allocate(*handle.actual); }));
}

// Where holes begin is each filesystem's own affair; that they read as zeros is not.
std::string World::Seek(const Operation& o, Handle& handle) {
  const auto target = o.mode == 0 ? SeekTarget::kData : SeekTarget::kHole;
  const auto attr = handle.actual->Stat();
  if (!attr.ok() || (attr->mode & S_IFMT) != S_IFREG) return "";
  const auto found = handle.actual->Seek(o.offset, target);
  if (o.offset >= attr->size) {
    return found.code() == ENXIO ? ""
                                 : "past the end: expected ENXIO, got " + ErrnoName(found.code());
  }
  if (!found.ok() && (found.code() != ENXIO || target == SeekTarget::kHole)) {
    return "expected an offset, got " + ErrnoName(found.code());
  }
  const uint64_t end = found.ok() ? *found : attr->size;
  if (end < o.offset || end > attr->size) {
    return fmt::format("{} is not between {} and the size {}", end, o.offset, attr->size);
  }
  if (target == SeekTarget::kHole) return "";
  const auto skipped = handle.expected->Read(o.offset, end - o.offset);
  if (skipped.ok() && !AllZeros(*skipped)) return "the data there was not found";
  return "";
}

std::string World::CopyRange(const Operation& o, Handle& handle) {
  if (!has_open(o.other)) return "";
  Handle& target = handles_[o.other];
  const auto copied = OnExpected(o, [&](Subject&) {
    return handle.expected->CopyTo(o.offset, *target.expected, o.target, o.length);
  });
  if (copied.code() == EOPNOTSUPP || copied.code() == EXDEV) return "";
  std::string difference =
      Compare(copied, OnActual(o, [&](Subject&) {
                return handle.actual->CopyTo(o.offset, *target.actual, o.target, o.length);
              }));
  if (difference.empty()) difference = CompareHandles(target);
  return difference;
}

}  // namespace agentfs::model
