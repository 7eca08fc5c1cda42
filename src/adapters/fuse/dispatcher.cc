// SPDX-License-Identifier: Apache-2.0
#include "adapters/fuse/dispatcher.h"

#include <algorithm>
#include <new>
#include <utility>

namespace agentfs::fuse {

Dispatcher::Dispatcher(Forest& forest, InodeTable& inodes, Invalidator& invalidator, Extras extras,
                       const Capabilities& capabilities, ControlHandler control)
    : forest_(forest),
      inodes_(inodes),
      invalidator_(invalidator),
      names_(extras.names),
      direct_(extras.direct),
      opens_(extras.opens),
      capabilities_(capabilities),
      control_(std::move(control)) {}

const std::array<Dispatcher::Operation, Dispatcher::kOpcodes>& Dispatcher::Operations() {
  using D = Dispatcher;
  static const auto table = [] {
    std::array<Operation, kOpcodes> t{};
    t[FUSE_LOOKUP] = {"LOOKUP", &D::Lookup};
    t[FUSE_FORGET] = {"FORGET"};
    t[FUSE_BATCH_FORGET] = {"BATCH_FORGET"};
    t[FUSE_INTERRUPT] = {"INTERRUPT"};
    t[FUSE_GETATTR] = {"GETATTR", &D::GetAttr};
    t[FUSE_SETATTR] = {"SETATTR", &D::SetAttr};
    t[kOpStatx] = {"STATX", &D::Statx};
    t[FUSE_READLINK] = {"READLINK", &D::ReadLink};
    t[FUSE_SYMLINK] = {"SYMLINK", &D::MakeSymlink};
    t[FUSE_MKNOD] = {"MKNOD", &D::MakeNode};
    t[FUSE_MKDIR] = {"MKDIR", &D::MakeDirectory};
    t[FUSE_UNLINK] = {"UNLINK", &D::Unlink};
    t[FUSE_RMDIR] = {"RMDIR", &D::RemoveDirectory};
    t[FUSE_RENAME] = {"RENAME", &D::Rename};
    t[FUSE_RENAME2] = {"RENAME2", &D::Rename2};
    t[FUSE_LINK] = {"LINK", &D::Link};
    t[FUSE_CREATE] = {"CREATE", &D::Create};
    t[FUSE_TMPFILE] = {"TMPFILE", &D::CreateUnnamed};
    t[FUSE_OPEN] = {"OPEN", &D::Open};
    t[FUSE_READ] = {"READ", &D::Read};
    t[FUSE_WRITE] = {"WRITE", &D::Write};
    t[FUSE_FLUSH] = {"FLUSH", &D::Flush};
    t[FUSE_RELEASE] = {"RELEASE", &D::Release};
    t[FUSE_FSYNC] = {"FSYNC", &D::Sync};
    t[FUSE_FALLOCATE] = {"FALLOCATE", &D::Allocate};
    t[FUSE_LSEEK] = {"LSEEK", &D::Seek};
    t[FUSE_COPY_FILE_RANGE] = {"COPY_FILE_RANGE", &D::CopyRange};
    t[kOpCopyFileRange64] = {"COPY_FILE_RANGE_64", &D::CopyRange64};
    t[FUSE_OPENDIR] = {"OPENDIR", &D::OpenDirectory};
    t[FUSE_READDIR] = {"READDIR", &D::ReadDirectory};
    t[FUSE_READDIRPLUS] = {"READDIRPLUS", &D::ReadDirectoryPlus};
    t[FUSE_RELEASEDIR] = {"RELEASEDIR", &D::Nothing};
    t[FUSE_FSYNCDIR] = {"FSYNCDIR", &D::Sync};
    t[FUSE_GETXATTR] = {"GETXATTR", &D::GetXattr};
    t[FUSE_SETXATTR] = {"SETXATTR", &D::SetXattr};
    t[FUSE_LISTXATTR] = {"LISTXATTR", &D::ListXattrs};
    t[FUSE_REMOVEXATTR] = {"REMOVEXATTR", &D::RemoveXattr};
    t[FUSE_STATFS] = {"STATFS", &D::StatFs};
    t[FUSE_SYNCFS] = {"SYNCFS", &D::SyncAll};
    t[FUSE_IOCTL] = {"IOCTL", &D::Control};
    t[FUSE_DESTROY] = {"DESTROY", &D::Nothing};
    t[FUSE_ACCESS] = {"ACCESS"};  // the kernel checks
    t[FUSE_POLL] = {"POLL"};      // files are always ready
    t[FUSE_BMAP] = {"BMAP"};      // there is no device beneath
    return t;
  }();
  return table;
}

// The kernel sends what follows from an answer after it has got the answer: whoever handles that
// sees what was done for it. ThreadSanitizer does not look into the kernel and is told so.
namespace {
#if defined(__SANITIZE_THREAD__)
std::atomic<uint64_t> answers{0};
void NoteReceived() { (void)answers.load(std::memory_order_acquire); }
void NoteAnswering() { answers.fetch_add(1, std::memory_order_acq_rel); }
#else
void NoteReceived() {}
void NoteAnswering() {}
#endif

// Whether the kernel takes the attributes of what it asked about for old afterwards: their times.
bool MakesOld(uint32_t opcode) {
  return opcode != FUSE_LOOKUP && opcode != FUSE_GETATTR && opcode != kOpStatx &&
         opcode != FUSE_GETXATTR;
}
}  // namespace

void Dispatcher::Handle(Exchange& exchange) noexcept {
  NoteReceived();
  Count(exchange.header().opcode);
  switch (exchange.header().opcode) {
    case FUSE_FORGET:
      return Forget(exchange);
    case FUSE_BATCH_FORGET:
      return BatchForget(exchange);
    case FUSE_INTERRUPT:  // nothing that we do can be interrupted
      return exchange.NoAnswer();
    default:
      return Run(exchange);
  }
}

void Dispatcher::Run(Exchange& exchange) {
  const uint32_t opcode = exchange.header().opcode;
  const Function function = opcode < kOpcodes ? Operations()[opcode].function : nullptr;
  if (function == nullptr) return exchange.Fail(ENOSYS);
  Inode* inode = inodes_.Get(opcode == FUSE_DESTROY ? kRootId : exchange.header().nodeid);
  if (inode == nullptr) return exchange.Fail(ESTALE);
  if (MakesOld(opcode)) inode->told.store(0, std::memory_order_relaxed);
  Request request{exchange, *inode};
  Answer answer = Error(EIO);
  try {
    answer = (this->*function)(request);
  } catch (const std::bad_alloc&) {
    answer = Error(ENOMEM);
  } catch (...) {  // a stray of a library's
  }
  NoteAnswering();
  if (answer.ok()) return exchange.Answer(*answer);
  try {
    NoteDenied(request, answer.code());
  } catch (...) {  // it is refused all the same
  }
  exchange.Fail(answer.code());
}

Caller Dispatcher::CallerOf(const Request& request) const {
  Caller caller;
  caller.uid = request.header().uid;
  caller.gid = request.header().gid;
  caller.pid = request.header().pid;
  caller.umask = 0;
  caller.checked = true;
  caller.origin = forest_.origin();
  caller.more_groups = &groups_;
  return caller;
}

void Dispatcher::Count(uint32_t opcode) {
  static std::atomic<size_t> threads{0};
  static thread_local const size_t mine = threads.fetch_add(1);
  if (opcode >= kOpcodes) return;
  counters_[mine % counters_.size()].of[opcode].fetch_add(1, std::memory_order_relaxed);
}

std::vector<OperationCount> Dispatcher::Counts() const {
  std::vector<OperationCount> counts;
  for (size_t opcode = 0; opcode < kOpcodes; ++opcode) {
    uint64_t sum = 0;
    for (const Counters& counters : counters_) sum += counters.of[opcode].load();
    const std::string_view name = Operations()[opcode].name;
    if (sum > 0) counts.push_back({name.empty() ? "other" : name, sum});
  }
  std::stable_sort(counts.begin(), counts.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  return counts;
}

}  // namespace agentfs::fuse
