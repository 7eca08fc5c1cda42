// SPDX-License-Identifier: Apache-2.0
#include "tree_dump.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <map>

#include "core/files/tree_walker.h"

namespace agentfs::testing {
namespace {

// The bytes with everything but plain ASCII escaped.
std::string Printable(std::string_view bytes) {
  std::string text;
  for (char c : bytes) {
    bool plain = c > ' ' && c < 127 && c != '\\';
    text += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
  }
  return text;
}

std::string ContentOf(FileSystem& fs, const Found& found) {
  // The extents of data, and within them what is not zero: sparse files of any size are quick.
  std::string text;
  uint64_t at = 0;
  while (at < found.attr.size) {
    Result<uint64_t> data = fs.Seek(*found.node, at, SeekTarget::kData);
    if (!data.ok()) break;
    uint64_t end = fs.Seek(*found.node, *data, SeekTarget::kHole).value();
    std::string bytes(std::min<uint64_t>(end - *data, 1 << 20), '\0');
    size_t got = fs.Read(*found.node, *data, bytes).value();
    bytes.resize(got);
    size_t first = bytes.find_first_not_of('\0');
    if (first != std::string::npos) {
      size_t last = bytes.find_last_not_of('\0');
      std::string_view solid = std::string_view(bytes).substr(first, last - first + 1);
      text += fmt::format(" @{}+{}:{:x}", *data + first, solid.size(),
                          std::hash<std::string_view>{}(solid));
    }
    at = *data + std::max<size_t>(got, 1);
  }
  return text;
}

std::string XattrsOf(const Files& files, Node& node) {
  std::map<std::string, std::string> sorted;
  const std::vector<std::string> names = files.filesystem()->ListXattrs({}, node).value();
  for (const std::string& name : names) {
    sorted[name] = files.filesystem()->GetXattr({}, node, name).value();
  }
  std::string text;
  for (const auto& [name, value] : sorted) {
    text += fmt::format(" {}={}", Printable(name), Printable(value));
  }
  return text;
}

std::string Line(const Files& files, const TreeWalker& walker, DumpTimes times,
                 std::map<uint64_t, std::string>& first_names) {
  FileSystem& fs = *files.filesystem();
  Node& node = *walker.found().node;
  Attr attr = fs.GetAttr(node).value();
  std::string line =
      fmt::format("{} {:o} {}:{}", Printable(walker.path()), attr.mode, attr.uid, attr.gid);
  if (!S_ISDIR(attr.mode)) line += fmt::format(" n{} s{}", attr.nlink, uint64_t{attr.size});
  if (S_ISCHR(attr.mode) || S_ISBLK(attr.mode)) {
    line += fmt::format(" d{}:{}", major(attr.rdev), minor(attr.rdev));
  }
  if (S_ISLNK(attr.mode)) line += " ->" + Printable(fs.ReadLink({}, node).value());
  if (S_ISREG(attr.mode)) line += ContentOf(fs, walker.found());
  if (times == DumpTimes::kYes) {
    line += fmt::format(" m{}.{:09}", int64_t{attr.mtime.sec}, uint32_t{attr.mtime.nsec});
  }
  if (!S_ISDIR(attr.mode) && attr.nlink > 1) {
    auto [first, is_new] = first_names.emplace(node.id().value, walker.path());
    if (!is_new) line += " same-as:" + Printable(first->second);
  }
  return line + XattrsOf(files, node) + "\n";
}

}  // namespace

std::string Dump(const Files& files, std::string_view path, DumpTimes times) {
  Result<Found> start = files.Resolve(path);
  if (!start.ok()) return start.error().message();
  TreeWalker walker(*files.filesystem(), files.caller(), *start);
  std::map<uint64_t, std::string> first_names;
  std::string text;
  for (;;) {
    Result<TreeWalker::Event> event = walker.Next();
    if (!event.ok()) return text + event.error().message();
    if (*event == TreeWalker::Event::kEnd) return text;
    if (*event == TreeWalker::Event::kEnter) text += Line(files, walker, times, first_names);
  }
}

}  // namespace agentfs::testing
