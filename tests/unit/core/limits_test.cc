// SPDX-License-Identifier: Apache-2.0
//
// Limits: what goes over one fails with the right errno, and nothing is half-done.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_rig.h"

namespace agentfs {
namespace {

using posix::Pattern;

class LimitsTest : public CoreTest {
 protected:
  // `work` must fail with `code` and write no row, and leave all figures as they are.
  void ExpectRefused(int code, const std::function<int()>& work) {
    Flush();
    const VolumeStats before = Get(volume().GetStats());
    const ViewStats view_before = Get(volume().GetViewStats("main"));
    const uint64_t written = RowsWritten([&] { EXPECT_EQ(work(), code); });
    EXPECT_EQ(written, 0u);
    const VolumeStats after = Get(volume().GetStats());
    const ViewStats view_after = Get(volume().GetViewStats("main"));
    EXPECT_EQ(after.nodes, before.nodes);
    EXPECT_EQ(after.stored_bytes, before.stored_bytes);
    EXPECT_EQ(after.branches, before.branches);
    EXPECT_EQ(after.snapshots, before.snapshots);
    EXPECT_EQ(after.layers, before.layers);
    EXPECT_EQ(view_after.files, view_before.files);
    EXPECT_EQ(view_after.directories, view_before.directories);
    EXPECT_EQ(view_after.total_size, view_before.total_size);
  }
};

TEST_F(LimitsTest, TotalBytes) {
  for (const bool single_file : {false, true}) {
    options_.single_file = single_file;
    options_.limits.max_total_bytes = 1 << 20;
    Open();
    auto fs = Branch();
    Get(fs->WriteFile("a", Pattern(600'000)));
    Get(fs->WriteFile("small", "s"));
    auto a = Get(fs->Open("a", O_RDWR | O_APPEND));
    ExpectRefused(ENOSPC, [&] { return a->Append(Pattern(600'000)).code(); });
    EXPECT_EQ(Get(a->Stat()).size, 600'000u);
    auto small = Get(fs->Open("small", O_RDWR));
    ExpectRefused(ENOSPC, [&] { return small->Write(0, Pattern(600'000)).code(); });
    EXPECT_EQ(Get(fs->ReadFile("small")), "s");
    EXPECT_EQ(Get(fs->ReadFile("a")), Pattern(600'000));
    Get(a->Write(0, Pattern(500'000, 2)));  // in place: it needs no more room
    a.reset();
    Get(fs->Unlink("a"));
    Flush();
    Get(fs->WriteFile("b", Pattern(900'000)));
    EXPECT_LE(Get(volume().GetStats()).stored_bytes, 1u << 20);
    small.reset();
    ExpectClean();
    fs.reset();
    Close();
  }
}

TEST_F(LimitsTest, TotalBytesHoldForManySmallFiles) {
  options_.limits.max_total_bytes = 100'000;
  Open();
  auto fs = Branch();
  int made = 0;
  int code = 0;
  while (code == 0 && made < 1000) {
    const std::string name = std::to_string(made);
    auto file = Get(fs->Open(name, O_WRONLY | O_CREAT | O_EXCL));
    code = file->Write(0, Pattern(1000)).code();
    if (code == 0) ++made;
  }
  EXPECT_EQ(code, ENOSPC);
  EXPECT_EQ(made, 100);
  Flush();
  EXPECT_LE(Get(volume().GetStats()).stored_bytes, 100'000u);
}

TEST_F(LimitsTest, TotalBytesHoldForCopiesOfSnapshots) {
  options_.limits.max_total_bytes = 300'000;
  for (const bool single_file : {false, true}) {
    options_.single_file = single_file;
    Open();
    auto fs = Branch();
    Get(fs->WriteFile("f", Pattern(200'000)));
    Get(volume().CreateSnapshot("main", "snap", "", Durability::kNone));
    auto file = Get(fs->Open("f", O_WRONLY));
    EXPECT_EQ(file->Write(0, Pattern(200'000, 2)).code(), ENOSPC)
        << "the snapshot keeps the old bytes";
    EXPECT_EQ(Get(fs->ReadFile("f")), Pattern(200'000));
    EXPECT_EQ(Get(Snapshot("snap")->ReadFile("f")), Pattern(200'000));
    file.reset();
    fs.reset();
    Close();
  }
}

TEST_F(LimitsTest, FileBytes) {
  options_.limits.max_file_bytes = 100'000;
  Open();
  auto fs = Branch();
  Get(fs->WriteFile("f", Pattern(100'000)));
  auto file = Get(fs->Open("f", O_RDWR | O_APPEND));
  const Attr before = Get(file->Stat());
  ExpectRefused(EFBIG, [&] { return file->Append("x").code(); });
  ExpectRefused(EFBIG, [&] { return file->Write(99'999, "xx").code(); });
  ExpectRefused(EFBIG, [&] { return file->Truncate(100'001).code(); });
  ExpectRefused(EFBIG, [&] { return file->Allocate(AllocateMode::kAllocate, 0, 100'001).code(); });
  const Attr after = Get(file->Stat());
  EXPECT_TRUE(after.mtime == before.mtime);
  EXPECT_EQ(after.size, 100'000u);
  EXPECT_EQ(Get(fs->ReadFile("f")), Pattern(100'000));
  Get(file->Write(0, "xx"));
  Get(file->Truncate(50));
}

TEST_F(LimitsTest, FileBytesOfABaseFileThatIsLargerAlready) {
  BaseFile("big", Pattern(200'000));
  options_.limits.max_file_bytes = 100'000;
  OpenOverBase();
  auto fs = Branch();
  EXPECT_EQ(Get(fs->ReadFile("big")), Pattern(200'000));
  auto file = Get(fs->Open("big", O_RDWR | O_APPEND));
  EXPECT_EQ(file->Append("x").code(), EFBIG);
  Get(file->Write(10, "x"));
  Get(file->Truncate(150'000));
}

// While it lives, the process may have so many more files open than it has now.
class MoreDescriptors {
 public:
  explicit MoreDescriptors(rlim_t more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(STDIN_FILENO);
    ::close(next);
    const struct rlimit limit = {static_cast<rlim_t>(next) + more, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~MoreDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  struct rlimit before_;
};

TEST_F(LimitsTest, FewDescriptorsSufficeForManyBaseFiles) {
  for (uint32_t i = 0; i < 100; ++i) BaseFile(std::to_string(i), Pattern(1000, i));
  OpenOverBase();
  auto fs = Branch();
  const MoreDescriptors few(20);
  for (uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(Get(fs->ReadFile(std::to_string(i))), Pattern(1000, i));
  }
}

TEST_F(LimitsTest, Nodes) {
  options_.limits.max_nodes = 20;
  Open();
  auto fs = Branch();
  int made = 0;
  while (fs->MakeDirectory("d" + std::to_string(made)).ok()) ++made;
  EXPECT_EQ(made, 19) << "and the root";
  const Attr before = Get(fs->Stat(""));
  ExpectRefused(EDQUOT, [&] { return fs->Open("f", O_WRONLY | O_CREAT).code(); });
  ExpectRefused(EDQUOT, [&] { return fs->MakeDirectory("d").code(); });
  ExpectRefused(EDQUOT, [&] { return fs->MakeSymlink("x", "l").code(); });
  ExpectRefused(EDQUOT, [&] { return fs->MakeNode("p", S_IFIFO | 0600, 0).code(); });
  const Attr after = Get(fs->Stat(""));
  EXPECT_TRUE(after.mtime == before.mtime);
  EXPECT_EQ(after.nlink, before.nlink);
  EXPECT_EQ(Get(fs->List("")).size(), 19u);
  Get(fs->RemoveDirectory("d0"));
  Get(fs->WriteFile("f", "x"));
  Get(fs->Link("f", "g"));  // no new node
  ExpectClean();
}

TEST_F(LimitsTest, Branches) {
  options_.limits.max_branches = 3;
  Open();
  Get(Branch()->WriteFile("f", "x"));
  Get(volume().CreateBranch("a", "main"));
  Get(volume().CreateBranch("b", "main"));
  Get(Branch()->WriteFile("f", "y"));
  ExpectRefused(EDQUOT, [&] { return volume().CreateBranch("c", "main").code(); });
  Get(volume().DeleteBranch("a"));
  Get(volume().CreateBranch("c", "main"));
}

TEST_F(LimitsTest, Snapshots) {
  options_.limits.max_snapshots = 2;
  Open();
  const auto take = [&](const char* name) {
    return volume().CreateSnapshot("main", name, "", Durability::kNone).code();
  };
  Get(Branch()->WriteFile("f", "1"));
  EXPECT_EQ(take("a"), 0);
  Get(Branch()->WriteFile("f", "2"));
  EXPECT_EQ(take("b"), 0);
  Get(Branch()->WriteFile("f", "3"));
  ExpectRefused(EDQUOT, [&] { return take("c"); });
  Get(volume().DeleteSnapshot("a"));
  EXPECT_EQ(take("c"), 0);
}

TEST_F(LimitsTest, StatFsTellsTheLimit) {
  options_.limits.max_total_bytes = 10 << 20;
  Open();
  auto fs = Branch();
  const FsStats empty = Get(fs->StatFs());
  EXPECT_EQ(empty.blocks * empty.block_size, 10u << 20);
  Get(fs->WriteFile("f", Pattern(4 << 20)));
  const FsStats used = Get(fs->StatFs());
  EXPECT_EQ(used.blocks, empty.blocks);
  EXPECT_EQ((empty.blocks_free - used.blocks_free) * used.block_size, 4u << 20);
}

}  // namespace
}  // namespace agentfs
