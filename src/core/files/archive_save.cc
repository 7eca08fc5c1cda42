// SPDX-License-Identifier: Apache-2.0
#include <absl/container/flat_hash_map.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <memory>
#include <utility>
#include <vector>

#include "agentfs/files.h"
#include "core/files/archive_names.h"
#include "core/files/archive_stream.h"
#include "core/files/extents.h"
#include "core/files/lazy_archive.h"
#include "core/files/node_metadata.h"
#include "core/files/tree_walker.h"

namespace agentfs {
namespace {

constexpr size_t kReadSize = size_t{256} << 10;
// A reader takes no pax header over 1 MiB.
constexpr size_t kMaxXattrBytes = size_t{512} << 10;
constexpr size_t kMaxPath = size_t{128} << 10;
// Bytes of a hole, which the format leaves out but wants to be handed; never touched.
char hole_bytes[size_t{4} << 20];

struct FreeWriter {
  void operator()(archive* writer) const { archive_write_free(writer); }
};
struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};
using EntryPtr = std::unique_ptr<archive_entry, FreeEntry>;

class TreeSaver {
 public:
  TreeSaver(FileSystem& fs, const Caller& caller, std::ostream& out, const std::stop_token& stop)
      : fs_(fs), caller_(caller), stop_(stop), sink_(out) {}

  Result<void> Save(Found root);

 private:
  Result<void> Open();
  Result<void> SaveAll(Found root);
  Result<void> SaveNode(const Found& found, const std::string& path);
  EntryPtr MakeEntry(const Found& found, const std::string& path);
  Result<void> AddXattrs(archive_entry* entry, Node& node);
  Result<bool> SaveHardLink(archive_entry* entry, const Found& found, const std::string& path);
  Result<void> SaveFile(archive_entry* entry, const Found& found);
  Result<void> WriteHeader(archive_entry* entry);
  Result<void> WriteHole(uint64_t length);
  Result<void> WriteExtent(Node& node, Extent extent);
  Result<void> WriteData(const char* bytes, size_t size);
  Error Failure();
  static la_ssize_t OnWrite(archive*, void* self, const void* bytes, size_t size);

  FileSystem& fs_;
  const Caller& caller_;
  const std::stop_token& stop_;
  ArchiveSink sink_;
  Result<void> sink_state_;
  std::unique_ptr<archive, FreeWriter> archive_;
  absl::flat_hash_map<NodeId, std::string> hard_links_;  // the first name of those with several
  std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(kReadSize);
};

// Never an error for libarchive, which would leak its buffer: after one, and after any other
// failure, what it still writes goes nowhere.
la_ssize_t TreeSaver::OnWrite(archive*, void* self, const void* bytes, size_t size) {
  auto& saver = *static_cast<TreeSaver*>(self);
  if (saver.sink_state_.ok()) {
    saver.sink_state_ = saver.sink_.Write({static_cast<const char*>(bytes), size});
  }
  return static_cast<la_ssize_t>(size);
}

// What went wrong in the last call of libarchive.
Error TreeSaver::Failure() {
  if (!sink_state_.ok()) return sink_state_.error();
  const char* text = archive_error_string(archive_.get());
  return Error(EIO, text ? text : "libarchive fails");
}

Result<void> TreeSaver::Open() {
  archive_.reset(archive_write_new());
  if (!archive_) return Error(ENOMEM);
  bool ok = archive_write_set_format_pax(archive_.get()) == ARCHIVE_OK &&
            // Of the two forms of xattrs the one that GNU tar knows.
            archive_write_set_options(archive_.get(), "xattrheader=SCHILY") == ARCHIVE_OK &&
            archive_write_open(archive_.get(), this, nullptr, &OnWrite, nullptr) == ARCHIVE_OK;
  if (!ok) return Failure();
  return Ok();
}

Result<void> TreeSaver::Save(Found root) {
  AGENTFS_TRY(Open());
  Result<void> saved = SaveAll(std::move(root));
  if (!saved.ok()) {
    sink_state_ = saved;  // no trailer: what was written is not a whole archive
    return saved;
  }
  if (archive_write_close(archive_.get()) != ARCHIVE_OK || !sink_state_.ok()) return Failure();
  return sink_.Finish();
}

Result<void> TreeSaver::SaveAll(Found root) {
  TreeWalker walker(fs_, caller_, std::move(root));
  for (;;) {
    if (stop_.stop_requested()) return Error(ECANCELED);
    AGENTFS_ASSIGN(TreeWalker::Event event, walker.Next());
    if (event == TreeWalker::Event::kEnd) return Ok();
    if (event == TreeWalker::Event::kLeave) continue;
    Result<void> saved = SaveNode(walker.found(), walker.parent() ? walker.path() : "./");
    if (saved.code() == ECANCELED || !sink_state_.ok()) return saved;
    if (!saved.ok()) return AtPath(saved.error(), "cannot save", walker.path());
  }
}

EntryPtr TreeSaver::MakeEntry(const Found& found, const std::string& path) {
  const Attr& attr = found.attr;
  EntryPtr entry(archive_entry_new2(archive_.get()));
  if (!entry) return entry;
  archive_entry_copy_pathname(entry.get(), path.c_str());
  archive_entry_set_mode(entry.get(), attr.mode);
  archive_entry_set_uid(entry.get(), attr.uid);
  archive_entry_set_gid(entry.get(), attr.gid);
  archive_entry_set_atime(entry.get(), attr.atime.sec, attr.atime.nsec);
  archive_entry_set_mtime(entry.get(), attr.mtime.sec, attr.mtime.nsec);
  archive_entry_set_size(entry.get(), 0);
  return entry;
}

Result<void> TreeSaver::AddXattrs(archive_entry* entry, Node& node) {
  AGENTFS_ASSIGN(Xattrs xattrs, ReadXattrs(fs_, caller_, node));
  size_t bytes = 0;
  for (const auto& [name, value] : xattrs) {
    bytes += name.size() + value.size();
    archive_entry_xattr_add_entry(entry, name.c_str(), value.data(), value.size());
  }
  if (bytes > kMaxXattrBytes) return Error(E2BIG, "more xattrs than an archive can hold");
  return Ok();
}

// Whether the node has been saved before, under another name; then this one is a link to it.
Result<bool> TreeSaver::SaveHardLink(archive_entry* entry, const Found& found,
                                     const std::string& path) {
  if (found.attr.nlink < 2 || S_ISDIR(found.attr.mode)) return false;
  auto [first, is_new] = hard_links_.emplace(found.node->id(), path);
  if (is_new) return false;
  archive_entry_copy_hardlink(entry, first->second.c_str());
  AGENTFS_TRY(WriteHeader(entry));
  return true;
}

Result<void> TreeSaver::SaveNode(const Found& found, const std::string& path) {
  if (path.size() > kMaxPath) return Error(ENAMETOOLONG);
  EntryPtr entry = MakeEntry(found, path);
  if (!entry) return Error(ENOMEM);
  AGENTFS_ASSIGN(bool linked, SaveHardLink(entry.get(), found, path));
  if (linked) return Ok();
  AGENTFS_TRY(AddXattrs(entry.get(), *found.node));
  switch (found.attr.mode & S_IFMT) {
    case S_IFREG:
      return SaveFile(entry.get(), found);
    case S_IFLNK: {
      AGENTFS_ASSIGN(std::string target, fs_.ReadLink(caller_, *found.node));
      archive_entry_copy_symlink(entry.get(), target.c_str());
      break;
    }
    case S_IFCHR:
    case S_IFBLK:
      archive_entry_set_rdevmajor(entry.get(), major(found.attr.rdev));
      archive_entry_set_rdevminor(entry.get(), minor(found.attr.rdev));
      break;
    case S_IFSOCK:
      archive_entry_set_filetype(entry.get(), AE_IFREG);
      archive_entry_xattr_add_entry(entry.get(), std::string(kSocketMark).c_str(), "1", 1);
      break;
    default:
      break;
  }
  return WriteHeader(entry.get());
}

Result<void> TreeSaver::WriteHeader(archive_entry* entry) {
  int status = archive_write_header(archive_.get(), entry);
  if (!sink_state_.ok()) return sink_state_;
  if (status == ARCHIVE_OK) return Ok();
  if (status == ARCHIVE_WARN && IsConversionWarning(archive_error_string(archive_.get()))) {
    return Ok();
  }
  return Failure();
}

Result<void> TreeSaver::SaveFile(archive_entry* entry, const Found& found) {
  AGENTFS_TRY(fs_.Open(caller_, *found.node, O_RDONLY));
  const uint64_t size = found.attr.size;
  std::vector<Extent> extents;
  AGENTFS_TRY(ForEachExtent(fs_, *found.node, size, [&](Extent extent) {
    extents.push_back(extent);
    return Ok();
  }));
  archive_entry_set_size(entry, static_cast<la_int64_t>(size));
  const bool sparse = size > 0 && (extents.empty() || extents[0].length != size);
  if (sparse) {
    for (Extent extent : extents) {
      archive_entry_sparse_add_entry(entry, static_cast<la_int64_t>(extent.offset),
                                     static_cast<la_int64_t>(extent.length));
    }
    if (extents.empty()) archive_entry_sparse_add_entry(entry, 0, 0);
  }
  AGENTFS_TRY(WriteHeader(entry));
  // The map of a sparse file is written with its first byte, even if that lies in a hole.
  if (sparse && extents.empty()) return WriteHole(1);
  uint64_t at = 0;
  for (Extent extent : extents) {
    AGENTFS_TRY(WriteHole(extent.offset - at));
    AGENTFS_TRY(WriteExtent(*found.node, extent));
    at = extent.offset + extent.length;
  }
  return Ok();  // a hole at the end is implied
}

Result<void> TreeSaver::WriteHole(uint64_t length) {
  while (length > 0) {
    if (stop_.stop_requested()) return Error(ECANCELED);
    size_t step = std::min<uint64_t>(length, sizeof(hole_bytes));
    AGENTFS_TRY(WriteData(hole_bytes, step));
    length -= step;
  }
  return Ok();
}

Result<void> TreeSaver::WriteExtent(Node& node, Extent extent) {
  while (extent.length > 0) {
    if (stop_.stop_requested()) return Error(ECANCELED);
    size_t step = std::min<uint64_t>(extent.length, kReadSize);
    AGENTFS_ASSIGN(size_t got, fs_.Read(node, extent.offset, {buffer_.get(), step}));
    if (got == 0) return Error(EBUSY, "the file became shorter while it was read");
    AGENTFS_TRY(WriteData(buffer_.get(), got));
    extent.offset += got;
    extent.length -= got;
  }
  return Ok();
}

Result<void> TreeSaver::WriteData(const char* bytes, size_t size) {
  while (size > 0) {
    la_ssize_t written = archive_write_data(archive_.get(), bytes, size);
    if (written <= 0 || !sink_state_.ok()) return Failure();
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return Ok();
}

}  // namespace

Result<void> SaveTree(const Files& files, std::string_view path, std::ostream& out,
                      std::stop_token stop) {
  if (stop.stop_requested()) return Error(ECANCELED);
  AGENTFS_ASSIGN(Found root, files.Resolve(path));
  if (!S_ISDIR(root.attr.mode)) return Error(ENOTDIR);
  ThreadLocale locale(kWriteLocale);
  return TreeSaver(*files.filesystem(), files.caller(), out, stop).Save(std::move(root));
}

}  // namespace agentfs
