// SPDX-License-Identifier: Apache-2.0
//
// Directories through the C library: positions, long names, long paths, many entries.
#include <dirent.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <set>

#include "mount_test.h"

namespace agentfs::posix {
namespace {

using Directory = std::unique_ptr<DIR, decltype(&::closedir)>;

class ListingTest : public MountTest {
 protected:
  static Directory Open(const std::string& path) { return {::opendir(path.c_str()), ::closedir}; }
  static std::string Next(const Directory& directory) {
    const dirent* entry = ::readdir(directory.get());
    return entry == nullptr ? "" : entry->d_name;
  }
  static std::set<std::string> Rest(const Directory& directory) {
    std::set<std::string> names;
    for (std::string name = Next(directory); !name.empty(); name = Next(directory)) {
      EXPECT_TRUE(names.insert(name).second) << name << " twice";
    }
    return names;
  }
  void MakeFiles(const std::string& directory, int count) {
    ASSERT_EQ(::mkdir(path(directory).c_str(), 0755), 0);
    for (int i = 0; i < count; ++i) Write(directory + "/" + std::to_string(i), "");
  }
};

TEST_F(ListingTest, DotAndDotDotAreThere) {
  Start();
  MakeFiles("d", 1);
  const Directory directory = Open(path("d"));
  EXPECT_EQ(Next(directory), ".");
  EXPECT_EQ(Next(directory), "..");
  EXPECT_EQ(Next(directory), "0");
  EXPECT_EQ(Next(directory), "");
}

TEST_F(ListingTest, EntriesHaveTheNumbersOfWhatTheyName) {
  ASSERT_EQ(::mkdir(base("above").c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(base("above/below").c_str(), 0755), 0);
  Start(Base::kYes);
  MakeFiles("above/made", 1);
  ASSERT_EQ(::rename(path("above/below").c_str(), path("above/made/moved").c_str()), 0);
  for (const char* name : {".", "above", "above/made", "above/made/moved"}) {
    const Directory directory = Open(path(name));
    while (const dirent* entry = ::readdir(directory.get())) {
      if (name == std::string_view(".") && entry->d_name == std::string_view("..")) continue;
      struct stat s {};
      ASSERT_EQ(::lstat(path(std::string(name) + "/" + entry->d_name).c_str(), &s), 0);
      EXPECT_EQ(entry->d_ino, s.st_ino) << name << "/" << entry->d_name;
    }
  }
}

TEST_F(ListingTest, PositionsHoldWhileEntriesVanish) {
  Start();
  MakeFiles("d", 1000);
  const Directory directory = Open(path("d"));
  std::set<std::string> before;
  for (int i = 0; i < 500; ++i) before.insert(Next(directory));
  const long position = ::telldir(directory.get());
  const std::set<std::string> rest = Rest(directory);
  EXPECT_EQ(before.size() + rest.size(), 1002u);

  // Everything that was seen before the position goes, and some of what comes after it.
  std::set<std::string> expected = rest;
  for (const std::string& name : before) ::unlink(path("d/" + name).c_str());
  int n = 0;
  for (const std::string& name : rest) {
    if (n++ % 3 != 0) continue;
    ASSERT_EQ(::unlink(path("d/" + name).c_str()), 0);
    expected.erase(name);
  }
  ::seekdir(directory.get(), position);
  const std::set<std::string> again = Rest(directory);  // may hold what went since it was opened
  EXPECT_TRUE(std::includes(again.begin(), again.end(), expected.begin(), expected.end()));
  EXPECT_TRUE(std::includes(rest.begin(), rest.end(), again.begin(), again.end()));
  ::rewinddir(directory.get());
  expected.insert({".", ".."});
  EXPECT_EQ(Rest(directory), expected);
}

TEST_F(ListingTest, NamesOf255BytesOfAnyKind) {
  Start();
  std::set<std::string> names = {".", ".."};
  for (int first = 1; first < 256; ++first) {
    if (first == '/') continue;
    std::string name(255, static_cast<char>(first));
    if (first == '.') name[1] = 'x';
    names.insert(name);
    Write(name, "x");
  }
  const Directory directory = Open(path());
  EXPECT_EQ(Rest(directory), names);
  EXPECT_EQ(::mkdir(path(std::string(256, 'n')).c_str(), 0755), -1);
  EXPECT_EQ(errno, ENAMETOOLONG);
}

TEST_F(ListingTest, PathsOf4096Bytes) {
  Start();
  // Each part is a slash and 99 bytes; the whole path with its NUL has PATH_MAX bytes.
  std::string deep = path().substr(0, path().size() - 1);
  while (deep.size() + 100 < PATH_MAX - 101) {
    deep += "/" + std::string(99, 'p');
    ASSERT_EQ(::mkdir(deep.c_str(), 0755), 0) << deep.size();
  }
  const std::string file = deep + "/" + std::string(PATH_MAX - 1 - deep.size() - 1, 'f');
  ASSERT_EQ(file.size(), PATH_MAX - 1u);
  WriteHostFile(file, "at the end");
  EXPECT_EQ(ReadHostFile(file), "at the end");
}

TEST_F(ListingTest, AHundredThousandEntries) {
  Start();
#ifdef AGENTFS_SANITIZED
  constexpr int kEntries = 10'000;
#else
  constexpr int kEntries = 100'000;
#endif
  ASSERT_EQ(::mkdir(path("d").c_str(), 0755), 0);
  const int directory = ::open(path("d").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < kEntries; ++i) {
    ASSERT_EQ(::mknodat(directory, std::to_string(i).c_str(), S_IFREG | 0644, 0), 0);
  }
  ::close(directory);
  EXPECT_EQ(Rest(Open(path("d"))).size(), kEntries + 2u);
  EXPECT_EQ(Rest(Open(path("d"))).size(), kEntries + 2u);
  Run("rm -r d");
  EXPECT_FALSE(Exists("d"));
}

TEST_F(ListingTest, ListingsFollowChanges) {
  for (const char* name : {"a", "b", "c"}) WriteHostFile(base(name), name);
  Start(Base::kYes);
  EXPECT_EQ(Run("ls"), "a\nb\nc\n");
  Run("rm a; mv b e; touch d; mkdir f");
  EXPECT_EQ(Run("ls"), "c\nd\ne\nf\n");
  EXPECT_EQ(Run("ls"), "c\nd\ne\nf\n");
}

}  // namespace
}  // namespace agentfs::posix
