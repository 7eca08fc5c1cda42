// SPDX-License-Identifier: Apache-2.0
#include "tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string_view>

namespace agentfs::model {
namespace {

using posix::Entry;
using posix::ErrnoName;
using posix::Subject;
using posix::TimeChange;

constexpr size_t kBlock = 256 * 1024;

std::string Join(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

bool IsType(const Attr& attr, uint32_t type) { return (attr.mode & S_IFMT) == type; }

Result<std::vector<std::string>> SortedNames(Subject& subject, const std::string& path) {
  AGENTFS_ASSIGN(auto entries, subject.List(path));
  std::vector<std::string> names;
  for (Entry& entry : entries) names.push_back(std::move(entry.name));
  std::sort(names.begin(), names.end());
  return names;
}

// The xattrs that a test can have made; security modules add their own.
Result<std::map<std::string, std::string>> Xattrs(Subject& subject, const std::string& path) {
  AGENTFS_ASSIGN(auto names, subject.ListXattrs(path));
  std::map<std::string, std::string> xattrs;
  for (const std::string& name : names) {
    if (!name.starts_with("user.") && !name.starts_with("trusted.")) continue;
    AGENTFS_ASSIGN(xattrs[name], subject.GetXattr(path, name));
  }
  return xattrs;
}

std::string Octal(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "%o", value);
  return text;
}

std::string TimeText(const Timestamp& time) {
  return std::to_string(time.sec) + "." + std::to_string(time.nsec);
}

std::string Differ(const char* what, const std::string& expected, const std::string& actual) {
  return std::string(what) + ": expected " + expected + ", got " + actual;
}

// Compares two subjects below one root each.
class Comparison {
 public:
  Comparison(Subject& expected, Subject& actual, const ComparisonRules& rules)
      : expected_(expected), actual_(actual), rules_(rules) {}

  std::string Node(const std::string& path) {
    const std::string difference = NodeDifference(path);
    if (difference.empty() || difference.starts_with("at \"")) return difference;
    return "at \"" + path + "\": " + difference;
  }

 private:
  std::string NodeDifference(const std::string& path) {
    const auto expected = expected_.Stat(path);
    const auto actual = actual_.Stat(path);
    if (!expected.ok() || !actual.ok()) {
      return expected.code() == actual.code()
                 ? ""
                 : Differ("stat", ErrnoName(expected.code()), ErrnoName(actual.code()));
    }
    std::string difference = CompareAttributes(*expected, *actual, rules_);
    if (difference.empty()) difference = Links(path, *expected, *actual);
    if (difference.empty()) difference = XattrDifference(path);
    if (difference.empty() && IsType(*expected, S_IFLNK)) difference = Target(path);
    if (difference.empty() && IsType(*expected, S_IFREG)) difference = Content(path);
    if (difference.empty() && IsType(*expected, S_IFDIR)) difference = Children(path);
    return difference;
  }

  // Paths that are one node on one side must be one on the other.
  std::string Links(const std::string& path, const Attr& expected, const Attr& actual) {
    const auto [forward, new_forward] = actual_of_.emplace(expected.node.value, actual.node.value);
    const auto [back, new_back] = expected_of_.emplace(actual.node.value, expected.node.value);
    if (forward->second != actual.node.value || back->second != expected.node.value) {
      return "the link structure differs (" + path + ")";
    }
    return "";
  }

  std::string XattrDifference(const std::string& path) {
    const auto expected = Xattrs(expected_, path);
    const auto actual = Xattrs(actual_, path);
    if (!expected.ok() || !actual.ok()) {
      return expected.code() == actual.code()
                 ? ""
                 : Differ("xattrs", ErrnoName(expected.code()), ErrnoName(actual.code()));
    }
    if (*expected == *actual) return "";
    const auto text = [](const std::map<std::string, std::string>& xattrs) {
      std::string out = "{";
      for (const auto& [name, value] : xattrs) {
        out += name + "=" + value.substr(0, 8) + "(" + std::to_string(value.size()) + ") ";
      }
      return out + "}";
    };
    return Differ("xattrs", text(*expected), text(*actual));
  }

  std::string Target(const std::string& path) {
    const auto expected = expected_.ReadLink(path);
    const auto actual = actual_.ReadLink(path);
    if (expected.ok() && actual.ok() && *expected == *actual) return "";
    return Differ("link target", expected.ok() ? *expected : ErrnoName(expected.code()),
                  actual.ok() ? *actual : ErrnoName(actual.code()));
  }

  std::string Content(const std::string& path) {
    auto expected = expected_.Open(path, O_RDONLY);
    auto actual = actual_.Open(path, O_RDONLY);
    if (!expected.ok() || !actual.ok()) {
      return Differ("open", ErrnoName(expected.code()), ErrnoName(actual.code()));
    }
    for (uint64_t at = 0;; at += kBlock) {
      const auto a = (*expected)->Read(at, kBlock);
      const auto b = (*actual)->Read(at, kBlock);
      if (!a.ok() || !b.ok()) {
        return Differ("read", ErrnoName(a.code()),
                      ErrnoName(b.code()) + (b.ok() ? "" : " " + b.error().message()));
      }
      if (*a != *b) {
        const auto [x, y] = std::mismatch(a->begin(), a->end(), b->begin(), b->end());
        return "content differs from offset " + std::to_string(at + (x - a->begin()));
      }
      if (a->size() < kBlock) return "";
    }
  }

  std::string Children(const std::string& path) {
    const auto expected = SortedNames(expected_, path);
    const auto actual = SortedNames(actual_, path);
    if (!expected.ok() || !actual.ok()) {
      return Differ("list", ErrnoName(expected.code()), ErrnoName(actual.code()));
    }
    const auto text = [](const std::vector<std::string>& names) {
      std::string out;
      for (const std::string& name : names) out += name.substr(0, 10) + " ";
      return out;
    };
    if (*expected != *actual) return Differ("names", text(*expected), text(*actual));
    for (const std::string& name : *expected) {
      std::string difference = Node(Join(path, name));
      if (!difference.empty()) return difference;
    }
    return "";
  }

  Subject& expected_;
  Subject& actual_;
  const ComparisonRules& rules_;
  std::map<uint64_t, uint64_t> actual_of_;
  std::map<uint64_t, uint64_t> expected_of_;
};

// Copies one tree; knows the first path of each node with several links.
class Copy {
 public:
  Copy(Subject& from, Subject& to) : from_(from), to_(to) {}

  Result<void> Node(const std::string& path) {
    AGENTFS_ASSIGN(const Attr attr, from_.Stat(path));
    if (!path.empty()) {
      AGENTFS_ASSIGN(const bool linked, Make(path, attr));
      if (linked) return Ok();
    }
    if (IsType(attr, S_IFDIR)) {
      AGENTFS_ASSIGN(auto names, SortedNames(from_, path));
      for (const std::string& name : names) AGENTFS_TRY(Node(Join(path, name)));
    }
    return Finish(path, attr);
  }

 private:
  // Returns whether the path became a further link of a node that has been copied.
  Result<bool> Make(const std::string& path, const Attr& attr) {
    if (!IsType(attr, S_IFDIR) && attr.nlink > 1) {
      const auto [first, is_new] = copied_.emplace(attr.node.value, path);
      if (!is_new) {
        AGENTFS_TRY(to_.Link(first->second, path));
        return true;
      }
    }
    if (IsType(attr, S_IFDIR)) {
      AGENTFS_TRY(to_.MakeDirectory(path, 0700));
    } else if (IsType(attr, S_IFLNK)) {
      AGENTFS_ASSIGN(const std::string target, from_.ReadLink(path));
      AGENTFS_TRY(to_.MakeSymlink(target, path));
    } else if (IsType(attr, S_IFREG)) {
      AGENTFS_TRY(Content(path, attr.size));
    } else {
      AGENTFS_TRY(to_.MakeNode(path, attr.mode, attr.rdev));
    }
    return false;
  }

  Result<void> Content(const std::string& path, uint64_t size) {
    AGENTFS_ASSIGN(auto source, from_.Open(path, O_RDONLY));
    AGENTFS_ASSIGN(auto target, to_.Open(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
    AGENTFS_TRY(target->Truncate(size));
    for (uint64_t at = 0; at < size;) {
      const auto data = source->Seek(at, SeekTarget::kData);
      if (!data.ok() && data.code() == ENXIO) break;
      if (!data.ok()) return data.error();
      AGENTFS_ASSIGN(const std::string piece, source->Read(*data, kBlock));
      if (piece.empty()) break;
      AGENTFS_TRY(target->Write(*data, piece));
      at = *data + piece.size();
    }
    return Ok();
  }

  Result<void> Finish(const std::string& path, const Attr& attr) {
    AGENTFS_ASSIGN(auto xattrs, Xattrs(from_, path));
    for (const auto& [name, value] : xattrs) AGENTFS_TRY(to_.SetXattr(path, name, value));
    AGENTFS_ASSIGN(const Attr made, to_.Stat(path));
    if (made.uid != attr.uid || made.gid != attr.gid) {
      AGENTFS_TRY(to_.Chown(path, attr.uid, attr.gid));
    }
    if (!IsType(attr, S_IFLNK)) AGENTFS_TRY(to_.Chmod(path, attr.mode & 07777));
    return to_.SetTimes(path, TimeChange::Omit(), TimeChange::Set(attr.mtime.sec, attr.mtime.nsec));
  }

  Subject& from_;
  Subject& to_;
  std::map<uint64_t, std::string> copied_;
};

Result<void> ListBelow(Subject& subject, const std::string& directory,
                       std::vector<std::string>& paths) {
  AGENTFS_ASSIGN(auto entries, subject.List(directory));
  for (const Entry& entry : entries) {
    paths.push_back(Join(directory, entry.name));
    const std::string path = paths.back();
    AGENTFS_ASSIGN(const Attr attr, subject.Stat(path));
    if (IsType(attr, S_IFDIR)) AGENTFS_TRY(ListBelow(subject, path, paths));
  }
  return Ok();
}

}  // namespace

std::string CompareAttributes(const Attr& expected, const Attr& actual,
                              const ComparisonRules& rules) {
  const bool directory = IsType(expected, S_IFDIR);
  if (expected.mode != actual.mode) {
    return Differ("mode", Octal(expected.mode), Octal(actual.mode));
  }
  if (expected.uid != actual.uid || expected.gid != actual.gid) {
    return Differ("owner", std::to_string(expected.uid) + ":" + std::to_string(expected.gid),
                  std::to_string(actual.uid) + ":" + std::to_string(actual.gid));
  }
  if ((!directory || rules.directory_links) && expected.nlink != actual.nlink) {
    return Differ("nlink", std::to_string(expected.nlink), std::to_string(actual.nlink));
  }
  if (!directory && expected.size != actual.size) {
    return Differ("size", std::to_string(expected.size), std::to_string(actual.size));
  }
  if (expected.rdev != actual.rdev) {
    return Differ("rdev", std::to_string(expected.rdev), std::to_string(actual.rdev));
  }
  const auto by_clock = [&](const Timestamp& t) {
    return t.sec >= rules.clock_start && t.sec < rules.clock_start + 86400;
  };
  if (!(expected.mtime == actual.mtime) && !(by_clock(expected.mtime) && by_clock(actual.mtime))) {
    return Differ("mtime", TimeText(expected.mtime), TimeText(actual.mtime));
  }
  return "";
}

std::string CompareTrees(Subject& expected, Subject& actual, const ComparisonRules& rules) {
  return Comparison(expected, actual, rules).Node("");
}

Result<void> CopyTree(Subject& from, Subject& to) { return Copy(from, to).Node(""); }

Result<std::vector<std::string>> ListTree(Subject& subject) {
  std::vector<std::string> paths;
  AGENTFS_TRY(ListBelow(subject, "", paths));
  return paths;
}

}  // namespace agentfs::model
