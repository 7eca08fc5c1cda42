// SPDX-License-Identifier: Apache-2.0
#include "posix_test.h"

namespace agentfs::posix {
namespace {

class RenameTest : public PosixTest {
 protected:
  // A thing of each kind that a name can stand for.
  void MakeThing(const std::string& kind, const std::string& path) {
    if (kind == "file") Value(setup().WriteFile(path, "file " + path));
    if (kind == "link") Value(setup().MakeSymlink("nowhere", path));
    if (kind == "fifo") Value(setup().MakeNode(path, S_IFIFO | 0644, 0));
    if (kind == "empty" || kind == "full") Value(setup().MakeDirectory(path));
    if (kind == "full") Value(setup().WriteFile(path + "/inside", "inside " + path));
  }
};
AGENTFS_FOR_ALL_SUBJECTS(RenameTest);

bool IsDirectoryKind(const std::string& kind) { return kind == "empty" || kind == "full"; }

// What rename(2) says of each pair.
std::string ExpectedReplace(const std::string& from, const std::string& to) {
  if (to == "none") return "0";
  if (IsDirectoryKind(from) && !IsDirectoryKind(to)) return "ENOTDIR";
  if (!IsDirectoryKind(from) && IsDirectoryKind(to)) return "EISDIR";
  return to == "full" ? "ENOTEMPTY" : "0";
}

const std::vector<std::string>& Kinds() {
  static const std::vector<std::string> kinds = {"file", "link", "fifo", "empty", "full"};
  return kinds;
}

TEST_P(RenameTest, EveryPairOfTypes) {
  std::vector<std::string> targets = Kinds();
  targets.push_back("none");
  for (const std::string& from : Kinds()) {
    for (const std::string& to : targets) {
      const std::string pair = from + "-" + to;
      Value(setup().MakeDirectory(pair));
      MakeThing(from, pair + "/a");
      MakeThing(to, pair + "/b");
    }
  }
  for (const std::string& from : Kinds()) {
    for (const std::string& to : targets) {
      const std::string pair = from + "-" + to;
      const uint64_t node = Stat(pair + "/a").node.value;
      const std::string expected = ExpectedReplace(from, to);
      EXPECT_EQ(ErrnoName(fs().Rename(pair + "/a", pair + "/b").code()), expected) << pair;
      if (expected == "0") {
        EXPECT_EQ(Stat(pair + "/b").node.value, node) << pair;
        EXPECT_EQ(Names(pair), std::vector<std::string>{"b"}) << pair;
      } else {
        EXPECT_EQ(Stat(pair + "/a").node.value, node) << pair;
        EXPECT_THAT(Names(pair), testing::ElementsAre("a", "b"));
      }
      if (expected == "0" && from == "full") {
        EXPECT_EQ(Content(pair + "/b/inside"), "inside " + pair + "/a");
      }
    }
  }
}

TEST_P(RenameTest, NoReplaceOfEveryType) {
  MakeThing("file", "a");
  for (const std::string& kind : Kinds()) MakeThing(kind, "to-" + kind);
  for (const std::string& kind : Kinds()) {
    EXPECT_ERRNO(fs().Rename("a", "to-" + kind, RenameMode::kNoReplace), EEXIST) << kind;
  }
  EXPECT_ERRNO(fs().Rename("a", "a", RenameMode::kNoReplace), EEXIST);
  EXPECT_ERRNO(fs().Rename("missing", "to-file", RenameMode::kNoReplace), ENOENT);
  EXPECT_OK(fs().Rename("a", "new", RenameMode::kNoReplace));
  EXPECT_EQ(Content("new"), "file a");
}

TEST_P(RenameTest, ExchangeOfEveryPair) {
  for (const std::string& from : Kinds()) {
    for (const std::string& to : Kinds()) {
      const std::string pair = from + "-" + to;
      Value(setup().MakeDirectory(pair));
      Value(setup().MakeDirectory(pair + "/x"));
      Value(setup().MakeDirectory(pair + "/y"));
      MakeThing(from, pair + "/x/a");
      MakeThing(to, pair + "/y/b");
    }
  }
  for (const std::string& from : Kinds()) {
    for (const std::string& to : Kinds()) {
      const std::string pair = from + "-" + to;
      const uint64_t a = Stat(pair + "/x/a").node.value;
      const uint64_t b = Stat(pair + "/y/b").node.value;
      const bool counts = Stat(pair).nlink != 1;
      EXPECT_OK(fs().Rename(pair + "/x/a", pair + "/y/b", RenameMode::kExchange)) << pair;
      EXPECT_EQ(Stat(pair + "/x/a").node.value, b) << pair;
      EXPECT_EQ(Stat(pair + "/y/b").node.value, a) << pair;
      if (from == "full") {
        EXPECT_EQ(Content(pair + "/y/b/inside"), "inside " + pair + "/x/a");
      }
      if (counts) {
        EXPECT_EQ(Stat(pair + "/x").nlink, IsDirectoryKind(to) ? 3u : 2u) << pair;
        EXPECT_EQ(Stat(pair + "/y").nlink, IsDirectoryKind(from) ? 3u : 2u) << pair;
      }
    }
  }
}

TEST_P(RenameTest, ExchangeNeedsBoth) {
  Value(setup().WriteFile("a", ""));
  EXPECT_ERRNO(fs().Rename("a", "missing", RenameMode::kExchange), ENOENT);
  EXPECT_ERRNO(fs().Rename("missing", "a", RenameMode::kExchange), ENOENT);
  EXPECT_OK(fs().Rename("a", "a", RenameMode::kExchange));
}

TEST_P(RenameTest, IntoItsOwnSubtreeIsInvalid) {
  Value(setup().MakeDirectory("d"));
  Value(setup().MakeDirectory("d/e"));
  Value(setup().MakeDirectory("d/e/f"));
  EXPECT_ERRNO(fs().Rename("d", "d/x"), EINVAL);
  EXPECT_ERRNO(fs().Rename("d", "d/e/f/x"), EINVAL);
  EXPECT_ERRNO(fs().Rename("d", "d/e/f"), EINVAL);
  EXPECT_ERRNO(fs().Rename("d", "d/e", RenameMode::kExchange), EINVAL);
  EXPECT_ERRNO(fs().Rename("d/e", "d", RenameMode::kExchange), EINVAL);
  EXPECT_ERRNO(fs().Rename("d/e/f", "d"), ENOTEMPTY);
  EXPECT_ERRNO(fs().Rename("d/e", "d"), ENOTEMPTY);
  EXPECT_EQ(Names("d/e"), std::vector<std::string>{"f"});
}

TEST_P(RenameTest, OntoItselfDoesNothing) {
  Value(setup().WriteFile("f", "x"));
  Value(setup().Link("f", "g"));
  Value(setup().MakeDirectory("d"));
  EXPECT_OK(fs().Rename("f", "f"));
  EXPECT_OK(fs().Rename("d", "d"));
  // Two links of one file: both stay.
  EXPECT_OK(fs().Rename("f", "g"));
  EXPECT_THAT(Names(""), testing::ElementsAre("d", "f", "g"));
  EXPECT_EQ(Stat("f").nlink, 2u);
}

TEST_P(RenameTest, Errors) {
  Value(setup().WriteFile("f", ""));
  Value(setup().MakeDirectory("d"));
  const std::string longer(256, 'n');
  EXPECT_ERRNO(fs().Rename("missing", "x"), ENOENT);
  EXPECT_ERRNO(fs().Rename("missing", "f"), ENOENT);
  EXPECT_ERRNO(fs().Rename("f", "missing/x"), ENOENT);
  EXPECT_ERRNO(fs().Rename("f", "f/x"), ENOTDIR);
  EXPECT_ERRNO(fs().Rename("f/x", "y"), ENOTDIR);
  EXPECT_ERRNO(fs().Rename("f", longer), ENAMETOOLONG);
  EXPECT_ERRNO(fs().Rename(longer, "f"), ENAMETOOLONG);
  EXPECT_THAT(Names(""), testing::ElementsAre("d", "f"));
}

TEST_P(RenameTest, ReplacingTakesALinkFromTheOther) {
  Value(setup().WriteFile("a", "a"));
  Value(setup().WriteFile("b", "b"));
  Value(setup().Link("b", "b2"));
  EXPECT_OK(fs().Rename("a", "b"));
  EXPECT_EQ(Content("b"), "a");
  EXPECT_EQ(Content("b2"), "b");
  EXPECT_EQ(Stat("b2").nlink, 1u);
  EXPECT_EQ(Stat("b").nlink, 1u);
}

TEST_P(RenameTest, DirectoriesTakeTheirContentAlong) {
  Value(setup().MakeDirectory("d"));
  Value(setup().MakeDirectory("d/sub"));
  Value(setup().MakeDirectory("target"));
  for (int i = 0; i < 30; ++i) {
    Value(setup().WriteFile("d/sub/f" + std::to_string(i), std::to_string(i)));
  }
  const uint64_t node = Stat("d/sub/f7").node.value;
  EXPECT_OK(fs().Rename("d/sub", "target/moved"));
  EXPECT_EQ(Names("target/moved").size(), 30u);
  EXPECT_EQ(Content("target/moved/f7"), "7");
  EXPECT_EQ(Stat("target/moved/f7").node.value, node);
  EXPECT_ERRNO(fs().Stat("d/sub"), ENOENT);
  EXPECT_ERRNO(fs().Stat("d/sub/f7"), ENOENT);
  // What changes now shows at the new place only.
  Value(fs().WriteFile("target/moved/f7", "changed"));
  EXPECT_OK(fs().MakeDirectory("d/sub"));
  EXPECT_TRUE(Names("d/sub").empty());
  EXPECT_EQ(Content("target/moved/f7"), "changed");
  EXPECT_OK(fs().Rename("target/moved", "back"));
  EXPECT_EQ(Content("back/f7"), "changed");
  EXPECT_EQ(Content("back/f8"), "8");
}

TEST_P(RenameTest, ParentOfAMovedDirectory) {
  Value(setup().MakeDirectory("a"));
  Value(setup().MakeDirectory("b"));
  Value(setup().MakeDirectory("a/d"));
  Value(setup().WriteFile("b/marker", ""));
  EXPECT_OK(fs().Rename("a/d", "b/d"));
  EXPECT_OK(fs().Stat("b/d/../marker"));
  if (Stat("a").nlink != 1) {
    EXPECT_EQ(Stat("a").nlink, 2u);
    EXPECT_EQ(Stat("b").nlink, 3u);
  }
}

TEST_P(RenameTest, ReplacedDirectoryGivesBackItsLink) {
  Value(setup().MakeDirectory("a"));
  Value(setup().MakeDirectory("b"));
  Value(setup().MakeDirectory("a/d"));
  Value(setup().MakeDirectory("b/d"));
  if (native() && Stat("a").nlink == 1) GTEST_SKIP() << "this filesystem does not count";
  EXPECT_OK(fs().Rename("a/d", "b/d"));
  EXPECT_EQ(Stat("a").nlink, 2u);
  EXPECT_EQ(Stat("b").nlink, 3u);
}

TEST_P(RenameTest, NeedsBothDirectoriesWritable) {
  NEEDS_OTHERS();
  for (const char* name : {"mine", "others"}) {
    Value(setup().MakeDirectory(name));
    Value(setup().WriteFile(std::string(name) + "/f", ""));
    Value(setup().WriteFile(std::string(name) + "/g", ""));
  }
  Value(setup().Chown("mine", kAlice.uid, kAlice.gid));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().Rename("others/f", "mine/x"), EACCES);
  EXPECT_ERRNO(fs().Rename("mine/f", "others/x"), EACCES);
  EXPECT_ERRNO(fs().Rename("mine/f", "others/g"), EACCES);
  EXPECT_ERRNO(fs().Rename("others/f", "others/g"), EACCES);
  EXPECT_ERRNO(fs().Rename("others/missing", "mine/x"), ENOENT);
  EXPECT_ERRNO(fs().Rename("mine/f", "others/f", RenameMode::kExchange), EACCES);
  EXPECT_OK(fs().Rename("mine/f", "mine/g"));
}

TEST_P(RenameTest, ADirectoryThatChangesItsParentMustBeWritable) {
  NEEDS_OTHERS();
  for (const char* name : {"a", "b"}) {
    Value(setup().MakeDirectory(name));
    Value(setup().Chmod(name, 0777));
  }
  Value(setup().MakeDirectory("a/d"));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().Rename("a/d", "b/d"), EACCES);
  EXPECT_OK(fs().Rename("a/d", "a/e"));
}

TEST_P(RenameTest, StickyDirectories) {
  NEEDS_OTHERS();
  Value(setup().MakeDirectory("t"));
  Value(setup().Chmod("t", 01777));
  for (const char* name : {"t/alice", "t/bob", "t/root"}) Value(setup().WriteFile(name, ""));
  Value(setup().Chown("t/alice", kAlice.uid, kAlice.gid));
  Value(setup().Chown("t/bob", kBob.uid, kBob.gid));
  As as(fs(), kAlice);
  EXPECT_ERRNO(fs().Rename("t/bob", "t/x"), EPERM);
  EXPECT_ERRNO(fs().Rename("t/alice", "t/bob"), EPERM);
  EXPECT_ERRNO(fs().Rename("t/alice", "t/root", RenameMode::kExchange), EPERM);
  EXPECT_OK(fs().Rename("t/alice", "t/x"));
}

TEST_P(RenameTest, TouchesBothDirectoriesAndTheNodesCtime) {
  for (const char* name : {"a", "b", "a/d"}) Value(setup().MakeDirectory(name));
  Value(setup().WriteFile("a/f", ""));
  Value(setup().WriteFile("b/old", ""));
  Value(setup().Link("b/old", "kept"));
  Attr a = Stat("a"), b = Stat("b");
  const Attr f = Stat("a/f"), kept = Stat("kept");
  Tick();
  EXPECT_OK(fs().Rename("a/f", "b/old"));
  ExpectTouched(a, Stat("a"), kBoth, "a");
  ExpectTouched(b, Stat("b"), kBoth, "b");
  ExpectTouched(f, Stat("b/old"), kCtime, "f");
  ExpectTouched(kept, Stat("kept"), kCtime, "the replaced file");
  a = Stat("a"), b = Stat("b");
  const Attr d = Stat("a/d");
  Tick();
  EXPECT_OK(fs().Rename("a/d", "b/d"));
  ExpectTouched(a, Stat("a"), kBoth, "a");
  ExpectTouched(b, Stat("b"), kBoth, "b");
  EXPECT_LT(d.ctime, Stat("b/d").ctime);
}

TEST_P(RenameTest, ExchangeTouches) {
  for (const char* name : {"a", "b"}) Value(setup().MakeDirectory(name));
  Value(setup().WriteFile("a/f", ""));
  Value(setup().WriteFile("b/g", ""));
  const Attr a = Stat("a"), b = Stat("b"), f = Stat("a/f"), g = Stat("b/g");
  Tick();
  EXPECT_OK(fs().Rename("a/f", "b/g", RenameMode::kExchange));
  ExpectTouched(a, Stat("a"), kBoth, "a");
  ExpectTouched(b, Stat("b"), kBoth, "b");
  ExpectTouched(f, Stat("b/g"), kCtime, "f");
  ExpectTouched(g, Stat("a/f"), kCtime, "g");
}

TEST_P(RenameTest, WhiteoutTakesTheOldName) {
  for (const char* name : {"a", "b"}) Value(setup().MakeDirectory(name));
  Value(setup().MakeDirectory("a/d"));
  Value(setup().WriteFile("a/f", "f"));
  Value(setup().WriteFile("b/g", "g"));
  const auto first = fs().Rename("a/f", "b/g", RenameMode::kWhiteout);
  if (native() && first.code() == EINVAL) GTEST_SKIP() << "this directory has no whiteouts";
  Value(first);
  EXPECT_EQ(Content("b/g"), "f");
  const auto expect_whiteout = [&](const char* path) {
    const Attr attr = Stat(path);
    EXPECT_EQ(attr.mode, uint32_t{S_IFCHR}) << path;
    EXPECT_EQ(attr.rdev, 0u) << path;
    EXPECT_EQ(attr.nlink, 1u) << path;
    EXPECT_EQ(attr.uid, fs().identity().uid) << path;
  };
  expect_whiteout("a/f");
  EXPECT_OK(fs().Rename("a/d", "b/d", RenameMode::kNoReplaceWhiteout));
  expect_whiteout("a/d");
  EXPECT_EQ(Stat("a").nlink, 2u);
  EXPECT_EQ(Stat("b").nlink, 3u);
  EXPECT_EQ(Names("a"), (std::vector<std::string>{"d", "f"}));
  EXPECT_OK(fs().Unlink("a/d"));
  EXPECT_OK(fs().MakeDirectory("a/d"));
  EXPECT_ERRNO(fs().Rename("b/g", "b/d", RenameMode::kNoReplaceWhiteout), EEXIST);
  EXPECT_ERRNO(fs().Rename("b/g", "b/d", RenameMode::kWhiteout), EISDIR);
  EXPECT_ERRNO(fs().Rename("b/x", "b/y", RenameMode::kWhiteout), ENOENT);
  EXPECT_EQ(Content("b/g"), "f");
}

TEST_P(RenameTest, WhiteoutOfOneFilesOtherNameDoesNothing) {
  Value(setup().WriteFile("a", "a"));
  Value(setup().Link("a", "b"));
  const auto done = fs().Rename("a", "b", RenameMode::kWhiteout);
  if (native() && done.code() == EINVAL) GTEST_SKIP() << "this directory has no whiteouts";
  Value(done);
  EXPECT_EQ(Stat("a").nlink, 2u);
}

TEST_P(RenameTest, ChainsOfRenames) {
  Value(setup().MakeDirectory("d0"));
  Value(setup().WriteFile("d0/f", "content"));
  for (int i = 0; i < 20; ++i) {
    EXPECT_OK(fs().Rename("d" + std::to_string(i), "d" + std::to_string(i + 1)));
    if (i % 3 == 0) {
      EXPECT_OK(fs().MakeDirectory("d" + std::to_string(i)));
    }
  }
  EXPECT_EQ(Content("d20/f"), "content");
  for (int i = 0; i < 20; i += 3) EXPECT_TRUE(Names("d" + std::to_string(i)).empty());
}

}  // namespace
}  // namespace agentfs::posix
