// SPDX-License-Identifier: Apache-2.0
#include "operation.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "agentfs/types.h"

namespace agentfs::model {
namespace {

// As text that can be read and told apart: long names shortened, odd bytes escaped.
std::string Quoted(const std::string& path) {
  std::string out = "\"";
  for (size_t i = 0; i < path.size(); ++i) {
    const auto byte = static_cast<unsigned char>(path[i]);
    size_t run = 1;
    while (i + run < path.size() && path[i + run] == path[i]) ++run;
    if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += static_cast<char>(byte);
    }
    if (run > 8) {
      out += fmt::format("*{}", run);
      i += run - 1;
    }
  }
  return out + "\"";
}

std::string FlagText(int flags) {
  static constexpr const char* kAccess[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "?"};
  std::string text = kAccess[flags & O_ACCMODE];
  if (flags & O_CREAT) text += "|O_CREAT";
  if (flags & O_EXCL) text += "|O_EXCL";
  if (flags & O_TRUNC) text += "|O_TRUNC";
  if (flags & O_APPEND) text += "|O_APPEND";
  if ((flags & O_TMPFILE) == O_TMPFILE) text += "|O_TMPFILE";
  return text;
}

const char* RenameText(uint32_t mode) {
  switch (static_cast<RenameMode>(mode)) {
    case RenameMode::kReplace:
      return "";
    case RenameMode::kNoReplace:
      return ", no-replace";
    case RenameMode::kExchange:
      return ", exchange";
    case RenameMode::kWhiteout:
      return ", whiteout";
    case RenameMode::kNoReplaceWhiteout:
      return ", no-replace, whiteout";
  }
  return "?";
}

const char* AllocateText(uint32_t mode) {
  static constexpr const char* kNames[] = {"allocate", "keep-size", "punch", "zero",
                                           "zero-keep-size"};
  return mode < 5 ? kNames[mode] : "?";
}

std::string PathText(const Operation& o) {
  const std::string path = Quoted(o.path);
  switch (o.kind) {
    case Kind::kWriteFile:
      return fmt::format("write_file({}, {} bytes of pattern {})", path, o.length, o.seed);
    case Kind::kReadFile:
      return fmt::format("read_file({})", path);
    case Kind::kTruncate:
      return fmt::format("truncate({}, {})", path, o.length);
    case Kind::kMakeDirectory:
      return fmt::format("mkdir({}, {:o})", path, o.mode);
    case Kind::kRemoveDirectory:
      return fmt::format("rmdir({})", path);
    case Kind::kUnlink:
      return fmt::format("unlink({})", path);
    case Kind::kRename:
      return fmt::format("rename({}, {}{})", path, Quoted(o.to), RenameText(o.mode));
    case Kind::kLink:
      return fmt::format("link({}, {})", path, Quoted(o.to));
    case Kind::kSymlink:
      return fmt::format("symlink({}, {})", Quoted(o.to), path);
    case Kind::kMakeNode:
      return fmt::format("mknod({}, {:o}, {})", path, o.mode, o.target);
    case Kind::kChmod:
      return fmt::format("chmod({}, {:o})", path, o.mode);
    case Kind::kChown:
      return fmt::format("chown({}, {}, {})", path, static_cast<int32_t>(o.offset),
                         static_cast<int32_t>(o.target));
    case Kind::kSetTimes:
      return fmt::format("utimens({}, variant {}, {})", path, o.mode, o.target);
    case Kind::kStat:
      return fmt::format("stat({})", path);
    case Kind::kAccess:
      return fmt::format("access({}, {})", path, o.mode);
    case Kind::kList:
      return fmt::format("list({})", path);
    case Kind::kSetXattr:
      return fmt::format("setxattr({}, {}, {} bytes of pattern {}, mode {})", path, o.to, o.length,
                         o.seed, o.mode);
    case Kind::kGetXattr:
      return fmt::format("getxattr({}, {})", path, o.to);
    case Kind::kRemoveXattr:
      return fmt::format("removexattr({}, {})", path, o.to);
    default:
      return "";
  }
}

std::string HandleText(const Operation& o) {
  switch (o.kind) {
    case Kind::kOpen:
      return fmt::format("h{} = open({}, {}, {:o})", o.slot, Quoted(o.path), FlagText(o.flags),
                         o.mode);
    case Kind::kClose:
      return fmt::format("close(h{})", o.slot);
    case Kind::kWrite:
      return fmt::format("pwrite(h{}, at {}, {} bytes of pattern {})", o.slot, o.offset, o.length,
                         o.seed);
    case Kind::kAppend:
      return fmt::format("append(h{}, {} bytes of pattern {})", o.slot, o.length, o.seed);
    case Kind::kRead:
      return fmt::format("pread(h{}, at {}, {})", o.slot, o.offset, o.length);
    case Kind::kTruncateOpen:
      return fmt::format("ftruncate(h{}, {})", o.slot, o.length);
    case Kind::kAllocate:
      return fmt::format("fallocate(h{}, {}, at {}, {})", o.slot, AllocateText(o.mode), o.offset,
                         o.length);
    case Kind::kSeek:
      return fmt::format("lseek(h{}, {}, {})", o.slot, o.offset, o.mode == 0 ? "data" : "hole");
    case Kind::kCopyRange:
      return fmt::format("copy_file_range(h{} at {}, h{} at {}, {})", o.slot, o.offset, o.other,
                         o.target, o.length);
    case Kind::kSync:
      return fmt::format("fsync(h{})", o.slot);
    case Kind::kStatOpen:
      return fmt::format("fstat(h{})", o.slot);
    case Kind::kLinkOpen:
      return fmt::format("linkat(h{}, {})", o.slot, Quoted(o.path));
    default:
      return "";
  }
}

std::string VolumeText(const Operation& o) {
  switch (o.kind) {
    case Kind::kSnapshot:
      return fmt::format("take snapshot {}", o.to);
    case Kind::kCheckSnapshot:
      return fmt::format("check snapshot {}", o.to);
    case Kind::kDeleteSnapshot:
      return fmt::format("delete snapshot {}", o.to);
    case Kind::kBranch:
      return fmt::format("fork branch {} from {}", o.to, o.path);
    case Kind::kSwitch:
      return fmt::format("switch to branch {}", o.to);
    case Kind::kDeleteBranch:
      return fmt::format("delete branch {}", o.to);
    case Kind::kRestore:
      return fmt::format("restore {}", o.to);
    case Kind::kReopen:
      return "close and reopen the volume";
    case Kind::kCollectGarbage:
      return "collect garbage";
    case Kind::kCheckTree:
      return "check the whole tree";
    default:
      return "?";
  }
}

}  // namespace

std::string ToString(const Operation& operation) {
  static constexpr const char* kBy[] = {"", "alice: ", "bob: ", "?: "};
  std::string text = PathText(operation);
  if (text.empty()) text = HandleText(operation);
  if (text.empty()) return VolumeText(operation);
  return kBy[operation.by < 3 ? operation.by : 3] + text;
}

std::string ToString(const std::vector<Operation>& operations) {
  std::string text;
  for (size_t i = 0; i < operations.size(); ++i) {
    text += fmt::format("  {:3} {}\n", i + 1, ToString(operations[i]));
  }
  return text;
}

}  // namespace agentfs::model
