// SPDX-License-Identifier: Apache-2.0
//
// Listings. The offsets are the filesystem's cursors, which are odd; "." and ".." have even ones.
#include <sys/stat.h>

#include <algorithm>

#include "adapters/fuse/dispatcher.h"
#include "adapters/fuse/wire.h"

namespace agentfs::fuse {
namespace {

constexpr uint64_t kAfterDot = 2, kAfterDotDot = 4;

bool IsReserved(uint64_t offset) {
  return offset == 0 || offset == kAfterDot || offset == kAfterDotDot;
}

// An entry without a node: the kernel looks it up when it needs it.
fuse_entry_out NoEntry() { return {}; }

std::span<char> SpaceFor(Exchange& exchange, const fuse_read_in& in) {
  const std::span<char> space = exchange.space();
  return space.first(std::min<size_t>(in.size, space.size()));
}

}  // namespace

// "." and "..", as far as the listing has not passed them. A tree's root is above itself, as is
// what the tree cannot say it of: the kernel knows better what is there.
void Dispatcher::AddDots(Request& request, DirectoryWriter& writer, uint64_t offset,
                         bool plus) const {
  if (offset != 0 && offset != kAfterDot) return;
  const auto add = [&](std::string_view name, NodeId node, uint64_t next) {
    const uint64_t ino = request.inode.tree->InodeNumber(node);
    return plus ? writer.AddPlus(name, ino, S_IFDIR, next, NoEntry)
                : writer.Add(name, ino, S_IFDIR, next);
  };
  const NodeId self = request.node().id();
  if (offset == 0 && !add(".", self, kAfterDot)) return;
  const Result<Found> above = request.fs().Lookup(CallerOf(request), request.node(), "..");
  add("..", above.ok() ? above->node->id() : self, kAfterDotDot);
}

bool Dispatcher::IsDirect(const Tree& tree, NodeId node) const {
  return direct_ != nullptr && direct_->IsOpen(tree, node);
}

// With ENOSYS the kernel opens directories on its own and keeps their listings.
Dispatcher::Answer Dispatcher::OpenDirectory(Request& request) {
  if (capabilities_.Has(Feature::kNoOpendir)) return Error(ENOSYS);
  fuse_open_out out{};
  if (request.inode.tree->kind() != Tree::Kind::kVirtual) {
    out.open_flags = FOPEN_KEEP_CACHE | FOPEN_CACHE_DIR;
  }
  return Give(request, out);
}

Dispatcher::Answer Dispatcher::ListPlain(Request& request, const fuse_read_in& in, bool plus) {
  const Tree& tree = *request.inode.tree;
  DirectoryWriter writer(SpaceFor(request.exchange, in));
  AddDots(request, writer, in.offset, plus);
  const uint64_t cursor = IsReserved(in.offset) ? 0 : in.offset;
  AGENTFS_TRY(request.fs().ReadDirectory(
      CallerOf(request), request.node(), cursor, [&](const DirEntry& entry) {
        if (IsControl(request.inode, entry.name)) return Visit::kContinue;
        const uint64_t ino = tree.InodeNumber(entry.node);
        const bool fits = plus ? writer.AddPlus(entry.name, ino, entry.type, entry.cursor, NoEntry)
                               : writer.Add(entry.name, ino, entry.type, entry.cursor);
        return fits ? Visit::kContinue : Visit::kStop;
      }));
  if (tree.kind() != Tree::Kind::kVirtual) {
    listings_.Listed(request.inode.id, writer.entries(), in.offset == 0);
  }
  return writer.written();
}

Dispatcher::Answer Dispatcher::ReadDirectory(Request& request) {
  return ListPlain(request, request.Arguments<fuse_read_in>(), false);
}

Dispatcher::Answer Dispatcher::ReadDirectoryPlus(Request& request) {
  const auto in = request.Arguments<fuse_read_in>();
  const std::shared_ptr<Tree>& tree = request.inode.tree;
  if (tree->kind() == Tree::Kind::kVirtual) return ListPlain(request, in, true);
  DirectoryWriter writer(SpaceFor(request.exchange, in));
  AddDots(request, writer, in.offset, true);
  const uint64_t cursor = IsReserved(in.offset) ? 0 : in.offset;
  const uint64_t changes = tree->foreign_changes();
  const Result<void> listed = request.fs().ReadDirectoryPlus(
      CallerOf(request), request.node(), cursor, [&](const DirEntry& entry, const Found& found) {
        if (IsControl(request.inode, entry.name)) return Visit::kContinue;
        const bool fits = writer.AddPlus(
            entry.name, tree->InodeNumber(entry.node), entry.type, entry.cursor, [&] {
              if (IsDirect(*tree, entry.node)) return NoEntry();
              if (inodes_.IsTold(*tree, entry.node, request.inode.id, changes)) return NoEntry();
              Inode& inode = inodes_.Learn(tree, found.node);
              return Tell(request.inode, entry.name, inode, found.attr, changes);
            });
        return fits ? Visit::kContinue : Visit::kStop;
      });
  // What was told must be answered: the kernel will forget it.
  if (!listed.ok() && writer.written() == 0) return listed.error();
  listings_.Listed(request.inode.id, writer.entries(), in.offset == 0);
  return writer.written();
}

}  // namespace agentfs::fuse
