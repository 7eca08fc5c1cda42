// SPDX-License-Identifier: Apache-2.0
#include "files_fixture.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <map>

#include "agentfs/stores.h"
#include "core/files/tree_walker.h"
#include "fake_fs.h"

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

Backend MakeBackend(BackendKind kind) {
  Backend backend;
  if (kind == BackendKind::kFake) {
    backend.fs = std::make_shared<FakeFs>();
    return backend;
  }
#ifndef FAKE_ONLY
  auto store = OpenMemoryStore(VolumeSchema());
  backend.volume = Volume::Open(std::move(store).value(), nullptr, nullptr, {}).value();
  backend.fs = backend.volume->OpenBranch(kMainBranch).value();
#endif
  return backend;
}

std::string BackendName(const ::testing::TestParamInfo<BackendKind>& info) {
  return info.param == BackendKind::kFake ? "Fake" : "Volume";
}

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

void MakeVariedTree(const Files& files, const std::string& path) {
  FileSystem& fs = *files.filesystem();
  const Caller& caller = files.caller();
  auto at = [&](std::string_view name) { return path + "/" + std::string(name); };
  EXPECT_OK(files.CreateDirectories(at("sub/deeper/deepest")));
  EXPECT_OK(files.CreateDirectory(at("empty"), 0700));
  EXPECT_OK(files.WriteBytes(at("plain"), "some text\n"));
  EXPECT_OK(files.WriteBytes(at("nothing"), ""));
  EXPECT_OK(files.WriteBytes(at("sub/large"), std::string(700'000, 'x') + "end"));
  EXPECT_OK(files.CreateHardLink(at("plain"), at("sub/plain-too")));
  EXPECT_OK(files.CreateSymlink(at("absolute"), "/sub/large"));
  EXPECT_OK(files.CreateSymlink(at("sub/dangling"), "../no/such \xff"));
  EXPECT_OK(files.CreateSymlink(at("long-target"), std::string(3000, 't')));
  EXPECT_OK(files.WriteBytes(at("bytes \xff\xfe\x80 name"), "b"));
  EXPECT_OK(files.WriteBytes(at("e\xcc\x81 decomposed"), "nfd"));
  EXPECT_OK(files.WriteBytes(at("\xc3\xa9 composed"), "nfc"));
  EXPECT_OK(files.WriteBytes(at(std::string(255, 'n')), "longest name"));
  EXPECT_OK(files.SetMode(at("plain"), 04751));
  EXPECT_OK(files.SetMode(at("sub"), 01777));
  EXPECT_OK(files.SetTimes(at("nothing"), {-2, 500'000'000}, {-1, 999'999'999}));
  EXPECT_OK(files.SetTimes(at("sub/large"), {5, 1}, {1'700'000'000, 123'456'789}));

  NodeRef root = files.Resolve(path).value().node;
  EXPECT_OK(fs.MakeNode(caller, *root, "fifo", S_IFIFO | 0640, 0));
  EXPECT_OK(fs.MakeNode(caller, *root, "socket", S_IFSOCK | 0600, 0));
  EXPECT_OK(fs.MakeNode(caller, *root, "character", S_IFCHR | 0600, makedev(1, 300)));
  EXPECT_OK(fs.MakeNode(caller, *root, "block", S_IFBLK | 0600, makedev(259, 70000)));
  EXPECT_OK(fs.Create(caller, *root, "back\\slash", 0644));

  auto file = [&](std::string_view name) { return fs.Create(caller, *root, name, 0644).value(); };
  auto resize = [&](const Found& found, uint64_t size) {
    AttrChange change;
    change.size = size;
    EXPECT_OK(fs.SetAttr(caller, *found.node, change));
  };
  resize(file("all-hole"), uint64_t{1} << 33);
  Found holes = file("holes");
  EXPECT_OK(fs.Write(caller, *holes.node, uint64_t{3} << 20, std::string_view("first")));
  EXPECT_OK(fs.Write(caller, *holes.node, uint64_t{5} << 30, std::string_view("second")));
  resize(holes, uint64_t{6} << 30);
  Found no_tail = file("hole-before");
  EXPECT_OK(fs.Write(caller, *no_tail.node, uint64_t{8} << 20, std::string_view("tail")));

  AttrChange owner;
  owner.uid = 4'000'000'000;
  owner.gid = 70'000;
  EXPECT_OK(fs.SetAttr(caller, *file("owned").node, owner));

  Node& plain = *files.Resolve(at("plain")).value().node;
  EXPECT_OK(
      fs.SetXattr(caller, plain, "user.note", std::string_view("a\0b\n=c", 6), XattrMode::kSet));
  EXPECT_OK(fs.SetXattr(caller, plain, "user.empty", "", XattrMode::kSet));
  EXPECT_OK(fs.SetXattr(caller, plain, "user.k=v%3D%", "odd", XattrMode::kSet));
  EXPECT_OK(fs.SetXattr(caller, *root, "user.root", std::string(200, '\xfe'), XattrMode::kSet));
  EXPECT_OK(files.SetMode(path, 0750));
  EXPECT_OK(files.SetTimes(path, {7, 7}, {8, 8}));
}

}  // namespace agentfs::testing
