// SPDX-License-Identifier: Apache-2.0
//
// Patches, with git as the judge: what it makes of a copy of the base must be the branch.
#include "workspace/patch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "core_rig.h"
#include "random_changes.h"
#include "workspace/git_quote.h"

namespace agentfs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// "100644 content" or "120000 target" by path; directories are not git's.
using Tree = std::map<std::string, std::string>;

class PatchTest : public CoreTest {
 protected:
  std::string Patch(std::string_view from = "base", std::string_view to = "main") {
    const Views views = Get(OpenViews(volume(), from, to));
    std::string text;
    PatchWriter writer(*views.before, *views.after, [&](PatchLine, std::string_view piece) {
      text += piece;
      return Ok();
    });
    for (const PathChange& change : Get(FindChanges(volume(), from, to))) Get(writer.Write(change));
    return text;
  }

  Tree HostTree(const std::string& root) {
    Tree tree;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const std::string path = entry.path().lexically_relative(root);
      if (entry.is_symlink()) {
        tree[path] = "120000 " + fs::read_symlink(entry.path()).string();
      } else if (entry.is_regular_file()) {
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string content(std::istreambuf_iterator<char>(in), {});
        struct stat st;
        EXPECT_EQ(::stat(entry.path().c_str(), &st), 0);
        tree[path] = ((st.st_mode & S_IXUSR) != 0 ? "100755 " : "100644 ") + content;
      }
    }
    return tree;
  }

  Tree BranchTree(const std::string& directory = "") {
    Tree tree;
    auto branch = Branch();
    for (const posix::Entry& entry : Get(branch->List(directory))) {
      const std::string path = directory.empty() ? entry.name : directory + "/" + entry.name;
      const Attr attr = Get(branch->Stat(path));
      if (S_ISDIR(attr.mode)) {
        tree.merge(BranchTree(path));
      } else if (S_ISLNK(attr.mode)) {
        tree[path] = "120000 " + Get(branch->ReadLink(path));
      } else {
        tree[path] =
            ((attr.mode & S_IXUSR) != 0 ? "100755 " : "100644 ") + Get(branch->ReadFile(path));
      }
    }
    return tree;
  }

  // A copy of the base, with the branch's patch applied by git.
  Tree Applied() {
    const std::string copy = state() + "/copy", patch = state() + "/patch";
    fs::remove_all(copy);
    fs::copy(base(""), copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const std::string text = Patch();
    std::ofstream(patch, std::ios::binary) << text;
    if (!text.empty()) {
      const std::string command = "cd '" + copy +
                                  "' && GIT_DIR=/nonexistent git apply --whitespace=nowarn '" +
                                  patch + "' 2>&1";
      EXPECT_EQ(std::system(command.c_str()), 0) << text.substr(0, 4000);
    }
    return HostTree(copy);
  }
};

TEST(GitQuoteTest, QuotesOnlyWhatALineCannotCarry) {
  EXPECT_EQ(GitQuote("/a b/ü.txt"), "/a b/ü.txt");
  EXPECT_EQ(GitQuote("/a\tb"), "\"/a\\tb\"");
  EXPECT_EQ(GitQuote("/a\"b\\c\n"), "\"/a\\\"b\\\\c\\n\"");
  EXPECT_EQ(GitQuote("/\xff\x01"), "\"/\\377\\001\"");
  EXPECT_EQ(GitQuote("/\xc3"), "\"/\\303\"");
}

TEST_F(PatchTest, SaysEveryKindOfChange) {
  BaseFile("edited", "one\ntwo\nthree\n");
  BaseFile("no newline", "one\ntwo");
  BaseFile("deleted", "gone\n");
  BaseFile("empty and deleted", "");
  BaseFile("renamed", "the same\n");
  BaseFile("renamed and edited", "a\nb\nc\nd\n");
  BaseFile("mode", "#!/bin/sh\n");
  BaseFile("becomes a link", "file\n");
  BaseFile("binary", std::string("\0\1\2", 3) + posix::Pattern(5000));
  BaseFile("a\tb\"c\\d\n\xc3\xa9\xff", "odd name\n");
  ASSERT_EQ(::symlink("edited", base("link").c_str()), 0);
  ASSERT_EQ(::symlink("edited", base("link becomes a file").c_str()), 0);
  OpenOverBase();
  auto branch = Branch();
  Get(branch->WriteFile("edited", "one\n2\nthree\nfour\n"));
  Get(branch->WriteFile("no newline", "one\ntwo\nthree"));
  Get(branch->Unlink("deleted"));
  Get(branch->Unlink("empty and deleted"));
  Get(branch->Rename("renamed", "renamed to"));
  Get(branch->Rename("renamed and edited", "other\"name"));
  Get(branch->WriteFile("other\"name", "a\nb\nc\nD\n"));
  Get(branch->Chmod("mode", 0755));
  Get(branch->Unlink("becomes a link"));
  Get(branch->MakeSymlink("edited", "becomes a link"));
  Get(branch->Unlink("link"));
  Get(branch->MakeSymlink("mode", "link"));
  Get(branch->Unlink("link becomes a file"));
  Get(branch->WriteFile("link becomes a file", "x\n"));
  Get(branch->WriteFile("binary", std::string("\0\1", 2) + posix::Pattern(70000, 2)));
  Get(branch->WriteFile("new binary", std::string(300, '\0')));
  Get(branch->WriteFile("new empty", ""));
  Get(branch->WriteFile("new script", "#!/bin/sh\n", 0777));
  Get(branch->WriteFile("a\tb\"c\\d\n\xc3\xa9\xff", "odd name, edited\n"));
  Get(branch->MakeDirectory("dir with space"));
  Get(branch->WriteFile("dir with space/new\nline", "y"));
  EXPECT_EQ(Applied(), BranchTree());
  EXPECT_THAT(Patch(), HasSubstr("rename from renamed\nrename to renamed to\n"));
}

TEST_F(PatchTest, AFileBecomesADirectoryAndBack) {
  BaseFile("f", "file\n");
  BaseDirectory("d");
  BaseFile("d/x", "x\n");
  OpenOverBase();
  auto branch = Branch();
  Get(branch->Unlink("f"));
  Get(branch->MakeDirectory("f"));
  Get(branch->WriteFile("f/inner", "i\n"));
  Get(branch->Unlink("d/x"));
  Get(branch->RemoveDirectory("d"));
  Get(branch->WriteFile("d", "file now\n"));
  EXPECT_EQ(Applied(), BranchTree());
}

TEST_F(PatchTest, WhatWasOnlyTouchedIsNotInIt) {
  BaseFile("f", "same\n");
  OpenOverBase();
  auto branch = Branch();
  Get(branch->WriteFile("f", "other"));
  Get(branch->WriteFile("f", "same\n"));
  Get(branch->SetTimes("f", posix::TimeChange::Set(1), posix::TimeChange::Set(2)));
  EXPECT_EQ(Patch(), "");
}

TEST_F(PatchTest, LeavesOutWhatGitRefuses) {
  BaseDirectory(".git");
  BaseFile(".git/config", "x");
  OpenOverBase();
  auto branch = Branch();
  Get(branch->WriteFile(".git/config", "y"));
  Get(branch->MakeNode("pipe", S_IFIFO | 0600, 0));
  Get(branch->MakeDirectory("empty"));
  EXPECT_EQ(Patch(), "");
}

TEST_F(PatchTest, ASparseGiganticFileTakesLittleMemoryAndTime) {
  OpenOverBase();
  auto branch = Branch();
  auto file = Get(branch->Open("huge", O_CREAT | O_RDWR));
  Get(file->Truncate(uint64_t{1} << 28));
  Get(file->Write((uint64_t{1} << 28) - 4, "end\n"));
  const std::string patch = Patch();
  EXPECT_THAT(patch, HasSubstr("literal 268435456\n"));
  EXPECT_LT(patch.size(), size_t{4} << 20);
}

TEST_F(PatchTest, CountsLines) {
  BaseFile("f", "1\n2\n3\n");
  BaseFile("b", std::string("\0", 1));
  OpenOverBase();
  auto branch = Branch();
  Get(branch->WriteFile("f", "1\n2\nx\ny"));
  Get(branch->WriteFile("b", std::string("\0\0", 2)));
  const Views views = Get(OpenViews(volume(), "base", "main"));
  const auto changes = Get(FindChanges(volume(), "base", "main"));
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_TRUE(Get(CountLines(*views.before, *views.after, changes[0])).binary);
  const LineCounts counts = Get(CountLines(*views.before, *views.after, changes[1]));
  EXPECT_EQ(counts.added, 2u);
  EXPECT_EQ(counts.removed, 1u);
}

// ---- at random

TEST_F(PatchTest, RandomChangesGiveTheBranchThroughGit) {
  OpenOverBase();
  const auto seed = static_cast<uint32_t>(std::random_device()());
  SCOPED_TRACE("seed " + std::to_string(seed));
  // The first changes make a base: git, too, has made it by a patch.
  for (uint32_t round = 0; round < 12; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    {
      auto branch = Branch();
      RandomChanges(*branch, seed + round, RandomChanges::Links::kElsewhere).Make(60);
    }
    const Tree wanted = BranchTree();
    ASSERT_EQ(Applied(), wanted);
    Get(volume().Restore("main", "base"));
    fs::remove_all(base(""));
    fs::rename(state() + "/copy", base(""));
    Close();
    OpenOverBase();
  }
}

}  // namespace
}  // namespace agentfs
