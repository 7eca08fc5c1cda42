// SPDX-License-Identifier: Apache-2.0
//
// Copies of large files: shared with what they were copied from, and independent of it.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "agentfs/base_fs.h"
#include "agentfs/blob_store.h"
#include "agentfs/files.h"
#include "agentfs/stores.h"
#include "agentfs/volume.h"
#include "core_rig.h"
#include "xfs_mount.h"

namespace agentfs {
namespace {

using posix::Pattern;

class CopyTest : public CoreTest {
 protected:
  std::unique_ptr<Files> OpenFiles() {
    return std::make_unique<Files>(Get(volume().OpenBranch("main")));
  }
  // Copies all of /from over the start of /to.
  void CopyOver(Files& files, uint64_t length) {
    Found from = Get(files.Resolve("/from"));
    Found to = Get(files.Resolve("/to"));
    EXPECT_EQ(Get(files.filesystem()->CopyRange({}, *from.node, 0, *to.node, 0, length)), length);
  }
};

TEST_F(CopyTest, ACopyIsIndependentOfItsSource) {
  Open();
  auto files = OpenFiles();
  const std::string bytes = Pattern(300'001);
  Get(files->WriteBytes("/from", bytes));
  Get(files->WriteBytes("/to", ""));
  CopyOver(*files, bytes.size());
  Get(files->Append("/from", "more"));
  Get(files->WriteBytes("/from", "other"));
  EXPECT_EQ(Get(files->ReadBytes("/to")), bytes);
  files.reset();
  ExpectClean();
}

TEST_F(CopyTest, WhatLiesBehindACopiedPartStays) {
  Open();
  auto files = OpenFiles();
  const std::string bytes = Pattern(200'000), old = std::string(500'000, 'o');
  Get(files->WriteBytes("/from", bytes));
  Get(files->WriteBytes("/to", old));
  CopyOver(*files, bytes.size());  // ends in the middle of a page of /to
  EXPECT_EQ(Get(files->ReadBytes("/to")), bytes + old.substr(bytes.size()));
  files.reset();
  ExpectClean();
}

TEST_F(CopyTest, HolesAreCopiedAsHolesAlsoOverTheBase) {
  BaseFile("to", std::string(400'000, 'b'));
  OpenOverBase();
  auto files = OpenFiles();
  Get(files->WriteBytes("/from", Pattern(100'000)));
  Found from = Get(files->Resolve("/from"));
  AttrChange longer;
  longer.size = 409'600;
  Get(files->filesystem()->SetAttr({}, *from.node, longer));
  CopyOver(*files, 409'600);
  EXPECT_EQ(Get(files->ReadBytes("/to")), Pattern(100'000) + std::string(309'600, '\0'));
  from = Found();
  files.reset();
  ExpectClean();
}

TEST_F(CopyTest, ASnapshotKeepsWhatTheCopyReplaced) {
  Open();
  auto files = OpenFiles();
  const std::string bytes = Pattern(200'000), old(200'000, 'o');
  Get(files->WriteBytes("/from", bytes));
  Get(files->WriteBytes("/to", old));
  Get(volume().CreateSnapshot("main", "before", "", Durability::kNone));
  CopyOver(*files, bytes.size());
  Files before(Get(volume().OpenSnapshot("before")));
  EXPECT_EQ(Get(before.ReadBytes("/to")), old);
  EXPECT_EQ(Get(files->ReadBytes("/to")), bytes);
}

using CopyOnXfsTest = XfsMountTest;

TEST_F(CopyOnXfsTest, CopiesShareTheirBlocks) {
  constexpr size_t kSize = 32 << 20;
  MakeHostDirectory(mount_ + "/base");
  WriteHostFile(mount_ + "/base/large", std::string(kSize, 's'));
  auto volume = Get(Volume::Open(Get(OpenMemoryStore(VolumeSchema())),
                                 Get(OpenHostBlobStore(mount_ + "/objects")),
                                 Get(OpenHostBase(mount_ + "/base")), VolumeOptions()));
  {
    Files files(Get(volume->OpenBranch("main")));
    const uint64_t before = FreeBytes();
    Get(files.Copy("/large", "/of-the-base"));
    Get(files.Copy("/of-the-base", "/of-an-object"));
    EXPECT_LT(before - FreeBytes(), 2u << 20);
    EXPECT_EQ(Get(files.ReadBytes("/of-an-object")), std::string(kSize, 's'));
  }
  Get(volume->Close());
}

}  // namespace
}  // namespace agentfs
