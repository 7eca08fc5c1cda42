// SPDX-License-Identifier: Apache-2.0
//
// Files: streams over a file, with a buffer of 64 KiB.
#include <fcntl.h>
#include <sys/stat.h>

#include <streambuf>
#include <utility>

#include "agentfs/files.h"
#include "core/files/open_file.h"

namespace agentfs {
namespace {

constexpr size_t kBufferSize = 64 << 10;

class ReadBuffer : public std::streambuf {
 public:
  ReadBuffer(Files files, NodeRef node) : files_(std::move(files)), node_(std::move(node)) {}

  // The stream that learns of trouble: a streambuf alone can only say "end of file".
  void set_stream(std::ios* stream) { stream_ = stream; }

 protected:
  int_type underflow() override {
    if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
    return Fill() ? traits_type::to_int_type(*gptr()) : traits_type::eof();
  }

  pos_type seekoff(off_type offset, std::ios_base::seekdir from,
                   std::ios_base::openmode which) override {
    off_type start = 0;
    if (from == std::ios_base::cur) start = static_cast<off_type>(next_ - (egptr() - gptr()));
    if (from == std::ios_base::end) {
      Result<Attr> attr = files_.filesystem()->GetAttr(*node_);
      if (!attr.ok()) return pos_type(off_type(-1));
      start = static_cast<off_type>(attr->size);
    }
    off_type target = 0;
    if (__builtin_add_overflow(start, offset, &target)) return pos_type(off_type(-1));
    return seekpos(pos_type(target), which);
  }

  pos_type seekpos(pos_type position, std::ios_base::openmode which) override {
    off_type target = position;
    if (target < 0 || !(which & std::ios_base::in)) return pos_type(off_type(-1));
    next_ = static_cast<uint64_t>(target);
    setg(buffer_.get(), buffer_.get(), buffer_.get());
    return position;
  }

 private:
  bool Fill() {
    Result<size_t> got = files_.filesystem()->Read(*node_, next_, {buffer_.get(), kBufferSize});
    if (!got.ok()) {
      stream_->setstate(std::ios_base::badbit);
      return false;
    }
    next_ += *got;
    setg(buffer_.get(), buffer_.get(), buffer_.get() + *got);
    return *got != 0;
  }

  Files files_;  // before the node, which lives in its filesystem
  NodeRef node_;
  std::ios* stream_ = nullptr;
  uint64_t next_ = 0;  // the offset behind the buffer
  std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(kBufferSize);
};

enum class WriteAt : uint8_t { kPosition, kEnd };

class WriteBuffer : public std::streambuf {
 public:
  WriteBuffer(Files files, NodeRef node, WriteAt at)
      : files_(std::move(files)), node_(std::move(node)), at_(at) {
    setp(buffer_.get(), buffer_.get() + kBufferSize);
  }
  ~WriteBuffer() override { (void)Flush(); }

 protected:
  int_type overflow(int_type c) override {
    if (!Flush()) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }

  int sync() override { return Flush() ? 0 : -1; }

  // tellp() only; a writer does not seek.
  pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode) override {
    if (offset != 0 || from != std::ios_base::cur) return pos_type(off_type(-1));
    return pos_type(static_cast<off_type>(written_ + static_cast<uint64_t>(pptr() - pbase())));
  }

 private:
  // After a failure the bytes are gone and the file has no hole in their place: nothing more is
  // written.
  bool Flush() {
    std::span<const char> rest(pbase(), static_cast<size_t>(pptr() - pbase()));
    while (!rest.empty() && !failed_) {
      Result<size_t> done = WriteSome(rest);
      failed_ = !done.ok() || *done == 0;
      if (failed_) break;
      written_ += *done;
      rest = rest.subspan(*done);
    }
    setp(buffer_.get(), buffer_.get() + kBufferSize);
    return !failed_;
  }

  Result<size_t> WriteSome(std::span<const char> bytes) {
    FileSystem& fs = *files_.filesystem();
    if (at_ == WriteAt::kPosition) return fs.Write(files_.caller(), *node_, written_, bytes);
    AGENTFS_TRY(fs.Append(files_.caller(), *node_, bytes));
    return bytes.size();
  }

  Files files_;  // before the node, which lives in its filesystem
  NodeRef node_;
  const WriteAt at_;
  bool failed_ = false;
  uint64_t written_ = 0;
  std::unique_ptr<char[]> buffer_ = std::make_unique_for_overwrite<char[]>(kBufferSize);
};

// The buffer is a base class so that it exists before the stream and goes after it.
template <typename Buffer>
struct BufferHolder {
  template <typename... Args>
  explicit BufferHolder(Args&&... args) : buffer(std::forward<Args>(args)...) {}
  Buffer buffer;
};

class Reader : private BufferHolder<ReadBuffer>, public std::istream {
 public:
  Reader(Files files, NodeRef node)
      : BufferHolder(std::move(files), std::move(node)), std::istream(&buffer) {
    buffer.set_stream(this);
  }
};

class Writer : private BufferHolder<WriteBuffer>, public std::ostream {
 public:
  Writer(Files files, NodeRef node, WriteAt at)
      : BufferHolder(std::move(files), std::move(node), at), std::ostream(&buffer) {}
};

}  // namespace

Result<std::unique_ptr<std::istream>> Files::OpenReader(std::string_view path) const {
  AGENTFS_ASSIGN(Found file, Resolve(path));
  if (S_ISDIR(file.attr.mode)) return Error(EISDIR);
  if (!S_ISREG(file.attr.mode)) return Error(EINVAL);
  AGENTFS_TRY(fs_->Open(caller_, *file.node, O_RDONLY));
  return std::unique_ptr<std::istream>(std::make_unique<Reader>(*this, std::move(file.node)));
}

Result<std::unique_ptr<std::ostream>> Files::OpenWriter(std::string_view path) const {
  AGENTFS_ASSIGN(OpenedFile file, OpenForWriting(*fs_, caller_, path, O_TRUNC));
  return std::unique_ptr<std::ostream>(
      std::make_unique<Writer>(*this, std::move(file.place.found.node), WriteAt::kPosition));
}

Result<std::unique_ptr<std::ostream>> Files::OpenAppender(std::string_view path) const {
  AGENTFS_ASSIGN(OpenedFile file, OpenForWriting(*fs_, caller_, path, O_APPEND));
  return std::unique_ptr<std::ostream>(
      std::make_unique<Writer>(*this, std::move(file.place.found.node), WriteAt::kEnd));
}

}  // namespace agentfs
