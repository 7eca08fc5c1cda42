// SPDX-License-Identifier: Apache-2.0
//
// The content of regular files: reading, writing, changing the size, holes.
//
// Small files are chunks: bytes in memory that go to the store as rows. Large files are pages in
// objects: written in place at once, while the spans rows that map them travel in the journal.
// Bytes of a page past the end of the file are undefined; growing a file zeroes them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/types.h"
#include "core/view_nodes.h"

namespace agentfs {

// Functions named ...Locked need the node's exclusive lock. They do not check permissions.
class FileIo {
 public:
  explicit FileIo(ViewNodes& nodes) : nodes_(nodes), volume_(nodes.volume()) {}

  // Takes the node's lock itself.
  Result<size_t> Read(ViewNode& node, uint64_t offset, std::span<char> out);
  Result<size_t> WriteLocked(const Caller& caller, ViewNode& node, uint64_t offset,
                             std::span<const char> data);
  // Copies between two large files by sharing what the host can share. False: it is not such a
  // case, and nothing was done. Takes the nodes' locks itself.
  Result<bool> CloneRange(const Caller& caller, ViewNode& source, uint64_t from, ViewNode& target,
                          uint64_t to, uint64_t length);
  // Changes the size and the times; `with` is called in the same change, before the record is put.
  Result<void> SetSizeLocked(ViewNode& node, uint64_t size, const std::function<void()>& with);
  Result<void> AllocateLocked(const Caller& caller, ViewNode& node, AllocateMode mode,
                              uint64_t offset, uint64_t length);
  Result<uint64_t> SeekLocked(ViewNode& node, uint64_t offset, SeekTarget target);
  Result<void> TakeLocked(const Caller& caller, ViewNode& node, const HostContent& from);
  Result<bool> GiveLocked(ViewNode& node, const HostFile& to);
  // A sync of the file's data has brought its rows, and all batches up to `batch`, to the disk.
  void SyncedLocked(ViewNode& node, uint64_t batch);
  // What a crash has left of a file that was growing: as much as its object has. The mark goes.
  Result<void> RecoverLocked(ViewNode& node, const GrowthMark& mark);
  // Whether who reads the node now has to call one of these (relatime); the lock is held, shared.
  bool WantsAccessTime(const ViewNode& node) const;
  // Takes the node's lock itself.
  void TouchAccessTime(ViewNode& node);
  void TouchAccessTimeLocked(ViewNode& node);

 private:
  // Where a piece of a file is. Object 0: a hole.
  struct Piece {
    enum class Source : uint8_t { kHole, kObject, kBase };
    Source source;
    ObjectId object;
    uint64_t offset;  // in the file, and in its object or the base
    uint64_t length;
  };
  // A node's base file, to be read without the node's lock.
  struct BaseSource {
    std::string path;
    uint64_t identity = 0;
    std::optional<BaseSignature> expected;  // an error if the file is not this any more
    std::optional<BaseSignature> kept;      // what was kept of it, if it is gone
  };

  uint32_t chunk_size() const { return volume_.layout.chunk_size; }

  // ---- file_read.cc
  Result<size_t> ReadOnce(ViewNode& node, uint64_t offset, std::span<char> out);
  Result<size_t> ReadChunksLocked(ViewNode& node, uint64_t offset, std::span<char> out);
  bool CopyKnownChunks(ViewNode& node, uint64_t offset, std::span<char> out);
  // Of a file that is kept in pages, or is the base's.
  Result<std::vector<Piece>> PiecesLocked(ViewNode& node, uint64_t offset, uint64_t length);
  // `out` begins where the first piece does.
  Result<void> ReadPieces(const std::vector<Piece>& pieces, const BaseSource& base,
                          std::span<char> out);
  Result<std::shared_ptr<BaseFile>> OpenBase(const BaseSource& base);
  Result<size_t> ReadBase(const BaseSource& base, uint64_t offset, std::span<char> out);
  BaseSource BaseOfLocked(const ViewNode& node) const;
  // All of it, zeros past the end of the file.
  Result<void> ReadFullyLocked(ViewNode& node, uint64_t offset, std::span<char> out);
  uint64_t SizeLocked(ViewNode& node);

  // ---- file_write.cc
  bool UsesObjects(uint64_t size) const;
  Result<void> CheckGrowth(const ViewNode& node, uint64_t end, uint64_t length) const;
  Result<void> PrepareChunksLocked(ViewNode& node, uint64_t offset, uint64_t length);
  Result<void> CopyUpSmallLocked(ViewNode& node, uint64_t size);
  void PutChunks(Journal::Change& change, ViewNode& node, uint64_t offset,
                 std::span<const char> data);
  void PutChunk(Journal::Change& change, ViewNode& node, uint64_t index, uint32_t offset,
                std::span<const char> data);
  void PutHole(Journal::Change& change, ViewNode& node, uint64_t index);
  void CutChunk(Journal::Change& change, ViewNode& node, uint64_t index, uint32_t length);
  // Puts a chunk's bytes into the current batch. `bytes` are the caller's alone.
  void QueueChunk(Journal::Change& change, ViewNode& node, uint64_t index, Buffer bytes);
  void StartChunks(ViewNode& node);

  // What WritePagesLocked has written becomes a part of the file, which is `size` long then.
  void PutPages(Journal::Change& change, const Caller& caller, ViewNode& node, uint64_t offset,
                uint64_t size, size_t length);
  // The content has changed: its size, the times, the record.
  void Written(Journal::Change& change, const Caller& caller, ViewNode& node, uint64_t size);

  // ---- file_object.cc
  // Makes the content pages in an object, sparse over the base. Changes nothing that can be seen.
  Result<void> ToSpansLocked(ViewNode& node);
  // The object that the open layer writes, made if need be.
  Result<void> NeedObjectLocked(ViewNode& node);
  Result<void> CopyChunksToObjectLocked(ViewNode& node, std::vector<uint64_t>* pages);
  Result<void> WritePagesLocked(ViewNode& node, uint64_t offset, std::span<const char> data);
  Result<void> WriteEdgeLocked(ViewNode& node, uint64_t page, uint64_t offset,
                               std::span<const char> data);
  Result<bool> OwnsPageLocked(ViewNode& node, uint64_t page);
  // Zeroes the file's last page from the end of the file up to `end`.
  Result<void> ZeroTailLocked(ViewNode& node, uint64_t end);
  Result<void> LoadSpansLocked(ViewNode& node, uint64_t first_page, uint64_t last_page);
  void RecordObject(Journal::Change& change, ViewNode& node);
  // Pages [first, last] are in `object` now (0: a hole).
  // Whether any of the pages was not in the object before.
  bool MapPages(Journal::Change& change, ViewNode& node, uint64_t first, uint64_t last,
                ObjectId object);
  bool MapInSpan(Journal::Change& change, ViewNode& node, uint64_t index, uint32_t first,
                 uint32_t last, ObjectId object);
  void PutSpan(Journal::Change& change, ViewNode& node, uint64_t index);
  void ReclaimTail(ViewNode& node, uint64_t batch);

  // ---- file_grow.cc
  // WritePagesLocked, after which the object does not end past the file if it fails.
  Result<void> TryPagesLocked(ViewNode& node, uint64_t offset, std::span<const char> data);
  // Marks the file as growing, if it is such a one.
  Result<void> MarkLocked(ViewNode& node);
  bool IsSameLocked(const ViewNode& node, const GrowthMark& mark) const;
  // EIO: a crash has left it unknown where the file ends.
  Result<void> CheckEndLocked(const ViewNode& node) const;

  // ---- file_copy.cc
  // A part of a host file, kept open, to be shared.
  struct HostPart {
    Piece piece;
    std::shared_ptr<BlobObject> object;
    std::shared_ptr<BaseFile> base;
    int descriptor = -1;  // -1: a hole
  };
  Result<std::vector<HostPart>> HostParts(ViewNode& source, uint64_t offset, uint64_t length);
  Result<void> ShareLocked(ViewNode& target, const std::vector<HostPart>& parts, uint64_t from,
                           uint64_t to);

  // ---- file_host.cc
  Result<void> GiveRangeLocked(ViewNode& node, int file, uint64_t offset, uint64_t length);
  using PageRange = std::pair<uint64_t, uint64_t>;  // first and last
  Result<void> TakeSmallLocked(const Caller& caller, ViewNode& node, const HostContent& from,
                               uint64_t size);
  // The object that the file is now, or a copy of it in one.
  Result<FileContent> ObjectOf(const HostContent& from, uint64_t inode, uint64_t size,
                               LayerId layer);
  void MapFile(Journal::Change& change, ViewNode& node, const std::vector<uint64_t>& before,
               const std::vector<PageRange>& data);

  // ---- file_size.cc
  // Makes a file whose content is the base's one of its own. Changes nothing that can be seen.
  Result<void> DetachLocked(ViewNode& node);
  Result<void> ShrinkLocked(ViewNode& node, uint64_t size, const std::function<void()>& with);
  Result<void> ShrinkChunksLocked(ViewNode& node, uint64_t size, const std::function<void()>& with);
  Result<void> ShrinkSpansLocked(ViewNode& node, uint64_t size, const std::function<void()>& with);
  void Finish(Journal::Change& change, ViewNode& node, uint64_t size,
              const std::function<void()>& with);
  Result<void> PunchLocked(const Caller& caller, ViewNode& node, uint64_t offset, uint64_t end);
  Result<void> PunchChunksLocked(const Caller& caller, ViewNode& node, uint64_t offset,
                                 uint64_t end);
  Result<void> PunchPagesLocked(const Caller& caller, ViewNode& node, uint64_t offset,
                                uint64_t end);
  // The first piece of data that ends after `offset`, in order.
  using Extent = std::pair<uint64_t, uint64_t>;
  Result<std::optional<Extent>> NextDataLocked(ViewNode& node, uint64_t offset);
  Result<std::optional<Extent>> NextBaseDataLocked(ViewNode& node, uint64_t from, uint64_t to);
  Result<std::optional<Extent>> NextChunkLocked(ViewNode& node, uint64_t offset);
  Result<std::optional<Extent>> NextRunLocked(ViewNode& node, uint64_t offset);

  ViewNodes& nodes_;
  VolumeState& volume_;
};

}  // namespace agentfs
