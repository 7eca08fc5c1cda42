// SPDX-License-Identifier: Apache-2.0
//
// How content is cut into rows, and that a volume stays as it was made.
#include "core/content_layout.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "core/records.h"
#include "core_rig.h"

namespace agentfs {
namespace {

using posix::Pattern;

class ContentLayoutTest : public CoreTest {
 protected:
  void PutChunkSize(int64_t size) {
    Batch batch;
    batch.Put(tables::kMeta, NameKey(kChunkSizeName), EncodeInt(size));
    Get(store().Commit(batch, Durability::kNone));
  }
};

TEST_F(ContentLayoutTest, ASingleFileVolumeHasLargerRows) {
  options_.single_file = true;
  Open(Backing::kSqlite);
  const std::string content = Pattern(2 * kSingleFileChunkSize + 1);
  Get(Branch()->WriteFile("f", content));
  EXPECT_EQ(Rows(tables::kData), 3u);
  Reopen();
  EXPECT_EQ(Get(Branch()->ReadFile("f")), content);
  ExpectClean();
}

TEST_F(ContentLayoutTest, AVolumeWithoutTheRowHasRowsOf64KiB) {
  options_.single_file = true;
  Open(Backing::kSqlite);
  Batch batch;
  batch.Delete(tables::kMeta, NameKey(kChunkSizeName));
  Get(store().Commit(batch, Durability::kNone));
  Reopen();
  const std::string content = Pattern(200'000);
  Get(Branch()->WriteFile("f", content));
  EXPECT_EQ(Rows(tables::kData), 4u);
  Reopen();
  EXPECT_EQ(Get(Branch()->ReadFile("f")), content);
  ExpectClean();
}

TEST_F(ContentLayoutTest, ADamagedChunkSizeIsReported) {
  for (const int64_t size : {0, 1, 65535, 1 << 30}) {
    Open(Backing::kSqlite);
    PutChunkSize(size);
    EXPECT_THROW(Reopen(), std::runtime_error) << size;
    std::filesystem::remove_all(state());
    std::filesystem::create_directories(state());
  }
}

TEST_F(ContentLayoutTest, PartsOfALargeFileAreReadFromItsRows) {
  options_.single_file = true;
  Open(Backing::kSqlite);
  std::string content = Pattern(3 << 20);
  {
    auto fs = Branch();
    Get(fs->WriteFile("f", content));
    Get(volume().CreateSnapshot("main", "snap", "", Durability::kNone));
    Get(fs->Truncate("f", 2'500'000));
    Get(fs->Truncate("f", 3 << 20));
  }
  std::fill(content.begin() + 2'500'000, content.end(), '\0');
  Reopen();
  auto view = Get(volume().OpenBranch("main"));
  const NodeRef root = view->Root();
  const NodeRef file = Get(view->Lookup({}, *root, "f")).node;
  for (const size_t length : {size_t{70'000}, size_t{131'072}, size_t{1'000'001}}) {
    for (size_t at = 1; at < content.size(); at += 333'333) {
      std::string part(length, '?');
      part.resize(Get(view->Read(*file, at, part)));
      ASSERT_EQ(part, content.substr(at, length)) << at << " " << length;
    }
  }
}

}  // namespace
}  // namespace agentfs
