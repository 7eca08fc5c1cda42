// SPDX-License-Identifier: Apache-2.0
#include "core/kept_base.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <charconv>
#include <filesystem>
#include <utility>

namespace agentfs {

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
    uint64_t identity = 0;
    const char* end = entry.name.data() + entry.name.size();
    const auto parsed = std::from_chars(entry.name.data(), end, identity, 16);
    bool wanted = false;
    if (parsed.ec == std::errc()) {
      AGENTFS_ASSIGN(wanted, needed(identity, entry.name));
    }
    if (wanted) continue;
    Result<BaseStat> stat = (*directory)->Stat(entry.name);
    // What has further names gives nothing back.
    if (stat.ok() && stat->attr.nlink == 1) bytes += stat->attr.blocks * 512;
    std::error_code ignored;
    std::filesystem::remove(directory_ + "/" + entry.name, ignored);
  }
  return bytes;
}

}  // namespace agentfs
