// SPDX-License-Identifier: Apache-2.0
//
// LoadTree: reads an archive, entry by entry, into a TreeBuilder, which trusts nothing.

#include <algorithm>
#include <memory>
#include <utility>

#include "agentfs/files.h"
#include "core/files/archive_names.h"
#include "core/files/archive_stream.h"
#include "core/files/lazy_archive.h"
#include "core/files/replace_tree.h"
#include "core/files/tree_builder.h"
#include "core/files/tree_walker.h"

namespace agentfs {
namespace {

struct FreeReader {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

class ArchiveReader {
 public:
  ArchiveReader(std::istream& in, const ArchiveLimits& limits, const std::stop_token& stop)
      : source_(in, limits.max_bytes, stop), outside_links_(limits.outside_links) {}

  // Reads the whole archive into `builder`.
  Result<void> ReadInto(TreeBuilder& builder);

 private:
  Result<void> Open();
  // False at the end.
  Result<bool> Next(archive_entry** entry);
  Result<void> AddEntry(TreeBuilder& builder, archive_entry* entry);
  Result<void> ReadContent(TreeBuilder& builder);
  Error Failure();
  static la_ssize_t OnRead(archive* reader, void* self, const void** bytes);

  ArchiveSource source_;
  const OutsideLinks outside_links_;
  Result<void> source_state_;
  std::unique_ptr<archive, FreeReader> archive_;
};

la_ssize_t ArchiveReader::OnRead(archive* reader, void* self, const void** bytes) {
  auto& own = *static_cast<ArchiveReader*>(self);
  Result<std::span<const char>> next = own.source_.Next();
  if (!next.ok()) {
    archive_set_error(reader, next.code(), "the stream fails");
    own.source_state_ = std::move(next).error();
    return ARCHIVE_FATAL;
  }
  *bytes = next->data();
  return static_cast<la_ssize_t>(next->size());
}

Error ArchiveReader::Failure() {
  if (!source_state_.ok()) return source_state_.error();
  const char* text = archive_error_string(archive_.get());
  return Error(EBADMSG, std::string("the archive is damaged: ") + (text ? text : "no tar"));
}

Result<void> ArchiveReader::Open() {
  archive_.reset(archive_read_new());
  if (!archive_) return Error(ENOMEM);
  bool ok = archive_read_support_format_tar(archive_.get()) == ARCHIVE_OK &&
            archive_read_open(archive_.get(), this, nullptr, &OnRead, nullptr) == ARCHIVE_OK;
  if (!ok) return Failure();
  return Ok();
}

Result<bool> ArchiveReader::Next(archive_entry** entry) {
  switch (archive_read_next_header(archive_.get(), entry)) {
    case ARCHIVE_OK:
      return true;
    case ARCHIVE_EOF:
      return false;
    case ARCHIVE_WARN:
      if (IsConversionWarning(archive_error_string(archive_.get()))) return true;
      return Failure();
    default:
      return Failure();
  }
}

Result<void> ArchiveReader::ReadInto(TreeBuilder& builder) {
  AGENTFS_TRY(Open());
  for (;;) {
    archive_entry* entry = nullptr;
    AGENTFS_ASSIGN(bool more, Next(&entry));
    if (!more) break;
    Result<void> added = AddEntry(builder, entry);
    if (added.ok()) continue;
    if (!source_state_.ok()) return source_state_;
    const char* name = archive_entry_pathname(entry);
    return AtPath(added.error(), "cannot load", name ? name : "?");
  }
  AGENTFS_TRY(source_.Drain());
  return builder.Finish();
}

// Far beyond any calendar, and far enough from where arithmetic on seconds overflows.
constexpr int64_t kMaxSeconds = int64_t{1} << 60;

Timestamp ToTimestamp(int64_t sec, long nsec) {
  return {std::clamp(sec, -kMaxSeconds, kMaxSeconds),
          static_cast<uint32_t>(std::clamp(nsec, 0L, 999'999'999L))};
}

NodeMetadata MetadataOf(archive_entry* entry) {
  NodeMetadata metadata;
  metadata.mode = archive_entry_mode(entry);
  metadata.uid = static_cast<uint32_t>(archive_entry_uid(entry));
  metadata.gid = static_cast<uint32_t>(archive_entry_gid(entry));
  if (archive_entry_mtime_is_set(entry)) {
    metadata.mtime = ToTimestamp(archive_entry_mtime(entry), archive_entry_mtime_nsec(entry));
  }
  if (archive_entry_atime_is_set(entry)) {
    metadata.atime = ToTimestamp(archive_entry_atime(entry), archive_entry_atime_nsec(entry));
  }
  archive_entry_xattr_reset(entry);
  const char* name = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  while (archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK) {
    metadata.xattrs.emplace_back(DecodeXattrName(name),
                                 std::string(static_cast<const char*>(value), size));
  }
  return metadata;
}

bool IsId(int64_t id) { return id >= 0 && id < UINT32_MAX; }

Result<void> ArchiveReader::AddEntry(TreeBuilder& builder, archive_entry* entry) {
  const char* name = archive_entry_pathname(entry);
  if (!name) return Error(EILSEQ, "a name that cannot be read");
  if (const char* target = archive_entry_hardlink(entry)) return builder.AddHardLink(name, target);
  if (!IsId(archive_entry_uid(entry)) || !IsId(archive_entry_gid(entry))) {
    return Error(EINVAL, "an owner out of range");
  }
  NodeMetadata metadata = MetadataOf(entry);
  switch (archive_entry_filetype(entry)) {
    case AE_IFDIR:
      return builder.AddDirectory(name, std::move(metadata));
    case AE_IFLNK: {
      const char* target = archive_entry_symlink(entry);
      if (!target) return Error(EILSEQ, "a link whose target cannot be read");
      if (outside_links_ == OutsideLinks::kRefuse && LeadsOutside(name, target)) {
        return Error(EINVAL, std::string("a symbolic link that leads outside, to ") + target);
      }
      return builder.AddSymlink(name, target, metadata);
    }
    case AE_IFREG:
      AGENTFS_TRY(builder.BeginFile(name, std::move(metadata), archive_entry_size(entry)));
      AGENTFS_TRY(ReadContent(builder));
      return builder.EndFile();
    case AE_IFIFO:
    case AE_IFCHR:
    case AE_IFBLK:
      return builder.AddSpecial(name, metadata, archive_entry_rdevmajor(entry),
                                archive_entry_rdevminor(entry));
    default:
      return Error(EINVAL, "an entry of unknown type");
  }
}

Result<void> ArchiveReader::ReadContent(TreeBuilder& builder) {
  for (;;) {
    const void* bytes = nullptr;
    size_t size = 0;
    la_int64_t offset = 0;
    int status = archive_read_data_block(archive_.get(), &bytes, &size, &offset);
    if (status == ARCHIVE_EOF) return Ok();
    if (status != ARCHIVE_OK) return Failure();
    AGENTFS_TRY(builder.WriteFile(offset, {static_cast<const char*>(bytes), size}));
  }
}

}  // namespace

Result<void> LoadTree(const Files& files, std::string_view path, std::istream& in,
                      const ArchiveLimits& limits, std::stop_token stop) {
  if (stop.stop_requested()) return Error(ECANCELED);
  FileSystem& fs = *files.filesystem();
  AGENTFS_ASSIGN(TreeReplacement replacement, TreeReplacement::Begin(fs, files.caller(), path));
  TreeBuilder builder(fs, files.caller(), replacement.root(), limits.max_entries);
  {
    ThreadLocale locale(kReadLocale);
    AGENTFS_TRY(ArchiveReader(in, limits, stop).ReadInto(builder));
  }
  if (stop.stop_requested()) return Error(ECANCELED);
  return replacement.Commit(builder.root_metadata());
}

}  // namespace agentfs
