// SPDX-License-Identifier: Apache-2.0
//
// The one file on the host that a command like `export` writes or `import` reads. The client opens
// it in place of its stdin, so that a server works on it through the client's descriptor, with the
// client's rights, and knows nothing of its name.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs::cli {

enum class FileUse : uint8_t { kNone, kRead, kWrite };

// From now on stdin is this file; "-": what it was. Of a SQLite database with a log beside it,
// stdin is a copy that has both.
Result<void> OpenCommandFile(const std::string& path);

// A file that appears under its name when it is whole. While it lives, stdin is that file, for
// writing; "-": stdout.
class NewCommandFile {
 public:
  // EISDIR; EINVAL: a terminal, which is no place for an archive; what opening it gives.
  static Result<NewCommandFile> Create(const std::string& path);

  // Puts it in place, synced, over what had its name. The value is its size, 0 for stdout.
  Result<uint64_t> Keep();

 private:
  // Removes itself, if it came to have a name before it was kept.
  struct Part {
    explicit Part(std::string path) : path(std::move(path)) {}
    Part(Part&& other) noexcept : path(std::exchange(other.path, {})) {}
    Part& operator=(Part&&) = delete;
    ~Part();
    std::string path;
  };
  NewCommandFile(std::string path, Part part, Fd file)
      : path_(std::move(path)), part_(std::move(part)), file_(std::move(file)) {}

  std::string path_;  // empty: stdout
  Part part_;         // empty: it has no name yet
  Fd file_;
};

}  // namespace agentfs::cli
