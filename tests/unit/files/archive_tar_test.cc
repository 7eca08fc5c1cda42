// SPDX-License-Identifier: Apache-2.0
//
// Archives and GNU tar: it lists and unpacks ours, we load its.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "files_fixture.h"

namespace agentfs::testing {
namespace {

namespace stdfs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

// Runs a shell command; its output with that on stderr, and its status.
struct Outcome {
  int status = -1;
  std::string output;
};
Outcome Shell(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (!pipe) return outcome;
  char buffer[4096];
  while (size_t got = fread(buffer, 1, sizeof(buffer), pipe)) outcome.output.append(buffer, got);
  int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

class ArchiveTarTest : public FilesFixture {
 protected:
  void SetUp() override {
    if (Shell("tar --version | grep -q GNU && zstd --version").status != 0) {
      GTEST_SKIP() << "GNU tar or zstd is not installed";
    }
    std::string pattern = (stdfs::temp_directory_path() / "agentfs-tar-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override {
    if (!directory_.empty()) stdfs::remove_all(directory_);
  }
  std::string At(const std::string& name) { return (directory_ / name).string(); }

  void SaveTo(const std::string& name) {
    std::ofstream out(At(name), std::ios::binary);
    ASSERT_OK(SaveTree(files_, "/tree", out));
  }
  void LoadFrom(const std::string& name) {
    std::ifstream in(At(name), std::ios::binary);
    ASSERT_OK(LoadTree(files_, "/tree", in));
  }

  stdfs::path directory_;
};

TEST_P(ArchiveTarTest, TarListsAVariedTree) {
  ASSERT_OK(files_.CreateDirectory("/tree"));
  MakeVariedTree(files_, "/tree");
  SaveTo("a.tar.zst");
  for (const char* locale : {"C", "C.UTF-8"}) {
    Outcome listed = Shell("LC_ALL=" + std::string(locale) + " tar --zstd -tvf " + At("a.tar.zst"));
    EXPECT_EQ(listed.status, 0) << listed.output;
    EXPECT_THAT(listed.output, HasSubstr("./\n"));
    EXPECT_THAT(listed.output, HasSubstr(" sub/large\n"));
    EXPECT_THAT(listed.output, HasSubstr(" sub/plain-too link to plain\n"));
    EXPECT_THAT(listed.output, HasSubstr(" absolute -> /sub/large\n"));
    EXPECT_THAT(listed.output, HasSubstr("8589934592")) << "the size of all-hole";
    EXPECT_THAT(listed.output, HasSubstr("-rwsr-x--x 0/0"));
  }
}

TEST_P(ArchiveTarTest, TarIsQuietAboutOrdinaryTrees) {
  ASSERT_OK(files_.CreateDirectories("/tree/\xc3\xa9t\xc3\xa9"));
  ASSERT_OK(files_.WriteBytes("/tree/" + std::string(200, 'n'), "x"));
  Node& node = *files_.Resolve("/tree")->node;
  ASSERT_OK(backend_.fs->SetXattr({}, node, "user.note", "x", XattrMode::kSet));
  SaveTo("a.tar.zst");
  Outcome listed = Shell("tar --zstd -tf " + At("a.tar.zst"));
  EXPECT_EQ(listed.status, 0);
  EXPECT_THAT(listed.output, Not(HasSubstr("tar:")));
}

TEST_P(ArchiveTarTest, TarUnpacksWhatWasSaved) {
  ASSERT_OK(files_.CreateDirectories("/tree/sub"));
  ASSERT_OK(files_.WriteBytes("/tree/plain", "some text\n"));
  ASSERT_OK(files_.CreateHardLink("/tree/plain", "/tree/sub/linked"));
  ASSERT_OK(files_.SetMode("/tree/plain", 0641));
  ASSERT_OK(files_.SetTimes("/tree/plain", {1, 2}, {1'600'000'000, 123'456'789}));
  ASSERT_OK(files_.WriteBytes("/tree/bytes \xff\xfe", "b"));
  ASSERT_OK(files_.WriteBytes("/tree/e\xcc\x81", "nfd"));
  Found sparse =
      files_.filesystem()->Create({}, *files_.Resolve("/tree")->node, "sparse", 0644).value();
  ASSERT_OK(backend_.fs->Write({}, *sparse.node, 100 << 20, std::string_view("end")));
  SaveTo("a.tar.zst");
  stdfs::create_directory(At("out"));
  Outcome unpacked = Shell("tar --zstd -C " + At("out") + " -xpf " + At("a.tar.zst"));
  ASSERT_EQ(unpacked.status, 0) << unpacked.output;

  struct stat status;
  ASSERT_EQ(stat(At("out/plain").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0641u);
  EXPECT_EQ(status.st_nlink, 2u);
  EXPECT_EQ(status.st_mtim.tv_sec, 1'600'000'000);
  EXPECT_EQ(status.st_mtim.tv_nsec, 123'456'789);
  EXPECT_TRUE(stdfs::exists(At("out/bytes \xff\xfe")));
  EXPECT_TRUE(stdfs::exists(At("out/e\xcc\x81")));
  ASSERT_EQ(stat(At("out/sparse").c_str(), &status), 0);
  EXPECT_EQ(status.st_size, (100 << 20) + 3);
  std::ifstream in(At("out/sparse"), std::ios::binary);
  in.seekg(100 << 20);
  std::string end;
  in >> end;
  EXPECT_EQ(end, "end");
}

TEST_P(ArchiveTarTest, LoadsWhatTarWrites) {
  stdfs::create_directories(At("in/d"));
  std::ofstream(At("in/d/f")) << "content";
  std::ofstream(At("in/e\xcc\x81 nfd")) << "1";
  std::ofstream(At("in/\xff bytes")) << "2";
  std::string long_name(200, 'n');
  std::ofstream(At("in/" + long_name)) << "3";
  stdfs::create_hard_link(At("in/d/f"), At("in/hard"));
  stdfs::create_symlink("d/f", At("in/soft"));
  ASSERT_EQ(
      Shell("truncate -s 50M " + At("in/sparse") + " && printf end >> " + At("in/sparse")).status,
      0);
  for (const char* format : {"gnu", "pax", "oldgnu"}) {
    for (const char* zip : {"", "--zstd"}) {
      SCOPED_TRACE(std::string(format) + zip);
      Outcome packed = Shell("tar -C " + At("in") + " -S --format=" + format + " " + zip + " -cf " +
                             At("t.tar") + " .");
      ASSERT_EQ(packed.status, 0) << packed.output;
      LoadFrom("t.tar");
      EXPECT_EQ(*files_.ReadBytes("/tree/d/f"), "content");
      EXPECT_EQ(*files_.ReadBytes("/tree/soft"), "content");
      EXPECT_EQ(files_.Entry("/tree/hard")->attr.nlink, 2u);
      EXPECT_EQ(*files_.ReadBytes("/tree/e\xcc\x81 nfd"), "1");
      EXPECT_EQ(*files_.ReadBytes("/tree/\xff bytes"), "2");
      EXPECT_EQ(*files_.ReadBytes("/tree/" + long_name), "3");
      EXPECT_EQ(files_.Entry("/tree/sparse")->attr.size, uint64_t{(50 << 20) + 3});
      EXPECT_EQ(files_.ListNames("/tree")->size(), 7u);
    }
  }
}

TEST_P(ArchiveTarTest, NamesAreBytesInEveryLocale) {
  ASSERT_OK(files_.CreateDirectory("/tree"));
  MakeVariedTree(files_, "/tree");
  std::string before = Dump(files_, "/tree");
  for (const char* locale : {"C", "C.UTF-8"}) {
    ASSERT_NE(std::setlocale(LC_ALL, locale), nullptr);
    SaveTo("a.tar.zst");
    LoadFrom("a.tar.zst");
    EXPECT_EQ(Dump(files_, "/tree"), before) << locale;
  }
  std::setlocale(LC_ALL, "C");
}

AGENTFS_FILES_SUITE(ArchiveTarTest);

}  // namespace
}  // namespace agentfs::testing
