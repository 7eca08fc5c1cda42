// SPDX-License-Identifier: Apache-2.0
#include "cli/command_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "cli/spec/settled_copy.h"

namespace agentfs::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStandard = "-";

Error Failed(const std::string& what, const std::string& path) {
  return Error(errno).WithContext("cannot " + what + " " + path);
}

Result<void> PutInPlaceOfStdin(int fd, const std::string& path) {
  if (::dup2(fd, STDIN_FILENO) < 0) return Failed("use", path);
  return Ok();
}

// Nobody else's name: beside the file that it will replace.
std::string NameBeside(const std::string& path) {
  return path + "." + std::to_string(::getpid()) + ".part";
}

}  // namespace

Result<void> OpenCommandFile(const std::string& path) {
  if (path == kStandard) return Ok();
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return Failed("open", path);
  struct stat attributes;
  if (::fstat(file.get(), &attributes) != 0) return Failed("read", path);
  if (S_ISDIR(attributes.st_mode)) return Error(EISDIR).WithContext("cannot read " + path);
  AGENTFS_ASSIGN(const Fd settled, SettledCopy(path));
  return PutInPlaceOfStdin(settled ? settled.get() : file.get(), path);
}

NewCommandFile::Part::~Part() {
  if (!path.empty()) ::unlink(path.c_str());
}

Result<NewCommandFile> NewCommandFile::Create(const std::string& path) {
  if (path == kStandard) {
    if (::isatty(STDOUT_FILENO) == 1) {
      return Error(EINVAL, "stdout is a terminal", "name a file with -o, or redirect the output");
    }
    AGENTFS_TRY(PutInPlaceOfStdin(STDOUT_FILENO, path));
    return NewCommandFile({}, Part({}), Fd());
  }
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return Error(EISDIR).WithContext("cannot write " + path);
  const std::string directory = fs::path(path).parent_path();
  Fd file(
      ::open(directory.empty() ? "." : directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  Part part({});
  if (!file && (errno == EOPNOTSUPP || errno == EISDIR)) {
    file = Fd(::open(NameBeside(path).c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666));
    if (file) part.path = NameBeside(path);
  }
  if (!file) return Failed("write", path);
  AGENTFS_TRY(PutInPlaceOfStdin(file.get(), path));
  return NewCommandFile(path, std::move(part), std::move(file));
}

Result<uint64_t> NewCommandFile::Keep() {
  if (path_.empty()) return uint64_t{0};
  struct stat attributes;
  if (::fsync(file_.get()) != 0 || ::fstat(file_.get(), &attributes) != 0) {
    return Failed("write", path_);
  }
  if (part_.path.empty()) {
    const std::string name = NameBeside(path_);
    const std::string descriptor = "/proc/self/fd/" + std::to_string(file_.get());
    if (::linkat(AT_FDCWD, descriptor.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      return Failed("write", path_);
    }
    part_.path = name;
  }
  if (::rename(part_.path.c_str(), path_.c_str()) != 0) return Failed("replace", path_);
  part_.path.clear();
  return static_cast<uint64_t>(attributes.st_size);
}

}  // namespace agentfs::cli
