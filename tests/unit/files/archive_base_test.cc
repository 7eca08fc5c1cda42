// SPDX-License-Identifier: Apache-2.0
//
// Archives and copies in a view over a host directory: whiteouts survive, the base is only read.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "agentfs/base_fs.h"
#include "agentfs/stores.h"
#include "files_fixture.h"

namespace agentfs::testing {
namespace {

namespace stdfs = std::filesystem;
using ::testing::ElementsAre;

class ArchiveBaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (stdfs::temp_directory_path() / "agentfs-base-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    stdfs::create_directories(base_ / "src/deep/er");
    for (const char* name : {"README", "src/a.c", "src/b.c", "src/deep/er/c.c"}) {
      std::ofstream(base_ / name) << "base " << name;
    }
    stdfs::create_hard_link(base_ / "src/a.c", base_ / "linked.c");
    stdfs::create_symlink("src/a.c", base_ / "soft");
    base_entries_ = BaseEntries();
    Open();
  }
  void TearDown() override {
    files_.reset();
    volume_.reset();
    stdfs::remove_all(base_);
  }

  void Open() {
    auto store = OpenMemoryStore(VolumeSchema());
    ASSERT_OK(store);
    auto base = OpenHostBase(base_.string());
    ASSERT_OK(base);
    auto volume = Volume::Open(std::move(*store), nullptr, std::move(*base), {});
    ASSERT_OK(volume);
    volume_ = std::move(*volume);
    files_ = std::make_unique<Files>(volume_->OpenBranch(kMainBranch).value());
  }
  std::string Save(std::string_view path) {
    std::ostringstream out;
    EXPECT_OK(SaveTree(*files_, path, out));
    return out.str();
  }
  void Load(std::string_view path, const std::string& bytes) {
    std::istringstream in(bytes);
    ASSERT_OK(LoadTree(*files_, path, in));
  }
  uint64_t BaseEntries() const {
    auto all = stdfs::recursive_directory_iterator(base_);
    return static_cast<uint64_t>(std::distance(begin(all), end(all)));
  }
  void ExpectSound() {
    std::shared_ptr<FileSystem> fs = files_->filesystem();
    FsckReport report = volume_->Check(false).value();
    for (const FsckProblem& problem : report.problems) ADD_FAILURE() << problem.what;
  }

  stdfs::path base_;
  uint64_t base_entries_ = 0;
  std::unique_ptr<Volume> volume_;
  std::unique_ptr<Files> files_;
};

TEST_F(ArchiveBaseTest, WhatTheArchiveLacksIsGoneFromTheRoot) {
  ASSERT_OK(files_->Delete("/src/b.c"));
  ASSERT_OK(files_->Delete("/README"));
  ASSERT_OK(files_->WriteBytes("/src/new.c", "new"));
  std::string saved = Dump(*files_, "/");
  std::string archive = Save("/");
  ASSERT_OK(volume_->CreateBranch("fresh", "base"));
  files_ = std::make_unique<Files>(volume_->OpenBranch("fresh").value());
  ASSERT_TRUE(files_->Exists("/README"));
  Load("/", archive);
  EXPECT_EQ(Dump(*files_, "/"), saved);
  EXPECT_THAT(*files_->ListNames("/"), ElementsAre("linked.c", "soft", "src"));
  EXPECT_THAT(*files_->ListNames("/src"), ElementsAre("a.c", "deep", "new.c"));
  EXPECT_FALSE(files_->Exists("/src/b.c"));
  EXPECT_EQ(BaseEntries(), base_entries_) << "the base must not change";
  ExpectSound();
}

TEST_F(ArchiveBaseTest, WhatTheArchiveLacksIsGoneFromADirectory) {
  ASSERT_OK(files_->CreateDirectory("/elsewhere"));
  ASSERT_OK(files_->WriteBytes("/elsewhere/only", "x"));
  Load("/src", Save("/elsewhere"));
  EXPECT_THAT(*files_->ListNames("/src"), ElementsAre("only"));
  EXPECT_THAT(*files_->ListNames("/"),
              ElementsAre("README", "elsewhere", "linked.c", "soft", "src"));
  EXPECT_EQ(BaseEntries(), base_entries_);
  ExpectSound();
}

TEST_F(ArchiveBaseTest, FailedLoadKeepsTheBaseVisible) {
  std::string before = Dump(*files_, "/");
  std::string archive = Save("/");
  for (std::string_view path : {"/", "/src"}) {
    std::istringstream in(archive.substr(0, archive.size() / 2));
    EXPECT_EQ(LoadTree(*files_, path, in).code(), EBADMSG);
    EXPECT_EQ(Dump(*files_, "/"), before) << path;
  }
  ExpectSound();
}

TEST_F(ArchiveBaseTest, CopiesOfBaseTreesAreWhole) {
  ASSERT_OK(files_->Copy("/src", "/copy", Recursion::kYes));
  EXPECT_EQ(*files_->ReadBytes("/copy/deep/er/c.c"), "base src/deep/er/c.c");
  ASSERT_OK(files_->Delete("/src", Recursion::kYes));
  EXPECT_EQ(*files_->ReadBytes("/copy/a.c"), "base src/a.c");
  EXPECT_EQ(BaseEntries(), base_entries_);
  ExpectSound();
}

TEST_F(ArchiveBaseTest, ArchivesStandAlone) {
  std::string before = Dump(*files_, "/");
  std::string archive = Save("/");
  Backend other = MakeBackend(BackendKind::kVolume);
  Files target(other.fs);
  std::istringstream in(archive);
  ASSERT_OK(LoadTree(target, "/", in));
  EXPECT_EQ(Dump(target, "/"), before);
}

}  // namespace
}  // namespace agentfs::testing
