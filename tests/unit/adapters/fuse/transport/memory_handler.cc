// SPDX-License-Identifier: Apache-2.0
#include "memory_handler.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace agentfs::fuse::test {
namespace {

std::string NameIn(const Exchange& exchange, size_t fixed) {
  const std::span<const char> payload = exchange.Payload(fixed);
  return std::string(payload.begin(), std::find(payload.begin(), payload.end(), '\0'));
}

}  // namespace

void MemoryHandler::Handle(Exchange& exchange) noexcept {
  const uint32_t opcode = exchange.header().opcode;
  counts_[opcode % counts_.size()].fetch_add(1);
  switch (opcode) {
    case FUSE_LOOKUP:
      return Lookup(exchange);
    case FUSE_FORGET:
      return Forget(exchange);
    case FUSE_BATCH_FORGET:
      return BatchForget(exchange);
    case FUSE_GETATTR:
      return GetAttr(exchange);
    case FUSE_SETATTR:
      return SetAttr(exchange);
    case FUSE_OPEN:
    case FUSE_OPENDIR:
      return OpenFile(exchange);
    case FUSE_READ:
      return Read(exchange);
    case FUSE_WRITE:
      return Write(exchange);
    case FUSE_CREATE:
      return Create(exchange);
    case FUSE_UNLINK:
      return Unlink(exchange);
    case FUSE_READDIR:
      return ReadDirectory(exchange, false);
    case FUSE_READDIRPLUS:
      return ReadDirectory(exchange, true);
    case FUSE_STATFS:
      return exchange.AnswerWith(fuse_statfs_out{});
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_FSYNC:
      return exchange.Answer(0);
    case FUSE_INTERRUPT:
      return exchange.NoAnswer();
    default:
      return exchange.Fail(ENOSYS);
  }
}

uint64_t MemoryHandler::Put(const std::string& name, std::string content) {
  absl::MutexLock lock(&mu_);
  return PutLocked(name, std::move(content)).node;
}

MemoryHandler::File& MemoryHandler::PutLocked(const std::string& name, std::string content) {
  File& file = files_[name];
  if (file.node == 0) file.node = next_node_++;
  file.content = std::move(content);
  return file;
}

void MemoryHandler::Remove(const std::string& name) {
  absl::MutexLock lock(&mu_);
  files_.erase(name);
}

std::string MemoryHandler::Content(const std::string& name) {
  absl::MutexLock lock(&mu_);
  return files_[name].content;
}

uint64_t MemoryHandler::NodeOf(const std::string& name) {
  absl::MutexLock lock(&mu_);
  return files_[name].node;
}

void MemoryHandler::Close(const std::string& name) {
  absl::MutexLock lock(&mu_);
  closed_ = files_[name].node;
}

void MemoryHandler::Open() {
  absl::MutexLock lock(&mu_);
  closed_ = 0;
}

void MemoryHandler::AwaitWaiting(int count) {
  absl::MutexLock lock(&mu_);
  const auto reached = [this, count]()
                           ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return waiting_ >= count; };
  mu_.Await(absl::Condition(&reached));
}

void MemoryHandler::WaitWhileClosed(uint64_t node) {
  if (closed_ != node) return;
  ++waiting_;
  const auto opened = [this, node]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return closed_ != node; };
  mu_.Await(absl::Condition(&opened));
  --waiting_;
}

MemoryHandler::File* MemoryHandler::FindNode(uint64_t node) {
  for (auto& [name, file] : files_) {
    if (file.node == node) return &file;
  }
  return nullptr;
}

fuse_attr MemoryHandler::AttributesOf(uint64_t node, const File* file) const {
  fuse_attr attributes{};
  attributes.ino = node;
  attributes.size = file == nullptr ? 0 : file->content.size();
  attributes.mode = file == nullptr ? (S_IFDIR | 0777) : (S_IFREG | 0666);
  attributes.nlink = file == nullptr ? 2 : 1;
  attributes.blksize = 4096;
  return attributes;
}

fuse_entry_out MemoryHandler::EntryOf(const File& file) const {
  fuse_entry_out entry{};
  entry.nodeid = file.node;
  entry.attr_valid = options_.valid_seconds;
  entry.entry_valid = options_.valid_seconds;
  entry.attr = AttributesOf(file.node, &file);
  return entry;
}

void MemoryHandler::Lookup(Exchange& exchange) {
  absl::MutexLock lock(&mu_);
  const auto found = files_.find(NameIn(exchange, 0));
  if (found == files_.end()) {
    fuse_entry_out none{};
    none.entry_valid = options_.valid_seconds;
    return exchange.AnswerWith(none);
  }
  remembered_.fetch_add(1);
  exchange.AnswerWith(EntryOf(found->second));
}

void MemoryHandler::Forget(Exchange& exchange) {
  remembered_.fetch_sub(static_cast<int64_t>(exchange.Arguments<fuse_forget_in>().nlookup));
  exchange.NoAnswer();
}

void MemoryHandler::BatchForget(Exchange& exchange) {
  const auto arguments = exchange.Arguments<fuse_batch_forget_in>();
  const std::span<const char> list = exchange.Payload(sizeof(arguments));
  for (size_t i = 0; i < arguments.count; ++i) {
    fuse_forget_one one;
    std::memcpy(&one, list.data() + i * sizeof(one), sizeof(one));
    remembered_.fetch_sub(static_cast<int64_t>(one.nlookup));
  }
  exchange.NoAnswer();
}

void MemoryHandler::GetAttr(Exchange& exchange) {
  absl::MutexLock lock(&mu_);
  const uint64_t node = exchange.header().nodeid;
  const File* file = FindNode(node);
  if (file == nullptr && node != FUSE_ROOT_ID) return exchange.Fail(ENOENT);
  fuse_attr_out out{};
  out.attr_valid = options_.valid_seconds;
  out.attr = AttributesOf(node, file);
  exchange.AnswerWith(out);
}

void MemoryHandler::SetAttr(Exchange& exchange) {
  const auto arguments = exchange.Arguments<fuse_setattr_in>();
  {
    absl::MutexLock lock(&mu_);
    File* file = FindNode(exchange.header().nodeid);
    if (file != nullptr && (arguments.valid & FATTR_SIZE) != 0) {
      file->content.resize(arguments.size);
    }
  }
  GetAttr(exchange);
}

void MemoryHandler::OpenFile(Exchange& exchange) {
  if (options_.opens == Opens::kNone) return exchange.Fail(ENOSYS);
  exchange.AnswerWith(fuse_open_out{});
}

void MemoryHandler::Read(Exchange& exchange) {
  const auto arguments = exchange.Arguments<fuse_read_in>();
  absl::MutexLock lock(&mu_);
  WaitWhileClosed(exchange.header().nodeid);
  const File* file = FindNode(exchange.header().nodeid);
  if (file == nullptr) return exchange.Fail(ESTALE);
  const size_t begin = std::min<size_t>(arguments.offset, file->content.size());
  const size_t size = file->content.copy(exchange.space().data(), arguments.size, begin);
  exchange.Answer(size);
}

void MemoryHandler::Write(Exchange& exchange) {
  const auto arguments = exchange.Arguments<fuse_write_in>();
  const std::span<const char> data = exchange.Payload(sizeof(arguments));
  absl::MutexLock lock(&mu_);
  File* file = FindNode(exchange.header().nodeid);
  if (file == nullptr) return exchange.Fail(ESTALE);
  if (file->content.size() < arguments.offset + data.size()) {
    file->content.resize(arguments.offset + data.size());
  }
  std::copy(data.begin(), data.end(),
            file->content.begin() + static_cast<int64_t>(arguments.offset));
  fuse_write_out out{};
  out.size = static_cast<uint32_t>(data.size());
  exchange.AnswerWith(out);
}

void MemoryHandler::Create(Exchange& exchange) {
  absl::MutexLock lock(&mu_);
  const File& file = PutLocked(NameIn(exchange, sizeof(fuse_create_in)), "");
  struct {
    fuse_entry_out entry;
    fuse_open_out open;
  } answer{EntryOf(file), {}};
  remembered_.fetch_add(1);
  exchange.AnswerWith(answer);
}

void MemoryHandler::Unlink(Exchange& exchange) {
  absl::MutexLock lock(&mu_);
  if (files_.erase(NameIn(exchange, 0)) == 0) return exchange.Fail(ENOENT);
  exchange.Answer(0);
}

void MemoryHandler::ReadDirectory(Exchange& exchange, bool plus) {
  const auto arguments = exchange.Arguments<fuse_read_in>();
  absl::MutexLock lock(&mu_);
  const size_t fixed = (plus ? sizeof(fuse_entry_out) : 0) + FUSE_NAME_OFFSET;
  size_t used = 0;
  uint64_t position = 0;
  for (const auto& [name, file] : files_) {
    if (position++ < arguments.offset) continue;
    const size_t size = FUSE_DIRENT_ALIGN(fixed + name.size());
    if (used + size > arguments.size) break;
    char* out = exchange.space().data() + used;
    std::memset(out, 0, size);
    if (plus) {
      const fuse_entry_out entry = EntryOf(file);
      std::memcpy(out, &entry, sizeof(entry));
      out += sizeof(entry);
      remembered_.fetch_add(1);
    }
    fuse_dirent dirent{};
    dirent.ino = file.node;
    dirent.off = position;
    dirent.namelen = static_cast<uint32_t>(name.size());
    dirent.type = DT_REG;
    std::memcpy(out, &dirent, FUSE_NAME_OFFSET);
    name.copy(out + FUSE_NAME_OFFSET, name.size());
    used += size;
  }
  exchange.Answer(used);
}

}  // namespace agentfs::fuse::test
