// SPDX-License-Identifier: Apache-2.0
//
// A volume over a base whose changes are applied.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "core_rig.h"
#include "workspace/apply.h"

namespace agentfs {

// All that there is to know of a tree of the host, but for inode numbers and ctimes.
using Tree = std::map<std::string, std::string>;

inline Tree Dump(const std::string& root) {
  Tree tree;
  auto add = [&](const std::filesystem::path& path) {
    struct stat st;
    ASSERT_EQ(::lstat(path.c_str(), &st), 0);
    std::string text = std::to_string(st.st_mode) + " " + std::to_string(st.st_nlink) + " " +
                       std::to_string(st.st_mtim.tv_sec) + "." + std::to_string(st.st_mtim.tv_nsec);
    if (S_ISREG(st.st_mode)) {
      std::ifstream in(path, std::ios::binary);
      text += " " + std::string(std::istreambuf_iterator<char>(in), {});
      char value[100];
      const ssize_t size = ::lgetxattr(path.c_str(), "user.k", value, sizeof(value));
      if (size >= 0) text += " xattr " + std::string(value, static_cast<size_t>(size));
    } else if (S_ISLNK(st.st_mode)) {
      text += " " + std::filesystem::read_symlink(path).string();
    }
    tree[path.lexically_relative(root)] = text;
  };
  add(root);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) add(entry.path());
  return tree;
}

// Without times, which are those of the test.
inline Tree Content(Tree tree) {
  for (auto& [path, text] : tree) {
    const size_t links = text.find(' '), time = text.find(' ', links + 1);
    const size_t rest = std::min(text.find(' ', time + 1), text.size());
    const bool directory = (std::stoul(text) & S_IFMT) == S_IFDIR;
    text = text.substr(0, directory ? links : time) + text.substr(rest);
  }
  return tree;
}

// What a view shows, by path: type, mode and content.
inline Tree DumpView(posix::Subject& view, const std::string& directory = "") {
  Tree tree;
  for (const posix::Entry& entry : Get(view.List(directory))) {
    const std::string path = directory.empty() ? entry.name : directory + "/" + entry.name;
    const Attr attr = Get(view.Stat(path));
    std::string& text = tree[path] = std::to_string(attr.mode);
    if (S_ISREG(attr.mode)) text += " " + Get(view.ReadFile(path));
    if (S_ISLNK(attr.mode)) text += " " + Get(view.ReadLink(path));
    if (S_ISDIR(attr.mode)) tree.merge(DumpView(view, path));
  }
  return tree;
}

class ApplyTest : public CoreTest {
 protected:
  void SetUp() override {
    layout_.base = base("");
    layout_.base.pop_back();
    layout_.database = state() + "/state.db";
    layout_.kept = options_.kept_directory = state() + "/kept";
    std::filesystem::create_directories(state());
  }

  void MakeBase() {
    BaseFile("edited", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    BaseFile("deleted", "gone");
    BaseFile("renamed", "moves");
    BaseFile("mode", "script");
    BaseFile("becomes a link", "file");
    BaseDirectory("dir");
    BaseFile("dir/a", "a");
    BaseFile("dir/b", "b");
    BaseDirectory("removed");
    BaseDirectory("removed/inner");
    BaseFile("removed/inner/x", "x");
    BaseDirectory("becomes a file");
    BaseFile("becomes a file/y", "y");
    BaseFile("linked", "two names");
    std::filesystem::create_hard_link(base("linked"), base("linked too"));
    std::filesystem::create_symlink("edited", base("link"));
    BaseDirectory("becomes a directory");
    std::filesystem::create_symlink("../dir", base("becomes a directory/link"));
    std::filesystem::create_symlink("dir", base("link to dir"));
    for (const std::string each : {"first", "second"}) {
      BaseDirectory(each);
      BaseDirectory(each + "/inner");
      BaseFile(each + "/inner/file", "in the " + each);
      BaseFile(each + "/same", "in both");
    }
    BaseDirectory("dir to link");
    BaseDirectory("dir to link/inner");
    BaseFile("dir to link/inner/z", "z");
  }

  void ChangeBranch() {
    auto branch = Branch();
    Get(branch->WriteFile("edited", "one\n2\n3\n4\n5\n6\n7\n8\n9\n"));
    Get(branch->Unlink("deleted"));
    Get(branch->Rename("renamed", "dir/renamed to"));
    Get(branch->Chmod("mode", 0755));
    Get(branch->Unlink("becomes a link"));
    Get(branch->MakeSymlink("dir/a", "becomes a link"));
    Get(branch->Unlink("removed/inner/x"));
    Get(branch->RemoveDirectory("removed/inner"));
    Get(branch->RemoveDirectory("removed"));
    Get(branch->Unlink("becomes a file/y"));
    Get(branch->RemoveDirectory("becomes a file"));
    Get(branch->WriteFile("becomes a file", "now"));
    Get(branch->WriteFile("linked", "two names, changed"));
    Get(branch->MakeDirectory("new"));
    Get(branch->MakeDirectory("new/empty"));
    Get(branch->WriteFile("new/file", "fresh"));
    Get(branch->SetXattr("new/file", "user.k", "v"));
    Get(branch->SetTimes("new/file", posix::TimeChange::Set(1000, 7),
                         posix::TimeChange::Set(2000, 9)));
    Get(branch->Link("new/file", "new/second name"));
    Get(branch->WriteFile("temporary", "saved"));
    Get(branch->Rename("temporary", "dir/a"));
    Get(branch->Unlink("link"));
    Get(branch->MakeSymlink("mode", "link"));
    ExchangeLinksAndDirectories(*branch);
    Swap(*branch, "first", "second");
  }

  static void Swap(posix::Subject& branch, const std::string& a, const std::string& b) {
    Get(branch.Rename(a, "aside"));
    Get(branch.Rename(b, a));
    Get(branch.Rename("aside", b));
  }

  // With content, also below each other.
  static void ExchangeLinksAndDirectories(posix::Subject& branch) {
    for (const std::string path : {"becomes a directory/link", "link to dir"}) {
      Get(branch.Unlink(path));
      Get(branch.MakeDirectory(path));
      Get(branch.WriteFile(path + "/a", "not that of dir"));
      Get(branch.MakeDirectory(path + "/b"));
      Get(branch.WriteFile(path + "/b/c", "deeper"));
    }
    Get(branch.Rename("dir to link/inner", "link to dir/inner"));
    Get(branch.RemoveDirectory("dir to link"));
    Get(branch.MakeSymlink("link to dir", "dir to link"));
  }

  Applier Open() { return Get(Applier::Open(volume(), layout_)); }

  ApplyPlan PlanAll(Applier& applier, OnConflict on_conflict = OnConflict::kRefuse,
                    std::vector<std::string> paths = {}) {
    const auto snapshot =
        Get(volume().CreateSnapshot("main", "", "before apply", Durability::kNone));
    return Get(applier.Plan(snapshot.name, {"main", std::move(paths), on_conflict}));
  }
  void ApplyAll(OnConflict on_conflict = OnConflict::kRefuse, std::vector<std::string> paths = {}) {
    Applier applier = Open();
    const auto extent = paths.empty() ? Applier::Extent::kWhole : Applier::Extent::kPaths;
    const ApplyPlan plan = PlanAll(applier, on_conflict, std::move(paths));
    EXPECT_THAT(Paths(plan.conflicts), testing::IsEmpty());
    Get(applier.Apply(plan, "main", extent));
  }
  static std::vector<std::string> Paths(const std::vector<ApplyConflict>& conflicts) {
    std::vector<std::string> paths;
    for (const ApplyConflict& conflict : conflicts) paths.push_back(conflict.path);
    return paths;
  }
  std::vector<std::string> Conflicts() {
    Applier applier = Open();
    return Paths(Get(applier.Plan("main", {"main", {}, OnConflict::kRefuse})).conflicts);
  }
  std::vector<std::string> Differences() {
    std::vector<std::string> paths;
    for (const PathChange& change : Get(FindChanges(volume(), "base", "main"))) {
      paths.push_back(change.path);
    }
    return paths;
  }
  std::string ReadBase(const std::string& path) {
    std::ifstream in(base(path), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  // Later than anything before, by the clock that filesystems stamp with.
  static void NextTick() { ::usleep(12'000); }

  Layout layout_;
};

}  // namespace agentfs
