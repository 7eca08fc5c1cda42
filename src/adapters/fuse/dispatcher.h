// SPDX-License-Identifier: Apache-2.0
//
// Answers the kernel's requests: translates each into a call of the filesystem that the inode
// belongs to. It knows nothing of how requests come (exchange.h) and nothing of what a filesystem
// does (agentfs/filesystem.h).
//
// Everything may be cached by the kernel (Tree::ValidSeconds), who also checks permissions
// (default_permissions). Opening takes no message where the kernel agrees: a file is its inode.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "adapters/fuse/exchange.h"
#include "adapters/fuse/forest.h"
#include "adapters/fuse/inode_table.h"
#include "adapters/fuse/invalidator.h"
#include "adapters/fuse/listings.h"
#include "adapters/fuse/mount.h"
#include "adapters/fuse/open_files.h"
#include "adapters/fuse/process_groups.h"
#include "adapters/fuse/transport/negotiate.h"
#include "agentfs/result.h"

namespace agentfs::fuse {

class DirectoryWriter;

// The ioctl of the control file. The buffer is a ControlBuffer; its request is replaced by the
// answer.
struct ControlBuffer {
  uint32_t size;
  char bytes[kMaxControlBytes];
};
inline constexpr unsigned long kControlIoctl = _IOWR('A', 1, ControlBuffer);

// Thread-safe. All that it is given outlives it.
class Dispatcher final : public Handler {
 public:
  // What not every mount has; each may be null.
  struct Extras {
    KnownNames* names;
    DirectFiles* direct;
    OpenFiles* opens;
  };
  Dispatcher(Forest& forest, InodeTable& inodes, Invalidator& invalidator, Extras extras,
             const Capabilities& capabilities, ControlHandler control);

  void Handle(Exchange& exchange) noexcept override;

  // Those that came, the most frequent first.
  std::vector<OperationCount> Counts() const;
  std::shared_ptr<const std::atomic<bool>> mappings_written() const { return mappings_written_; }

 private:
  // A request and the inode that it is about.
  struct Request {
    Exchange& exchange;
    Inode& inode;

    const fuse_in_header& header() const { return exchange.header(); }
    template <typename T>
    T Arguments() const {
      return exchange.Arguments<T>();
    }
    FileSystem& fs() const { return inode.fs(); }
    Node& node() const { return *inode.node; }
  };
  // Each puts its answer into the exchange's space and says how long it is.
  using Answer = Result<size_t>;
  using Function = Answer (Dispatcher::*)(Request&);
  struct Operation {
    std::string_view name;
    Function function = nullptr;
  };
  static constexpr size_t kOpcodes = 64;
  static const std::array<Operation, kOpcodes>& Operations();

  void Run(Exchange& exchange);
  void Count(uint32_t opcode);

  Caller CallerOf(const Request& request) const;
  template <typename T>
  static Answer Give(Request& request, const T& value) {
    std::memcpy(request.exchange.space().data(), &value, sizeof(T));
    return sizeof(T);
  }

  // ---- dispatch_names.cc
  Answer Lookup(Request&);
  Answer MakeNode(Request&);
  Answer MakeDirectory(Request&);
  Answer MakeSymlink(Request&);
  Answer Create(Request&);
  Answer CreateUnnamed(Request&);
  Answer Link(Request&);
  Answer Unlink(Request&);
  Answer RemoveDirectory(Request&);
  Answer Rename(Request&);
  Answer Rename2(Request&);
  Answer ReadLink(Request&);
  void Forget(Exchange& exchange);
  void BatchForget(Exchange& exchange);
  void ForgetInode(uint64_t id, uint64_t count);

  Answer LookupVirtual(Request&, std::string_view name);
  // What the kernel is told of an inode found at a name, which it may forget when it has the
  // answer.
  fuse_entry_out Tell(const Inode& directory, std::string_view name, Inode& inode, const Attr& attr,
                      uint64_t changes);
  Answer GiveEntry(Request&, std::string_view name, Found found, uint64_t changes);
  Answer GiveRoot(Request&, const std::shared_ptr<Tree>& tree);
  // A node of any tree, whose name the kernel may keep for `entry_valid` seconds.
  Answer GiveOf(Request&, const std::shared_ptr<Tree>& tree, Found found, uint64_t changes,
                uint64_t entry_valid);
  Answer GiveCreated(Request&, std::string_view name, Found found, uint64_t changes,
                     uint32_t flags);
  bool WritesPastCache(uint32_t flags) const;
  // What a node that the kernel writes itself is now; nothing for others.
  void Refresh(Inode& inode, Attr* attr);
  Answer GiveAbsent(Request&, std::string_view name, uint64_t changes);
  Answer RenameTo(Request&, uint64_t new_parent, uint32_t flags, std::span<const char> names);
  Result<Found> CreateOrOpen(Request&, const Caller&, const fuse_create_in&, std::string_view name);
  // The seconds that an answer holds which was begun when the tree's changes were `changes`.
  static uint64_t Valid(const Tree& tree, uint64_t changes);
  static uint64_t ValidAttr(const Inode& inode, uint64_t changes);
  // The same of an entry of the inode, which the kernel is about to be told of.
  uint64_t ValidEntry(const Inode& directory, std::string_view name, uint64_t changes);
  // Whether `name` in the inode is the control directory, or hidden by it.
  static bool IsControl(const Inode& inode, std::string_view name);

  // ---- dispatch_attributes.cc
  Answer GetAttr(Request&);
  Answer Statx(Request&);
  Answer SetAttr(Request&);
  Answer StatFs(Request&);

  // ---- dispatch_data.cc
  Answer Open(Request&);
  Answer Flush(Request&);
  Answer Release(Request&);
  Result<OpenOut> OpenFile(const Caller&, Inode& inode, int flags);
  Answer Read(Request&);
  Answer Write(Request&);
  Result<size_t> Put(Request&, const Caller&, const fuse_write_in& in, std::span<const char> data);
  static Result<void> SyncIfAsked(Request&, const fuse_write_in& in);
  Answer Sync(Request&);
  Answer SyncAll(Request&);
  Answer Allocate(Request&);
  Answer Seek(Request&);
  Answer CopyRange(Request&);
  Answer CopyRange64(Request&);
  Result<uint64_t> Copy(Request&);

  // ---- dispatch_directories.cc
  Answer OpenDirectory(Request&);
  Answer ReadDirectory(Request&);
  Answer ReadDirectoryPlus(Request&);
  // Whether the node is open through passthrough: its attributes are asked for one by one.
  bool IsDirect(const Tree& tree, NodeId node) const;
  Answer ListPlain(Request&, const fuse_read_in& in, bool plus);
  void AddDots(Request&, DirectoryWriter& writer, uint64_t offset, bool plus) const;

  // ---- dispatch_xattrs.cc
  Answer GetXattr(Request&);
  Answer SetXattr(Request&);
  Answer ListXattrs(Request&);
  Answer RemoveXattr(Request&);

  // ---- dispatch_denied.cc
  // Before the request is answered.
  void NoteDenied(Request&, int code);

  // ---- dispatch_control.cc
  Answer Control(Request&);
  Answer Nothing(Request&);  // to be answered, and that is all

  Forest& forest_;
  InodeTable& inodes_;
  Invalidator& invalidator_;
  KnownNames* const names_;
  DirectFiles* const direct_;
  OpenFiles* const opens_;
  Listings listings_;
  const Capabilities capabilities_;
  const ControlHandler control_;
  const ProcessGroups groups_;
  const std::shared_ptr<std::atomic<bool>> mappings_written_ =
      std::make_shared<std::atomic<bool>>(false);

  // By thread, so that counting costs nothing.
  struct alignas(64) Counters {
    std::array<std::atomic<uint64_t>, kOpcodes> of{};
  };
  std::array<Counters, 8> counters_;
};

}  // namespace agentfs::fuse
