// SPDX-License-Identifier: Apache-2.0
#include "core/kept_base.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <charconv>
#include <filesystem>
#include <utility>

namespace agentfs {
namespace {

namespace stdfs = std::filesystem;

constexpr std::string_view kMovedPrefix = "moved-";
// Identities of the base do not have it.
constexpr uint64_t kOwnNodeBit = uint64_t{1} << 63;

std::optional<uint64_t> ParseIdentity(std::string_view name) {
  uint64_t identity = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), identity, 16);
  return parsed.ec == std::errc() ? std::optional<uint64_t>(identity) : std::nullopt;
}

bool IsMove(std::string_view name) { return name.starts_with(kMovedPrefix); }

}  // namespace

KeptBase::KeptBase(std::string directory) : directory_(std::move(directory)) {
  if (directory_.empty()) return;
  std::error_code error;
  absl::MutexLock lock(&mu_);
  for (auto at = stdfs::directory_iterator(directory_, error);
       !error && at != stdfs::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename();
    if (!IsMove(name)) continue;
    const auto identity = ParseIdentity(std::string_view(name).substr(kMovedPrefix.size()));
    std::error_code failed;
    const std::string path = stdfs::read_symlink(at->path(), failed);
    if (identity && !failed) moved_[*identity] = path;
  }
  any_moved_ = !moved_.empty();
}

Result<void> KeptBase::Moved(uint64_t identity, const std::string& path) {
  if (directory_.empty()) return Ok();
  const std::string name = fmt::format("{}/{}{:x}", directory_, kMovedPrefix, identity);
  std::error_code error;
  stdfs::create_directories(directory_, error);
  stdfs::remove(name + ".new", error);
  stdfs::create_symlink(path, name + ".new", error);
  if (!error) stdfs::rename(name + ".new", name, error);
  if (error) return Error(error.value()).WithContext("cannot note what was moved in " + directory_);
  absl::MutexLock lock(&mu_);
  moved_[identity] = path;
  any_moved_ = true;
  return Ok();
}

void KeptBase::ForgetMove(uint64_t identity) {
  std::error_code error;  // what stays says no more than before
  stdfs::remove(fmt::format("{}/{}{:x}", directory_, kMovedPrefix, identity), error);
  absl::MutexLock lock(&mu_);
  moved_.erase(identity);
}

std::optional<std::string> KeptBase::PlaceOf(uint64_t identity) {
  if (!any_moved_.load(std::memory_order_relaxed)) return std::nullopt;
  absl::MutexLock lock(&mu_);
  const auto it = moved_.find(identity);
  return it == moved_.end() ? std::nullopt : std::optional<std::string>(it->second);
}

uint64_t MoveKey(NodeId node) {
  const bool of_base = (node.value & kBaseNodeBit) != 0;
  return of_base ? node.value & (kBaseNodeBit - 1) : node.value | kOwnNodeBit;
}

NodeId NodeOfMove(uint64_t key) {
  return NodeId((key & kOwnNodeBit) != 0 ? key & ~kOwnNodeBit : key | kBaseNodeBit);
}

OwnPlace OwnPlace::Parse(std::string_view note) {
  const size_t space = std::min(note.find(' '), note.size());
  const auto identity = ParseIdentity(note.substr(0, space));
  note.remove_prefix(std::min(space + 1, note.size()));
  return {identity.value_or(0), std::string(note)};
}

std::string OwnPlace::note() const { return fmt::format("{:x} {}", identity, path); }

std::string KeptName(uint64_t identity, const BaseSignature& signature) {
  return fmt::format("{:x}-{:x}-{}.{}", identity, signature.size, signature.mtime.sec,
                     signature.mtime.nsec);
}

bool NeedsBase(const NodeRecord& record, const BaseSignature& signature) {
  const bool has_content = record.kind == ContentKind::kBase || record.base_end != 0;
  const BaseSignature& then = record.base_signature;
  return record.has_base && record.nlink != 0 && S_ISREG(record.mode) && has_content &&
         then.size == signature.size && then.mtime == signature.mtime &&
         then.inode == signature.inode;
}

Result<BaseFs*> KeptBase::Directory() {
  if (directory_.empty()) return Error(ENOENT);
  absl::MutexLock lock(&mu_);
  if (opened_ == nullptr) {
    AGENTFS_ASSIGN(opened_, OpenHostBase(directory_));
  }
  return opened_.get();
}

Result<std::shared_ptr<BaseFile>> KeptBase::Open(uint64_t identity,
                                                 const BaseSignature& signature) {
  AGENTFS_ASSIGN(BaseFs* const directory, Directory());
  AGENTFS_ASSIGN(std::shared_ptr<BaseFile> file, directory->Open(KeptName(identity, signature)));
  // It may be one with a file of the base again, which somebody writes to.
  AGENTFS_ASSIGN(const BaseStat stat, file->Stat());
  const bool same = stat.signature.size == signature.size && stat.attr.mtime == signature.mtime;
  if (!same) return Error(ENOENT);
  return file;
}

Result<uint64_t> KeptBase::Collect(const Needed& needed) {
  Result<BaseFs*> directory = Directory();
  if (directory.code() == ENOENT) return uint64_t{0};
  if (!directory.ok()) return directory.error();
  AGENTFS_ASSIGN(const std::vector<BaseEntry> entries, (*directory)->List(""));
  uint64_t bytes = 0;
  for (const BaseEntry& entry : entries) {
    const bool move = IsMove(entry.name);
    const auto identity =
        ParseIdentity(std::string_view(entry.name).substr(move ? kMovedPrefix.size() : 0));
    bool wanted = false;
    if (identity) {
      AGENTFS_ASSIGN(wanted, needed(*identity, move ? "" : entry.name));
    }
    if (wanted) continue;
    Result<BaseStat> stat = (*directory)->Stat(entry.name);
    // What has further names gives nothing back.
    if (!move && stat.ok() && stat->attr.nlink == 1) bytes += stat->attr.blocks * 512;
    std::error_code ignored;
    stdfs::remove(directory_ + "/" + entry.name, ignored);
    if (move && identity) {
      absl::MutexLock lock(&mu_);
      moved_.erase(*identity);
    }
  }
  return bytes;
}

}  // namespace agentfs
