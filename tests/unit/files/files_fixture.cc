// SPDX-License-Identifier: Apache-2.0
#include "files_fixture.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agentfs/stores.h"
#include "fake_fs.h"

namespace agentfs::testing {
Backend MakeBackend(BackendKind kind) {
  Backend backend;
  if (kind == BackendKind::kFake) {
    backend.fs = std::make_shared<FakeFs>();
    return backend;
  }
  auto store = OpenMemoryStore(VolumeSchema());
  backend.volume = Volume::Open(std::move(store).value(), nullptr, nullptr, {}).value();
  backend.fs = backend.volume->OpenBranch(kMainBranch).value();
  return backend;
}

std::string BackendName(const ::testing::TestParamInfo<BackendKind>& info) {
  return info.param == BackendKind::kFake ? "Fake" : "Volume";
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
