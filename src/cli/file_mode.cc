// SPDX-License-Identifier: Apache-2.0
#include "cli/file_mode.h"

#include <sys/stat.h>

#include <algorithm>

namespace agentfs::cli {
namespace {

// One clause of a symbolic mode: who, then operations.
class Clause {
 public:
  Clause(std::string_view text, uint32_t mode, uint32_t umask)
      : rest_(text), mode_(mode), umask_(umask) {}

  // The new permission bits, or false.
  bool Apply() {
    ReadWho();
    if (rest_.empty()) return false;
    while (!rest_.empty()) {
      const char operation = Next();
      if (operation != '+' && operation != '-' && operation != '=') return false;
      Change(operation, ReadPermissions());
    }
    return ok_;
  }
  uint32_t mode() const { return mode_; }

 private:
  char Next() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  void ReadWho() {
    for (; !rest_.empty(); rest_.remove_prefix(1)) {
      switch (rest_.front()) {
        case 'u':
          who_ |= 04700;
          break;
        case 'g':
          who_ |= 02070;
          break;
        case 'o':
          who_ |= 01007;
          break;
        case 'a':
          who_ |= 07777;
          break;
        default:
          return;
      }
    }
  }

  // The bits that the letters name, for everybody.
  uint32_t ReadPermissions() {
    uint32_t bits = 0;
    while (!rest_.empty() && std::string_view("+-=").find(rest_.front()) == rest_.npos) {
      switch (Next()) {
        case 'r':
          bits |= 0444;
          break;
        case 'w':
          bits |= 0222;
          break;
        case 'x':
          bits |= 0111;
          break;
        case 'X':
          bits |= S_ISDIR(mode_) || (mode_ & 0111) ? 0111 : 0;
          break;
        case 's':
          bits |= 06000;
          break;
        case 't':
          bits |= 01000;
          break;
        case 'u':
          bits |= (mode_ >> 6 & 7) * 0111;
          break;
        case 'g':
          bits |= (mode_ >> 3 & 7) * 0111;
          break;
        case 'o':
          bits |= (mode_ & 7) * 0111;
          break;
        default:
          ok_ = false;
      }
    }
    return bits;
  }

  void Change(char operation, uint32_t bits) {
    const uint32_t who = who_ != 0 ? who_ : 07777 & ~umask_;
    bits &= who | (who_ == 0 ? 01000 : 0);
    if (operation == '+') mode_ |= bits;
    if (operation == '-') mode_ &= ~bits;
    if (operation == '=') {
      // A directory's setgid bit is only taken away by name.
      const uint32_t kept = S_ISDIR(mode_) ? 06000 : 0;
      mode_ = (mode_ & ~((who_ != 0 ? who_ : 07777) & ~kept)) | bits;
    }
  }

  std::string_view rest_;
  uint32_t mode_;
  const uint32_t umask_;
  uint32_t who_ = 0;
  bool ok_ = true;
};

bool IsOctal(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '7'; });
}

}  // namespace

std::string_view TypeName(uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "file";
    case S_IFDIR:
      return "directory";
    case S_IFLNK:
      return "symlink";
    case S_IFIFO:
      return "fifo";
    case S_IFSOCK:
      return "socket";
    case S_IFBLK:
      return "block";
    case S_IFCHR:
      return "character";
    default:
      return "unknown";
  }
}

std::string ModeString(uint32_t mode) {
  std::string out = "?rwxrwxrwx";
  switch (mode & S_IFMT) {
    case S_IFREG:
      out[0] = '-';
      break;
    case S_IFDIR:
      out[0] = 'd';
      break;
    case S_IFLNK:
      out[0] = 'l';
      break;
    case S_IFIFO:
      out[0] = 'p';
      break;
    case S_IFSOCK:
      out[0] = 's';
      break;
    case S_IFBLK:
      out[0] = 'b';
      break;
    case S_IFCHR:
      out[0] = 'c';
      break;
  }
  for (size_t i = 0; i < 9; ++i) {
    if (!(mode & (0400u >> i))) out[i + 1] = '-';
  }
  if (mode & S_ISUID) out[3] = mode & 0100 ? 's' : 'S';
  if (mode & S_ISGID) out[6] = mode & 0010 ? 's' : 'S';
  if (mode & S_ISVTX) out[9] = mode & 0001 ? 't' : 'T';
  return out;
}

Result<uint32_t> ChangeMode(std::string_view text, uint32_t mode, uint32_t umask) {
  const Error invalid(EINVAL, "mode " + std::string(text) + ": neither octal nor like u+x,go-w");
  if (IsOctal(text)) {
    const auto value = static_cast<uint32_t>(std::stoul(std::string(text), nullptr, 8));
    if (value > 07777) return invalid;
    return value;
  }
  for (;;) {
    const size_t comma = std::min(text.find(','), text.size());
    Clause clause(text.substr(0, comma), mode, umask);
    if (!clause.Apply()) return invalid;
    mode = clause.mode();
    if (comma == text.size()) return mode & 07777;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace agentfs::cli
