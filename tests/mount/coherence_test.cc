// SPDX-License-Identifier: Apache-2.0
//
// The kernel caches everything; what changes elsewhere must be seen all the same. Each test first
// lets the kernel learn the old state.
#include <sys/mman.h>

#include <future>

#include "agentfs/files.h"
#include "mount_test.h"
#include "vfs/forwarding_fs.h"

namespace agentfs::posix {
namespace {

class CoherenceTest : public MountTest {
 protected:
  // The same branch through the library.
  std::unique_ptr<Files> Library() {
    auto view = volume().OpenBranch("main");
    EXPECT_TRUE(view.ok());
    return std::make_unique<Files>(std::move(*view));
  }
  void Settle() { rig().mount().FlushInvalidations(); }
  uint32_t Mode(std::string_view name) {
    struct stat s {};
    EXPECT_EQ(::stat(path(name).c_str(), &s), 0);
    return s.st_mode & 07777;
  }
  // Waits for what has no end that could be waited for: the base's watcher.
  template <typename Condition>
  bool Becomes(const Condition& condition) {
    for (int i = 0; i < 500; ++i) {
      if (condition()) return true;
      ::usleep(10'000);
    }
    return false;
  }
};

TEST_F(CoherenceTest, WhoAppendsThroughDifferentMountsOverwritesNothing) {
  Start();
  if (rig().mount().options().profile == fuse::Profile::kBulk) {
    GTEST_SKIP() << "what one mount passes through, the other cannot append to";
  }
  const auto other = MountAgain("other");
  const File here(path("log"), O_WRONLY | O_CREAT | O_APPEND);
  const File there(other->path() + "/log", O_WRONLY | O_APPEND);
  std::string wanted;
  for (int i = 0; i < 20; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    ASSERT_TRUE((i % 3 == 0 ? here : there).WriteAll(line));
    wanted += line;
  }
  Settle();
  other->mount().FlushInvalidations();
  EXPECT_EQ(Read("log"), wanted);
  EXPECT_EQ(ReadHostFile(other->path() + "/log"), wanted);
}

TEST_F(CoherenceTest, ChangesThroughTheLibraryAreSeen) {
  Start();
  Run("mkdir d; echo old > d/f; echo x > d/gone; ls d; cat d/f; stat d/f d/gone d/new; true");
  auto library = Library();
  ASSERT_TRUE(library->WriteBytes("/d/f", "new and longer").ok());
  ASSERT_TRUE(library->WriteBytes("/d/new", "made").ok());
  ASSERT_TRUE(library->Delete("/d/gone").ok());
  ASSERT_TRUE(library->SetMode("/d/f", 0600).ok());
  Settle();
  EXPECT_EQ(Read("d/f"), "new and longer");
  EXPECT_EQ(Read("d/new"), "made");
  EXPECT_FALSE(Exists("d/gone"));
  EXPECT_EQ(Mode("d/f"), 0600u);
  EXPECT_EQ(Run("ls d"), "f\nnew\n");
}

TEST_F(CoherenceTest, OpenFilesAndMappingsFollow) {
  Start();
  Write("f", std::string(5000, 'a'));
  const File file(path("f"), O_RDONLY);
  void* at = ::mmap(nullptr, 5000, PROT_READ, MAP_SHARED, file.fd(), 0);
  ASSERT_NE(at, MAP_FAILED);
  const auto* bytes = static_cast<const volatile char*>(at);
  EXPECT_EQ(bytes[4999], 'a');
  ASSERT_TRUE(Library()->WriteBytes("/f", std::string(5000, 'b')).ok());
  Settle();
  EXPECT_EQ(file.ReadAll(), std::string(5000, 'b'));
  EXPECT_EQ(bytes[4999], 'b');
  ::munmap(at, 5000);
}

// Its first READ is answered when it is let go, with what the file had before.
class HeldRead final : public ForwardingFs {
 public:
  using ForwardingFs::ForwardingFs;
  Result<size_t> Read(Node& node, uint64_t offset, std::span<char> out) override {
    auto count = ForwardingFs::Read(node, offset, out);
    if (first_.exchange(false)) {
      has_read_.set_value();
      let_go_.get_future().wait();
    }
    return count;
  }
  void AwaitRead() { has_read_.get_future().wait(); }
  void LetGo() { let_go_.set_value(); }

 private:
  std::atomic<bool> first_{true};
  std::promise<void> has_read_, let_go_;
};

// The kernel drops pages when they have arrived, and has heard by then that they are out of date.
TEST_F(CoherenceTest, WhatAReadUnderWayBringsFromBeforeAChangeIsDropped) {
  Start();
  ASSERT_TRUE(Library()->WriteBytes("/f", std::string(5000, 'a')).ok());
  Unmount();
  const auto held = std::make_shared<HeldRead>(volume().OpenBranch("main").value());
  fuse::ServeOptions options;
  options.mount_point = path();
  const auto mount =
      fuse::Mount::Start({held, "main", &volume(), nullptr, nullptr, nullptr}, options);
  ASSERT_TRUE(mount.ok()) << mount.error().message();
  const File file(path("f"), O_RDONLY);
  auto reader = std::async(std::launch::async, [&] { return file.ReadAll(); });
  held->AwaitRead();
  auto library = Library();
  EXPECT_TRUE(library->WriteBytes("/f", std::string(5000, 'b')).ok());
  EXPECT_TRUE(library->SetMode("/f", 0600).ok());
  // It drops the attributes before it waits for the pages.
  EXPECT_TRUE(Becomes([&] { return Mode("f") == 0600; }));
  held->LetGo();
  reader.wait();
  (*mount)->FlushInvalidations();
  EXPECT_EQ(file.ReadAll(), std::string(5000, 'b'));
}

TEST_F(CoherenceTest, TwoMountsOfOneBranchAgree) {
  Start();
  const auto other = MountAgain("other");
  const auto settle = [&] {
    Settle();
    other->mount().FlushInvalidations();
  };
  Run("mkdir d; echo one > d/f");
  settle();
  EXPECT_EQ(Shell(other->path(), "cat d/f; ls d").output, "one\nf\n");
  Shell(other->path(), "echo two > d/f; mv d e; touch e/g");
  settle();
  EXPECT_EQ(Run("cat e/f; ls e; ls"), "two\nf\ng\ne\n");
  Run("rm e/f; echo again > e/f");
  settle();
  EXPECT_EQ(Shell(other->path(), "cat e/f").output, "again\n");
}

TEST_F(CoherenceTest, ARestoreIsSeenAtOnce) {
  Start();
  Run("mkdir d; echo then > d/f; echo x > d/gone");
  ASSERT_TRUE(volume().CreateSnapshot("main", "s", "", Durability::kNone).ok());
  Run("echo now, and longer > d/f; rm d/gone; echo y > d/new; mkdir e; ls -lR; stat d/gone; true");
  ASSERT_TRUE(volume().Restore("main", "s").ok());
  Settle();
  EXPECT_EQ(Run("cat d/f d/gone; ls; ls d"), "then\nx\nd\nf\ngone\n");
  EXPECT_FALSE(Exists("d/new"));
  EXPECT_FALSE(Exists("e"));
}

TEST_F(CoherenceTest, EditsOfTheBaseAreSeen) {
  volume_options_.watch_base = true;
  volume_options_.read_ahead = true;
  ASSERT_EQ(::mkdir(base("d").c_str(), 0755), 0);
  WriteHostFile(base("d/f"), "old");
  WriteHostFile(base("d/mine"), "base");
  Start(Base::kYes);
  Run("cat d/f; echo branch > d/mine; ls d; stat d/new; true");
  WriteHostFile(base("d/f"), "edited, and longer");
  WriteHostFile(base("d/new"), "made");
  WriteHostFile(base("d/mine"), "base, edited");
  EXPECT_TRUE(Becomes([&] { return Read("d/f") == "edited, and longer"; })) << Read("d/f");
  EXPECT_TRUE(Becomes([&] { return Read("d/new") == "made"; })) << Read("d/new");
  EXPECT_TRUE(Becomes([&] { return Run("ls d") == "f\nmine\nnew\n"; })) << Run("ls d");
  EXPECT_EQ(Read("d/mine"), "branch\n");
}

TEST_F(CoherenceTest, UnwatchedBasesAreAskedAgainSoon) {
  WriteHostFile(base("f"), "old");
  Start(Base::kYes);
  EXPECT_EQ(Read("f"), "old");
  WriteHostFile(base("f"), "edited, and longer");
  EXPECT_TRUE(Becomes([&] { return Read("f") == "edited, and longer"; })) << Read("f");
}

TEST_F(CoherenceTest, WhatTheKernelForgetsIsForgotten) {
  Start();
  Run("mkdir d; for i in $(seq 500); do echo $i > d/$i; done");
  EXPECT_GT(rig().mount().Stats().inodes, 500u);
  Run("rm -r d");
  EXPECT_TRUE(Becomes([&] { return rig().mount().Stats().inodes == 0; }))
      << rig().mount().Stats().inodes;
}

// Every answer that tells of a node is one that the kernel takes, whatever becomes of who asked.
TEST_F(CoherenceTest, WhatWasAskedByProcessesThatWereKilledIsForgottenToo) {
  WriteHostFile(base("b"), "of the base");
  Start(Base::kYes);
  Write(
      "make.sh",
      "d=$$; mkdir $d; while :; do for i in 1 2 3 4; do echo $i > $d/$i; ln $d/$i $d/l$i; ln -s b "
      "$d/s$i; mkfifo $d/p$i; mv $d/$i $d/m$i; cat b $d/none; done; ls -lR . | wc -l; find . "
      "-newer b; rm -f $d/*; done > /dev/null 2>&1");
  Run("for i in $(seq 12); do for j in 1 2 3 4; do timeout -s KILL 0.0$((i % 9 + 1)) sh make.sh & "
      "done; wait; done; true");
  Run("find . -mindepth 1 -delete");
  EXPECT_TRUE(Becomes([&] { return rig().mount().Stats().inodes == 0; }))
      << rig().mount().Stats().inodes;
}

TEST_F(CoherenceTest, AnUnlinkedFileLivesWhileItIsOpen) {
  WriteHostFile(base("b"), "of the base");
  Start(Base::kYes);
  Write("f", "content");
  const File f(path("f"), O_RDWR), b(path("b"), O_RDWR);
  Run("rm f b");
  EXPECT_EQ(f.ReadAll(), "content");
  EXPECT_EQ(b.ReadAll(), "of the base");
  ASSERT_EQ(::pwrite(b.fd(), "ON", 2, 0), 2);
  EXPECT_EQ(b.ReadAll(), "ON the base");
  struct stat s {};
  ASSERT_EQ(::fstat(b.fd(), &s), 0);
  EXPECT_EQ(s.st_nlink, 0u);
}

}  // namespace
}  // namespace agentfs::posix
