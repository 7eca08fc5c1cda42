// SPDX-License-Identifier: Apache-2.0
//
// How often the kernel asks: each message is a round trip of some microseconds.
#include <sys/sysmacros.h>
#include <filesystem>
#include <map>

#include "mount_test.h"

namespace agentfs::posix {
namespace {

class MessagesTest : public MountTest {
 protected:
  // The requests that `work` causes, without FORGETs, which nobody waits for: "LOOKUP 1, READ 1".
  template <typename Work>
  std::string Messages(const Work& work) {
    const auto before = Counts();
    work();
    std::string text;
    for (const auto& [operation, count] : Counts()) {
      if (operation == "FORGET" || operation == "BATCH_FORGET") continue;
      const auto known = before.find(operation);
      const uint64_t more = count - (known == before.end() ? 0 : known->second);
      if (more == 0) continue;
      text += (text.empty() ? "" : ", ") + operation + " " + std::to_string(more);
    }
    return text;
  }
  // The first requests of a connection find out what is not to be asked again.
  void WarmUp() {
    Write("warm", "x");
    EXPECT_EQ(Read("warm"), "x");
    Run("ls; rm warm");
  }

  std::map<std::string, uint64_t> Counts() {
    std::map<std::string, uint64_t> counts;
    for (const auto& [operation, count] : rig().mount().Stats().operations) {
      counts[std::string(operation)] = count;
    }
    return counts;
  }
};

TEST_F(MessagesTest, NoneForWhatIsKnown) {
  WriteHostFile(base("f"), "content");
  volume_options_.watch_base = true;
  Start(Base::kYes);
  WarmUp();
  Read("f");
  // A file of the listing was read: the listing is dropped, and with it the directory's attributes.
  rig().mount().FlushInvalidations();
  struct stat s {};
  EXPECT_EQ(::stat(path("f").c_str(), &s), 0);
  EXPECT_EQ(::stat(path("absent").c_str(), &s), -1);
  EXPECT_EQ(Messages([&] {
              EXPECT_EQ(Read("f"), "content");
              EXPECT_EQ(::stat(path("f").c_str(), &s), 0);
              EXPECT_EQ(::stat(path("absent").c_str(), &s), -1);
              EXPECT_EQ(::access(path("f").c_str(), R_OK | W_OK), 0);
            }),
            "");
}

TEST_F(MessagesTest, AListingIsAskedForOnce) {
  Start();
  WarmUp();
  Run("mkdir d; touch d/1 d/2 d/3; ls d; ls d");  // the second asks for the access time
  EXPECT_EQ(Messages([&] { EXPECT_EQ(Run("ls d"), "1\n2\n3\n"); }), "");
}

// A read makes the kernel ask for the attributes again: by a listing for all files together.
TEST_F(MessagesTest, FilesThatWereReadAreListedAgain) {
  Start();
  WarmUp();
  Run("mkdir d; for i in 1 2 3 4 5 6 7 8; do echo $i > d/$i; done");
  Remount();
  WarmUp();
  EXPECT_EQ(Run("cat d/*"), "1\n2\n3\n4\n5\n6\n7\n8\n");
  rig().mount().FlushInvalidations();
  struct stat s {};
  ::stat(path("d").c_str(), &s);
  const std::string messages = Messages([&] {
    for (const auto& file : std::filesystem::directory_iterator(path("d"))) {
      EXPECT_EQ(::stat(file.path().c_str(), &s), 0);
    }
  });
  EXPECT_NE(messages.find("READDIRPLUS"), std::string::npos) << messages;
  EXPECT_EQ(messages.find("GETATTR"), std::string::npos) << messages;
}

// What was looked up is left out of the listing's attributes: the kernel still has it.
TEST_F(MessagesTest, FilesThatWereLookedUpAreKnownAfterAListing) {
  std::filesystem::create_directory(base("d"));
  for (const char* name : {"d/1", "d/2", "d/3"}) WriteHostFile(base(name), "x");
  volume_options_.watch_base = true;
  Start(Base::kYes);
  WarmUp();
  Run("stat d/1 d/2 d/3; ls d");
  struct stat s {};
  EXPECT_EQ(Messages([&] {
              for (const char* name : {"d/1", "d/2", "d/3"}) {
                EXPECT_EQ(::stat(path(name).c_str(), &s), 0);
              }
            }),
            "");
}

// Where the directory itself is, is looked up each time.
TEST_F(MessagesTest, WhatIsFixedInTheControlDirectoryIsAskedForOnce) {
  Start();
  WarmUp();
  struct stat s {};
  const auto look = [&] { EXPECT_EQ(::stat(path(".agentfs/control").c_str(), &s), 0); };
  look();
  EXPECT_EQ(Messages(look), "LOOKUP 1");
}

TEST_F(MessagesTest, OpeningAndReadingAnUnknownFile) {
  Start();
  WarmUp();
  Run("mkdir d; echo content > d/f");
  Remount();
  WarmUp();
  struct stat s {};
  ::stat(path("d").c_str(), &s);
  EXPECT_EQ(Messages([&] { EXPECT_EQ(Read("d/f"), "content\n"); }), "LOOKUP 1, READ 1");
}

TEST_F(MessagesTest, MakingAndWritingAFile) {
  Start();
  WarmUp();
  // The kernel asks about the directory, which it believes changed by itself.
  if (rig().mount().capabilities().DirectWritesAreSeen()) {
    EXPECT_EQ(Messages([&] { Write("f", "content"); }), "CREATE 1, GETATTR 1, LOOKUP 1, WRITE 1");
  }
  // And, before a write into its cache, whether the file has capabilities that a write takes away.
  EXPECT_EQ(Messages([&] {
              const File file(path("g"), O_RDWR | O_CREAT);
              EXPECT_EQ(::write(file.fd(), "content", 7), 7);
            }),
            "CREATE 1, GETATTR 1, GETXATTR 1, LOOKUP 1, WRITE 1");
}

TEST_F(MessagesTest, WritingAKnownFileAgain) {
  Start();
  WarmUp();
  Write("f", "content");
  const File file(path("f"), O_WRONLY);
  EXPECT_EQ(::pwrite(file.fd(), "x", 1, 0), 1);  // asks whether the file has capabilities
  EXPECT_EQ(Messages([&] {
              for (int i = 0; i < 10; ++i) EXPECT_EQ(::pwrite(file.fd(), "x", 1, i), 1);
            }),
            "WRITE 10");
}

TEST_F(MessagesTest, RemovingAndRenaming) {
  Start();
  WarmUp();
  Run("touch a b; ls");
  struct stat s {};
  ::stat(path().c_str(), &s);
  EXPECT_EQ(Messages([&] { EXPECT_EQ(::unlink(path("a").c_str()), 0); }), "UNLINK 1");
  ::stat(path().c_str(), &s);
  EXPECT_EQ(Messages([&] { EXPECT_EQ(::rename(path("b").c_str(), path("c").c_str()), 0); }),
            "LOOKUP 1, RENAME 1");
}

// Of 128 KiB, which the kernel gives FUSE, these would be 32.
TEST_F(MessagesTest, FewToReadALargeFileInOrder) {
  WriteHostFile(base("large"), std::string(size_t{4} << 20, 'x'));
  Start(Base::kYes);
  struct stat at {};
  ASSERT_EQ(::stat(path().c_str(), &at), 0);
  const std::string setting =
      "/sys/class/bdi/0:" + std::to_string(minor(at.st_dev)) + "/read_ahead_kb";
  if (::access(setting.c_str(), W_OK) != 0) GTEST_SKIP() << setting << " cannot be written here";
  const uint64_t before = Counts()["READ"];
  EXPECT_EQ(ReadHostFile(path("large")).size(), size_t{4} << 20);
  EXPECT_LE(Counts()["READ"] - before, 20u);
}

}  // namespace
}  // namespace agentfs::posix
