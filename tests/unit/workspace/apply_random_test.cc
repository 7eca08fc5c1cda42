// SPDX-License-Identifier: Apache-2.0
//
// Applying what was done at random: a directory of the host, to which the same was done, is what
// the base must be then.
#include "apply_rig.h"
#include "native_subject.h"
#include "random_changes.h"

namespace agentfs {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

// What a view shows, by path: type, mode and content.
Tree DumpView(posix::Subject& view, const std::string& directory = "") {
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

class ApplyRandomTest : public ApplyTest, public testing::WithParamInterface<uint32_t> {
 protected:
  void Change(posix::Subject& subject, uint32_t seed) {
    RandomChanges(subject, seed, RandomChanges::Links::kWithin).Make(40);
  }
  // Of the base and the branch.
  void ExpectApplied(const Tree& twin, const Tree& shown) {
    EXPECT_EQ(Content(Dump(layout_.base)), twin);
    EXPECT_THAT(Differences(), IsEmpty());
    EXPECT_EQ(DumpView(*Branch()), shown);
  }
};

TEST_P(ApplyRandomTest, TheBaseIsWhatTheSameChangesMakeOfADirectory) {
  OpenOverBase(Backing::kSqlite);
  const uint32_t seed = GetParam();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::string twin = state() + "/twin";
  fs::create_directories(twin);
  for (uint32_t round = 0; round < 8 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const Tree before = Dump(layout_.base);
    Change(*Branch(), seed + round);
    Change(*Get(posix::OpenNativeSubject(twin)), seed + round);
    const Tree wanted = Content(Dump(twin)), shown = DumpView(*Branch());
    ApplyAll();
    ExpectApplied(wanted, shown);
    Get(Open().UndoLast());
    EXPECT_EQ(Dump(layout_.base), before);
    EXPECT_EQ(DumpView(*Branch()), shown);
    EXPECT_THAT(Conflicts(), IsEmpty());
    ApplyAll();
    ExpectApplied(wanted, shown);
    if (round % 4 == 3) Reopen();
    ExpectClean();
  }
}

// Those that have found something; the directories of the host, and so the order of what is done,
// are new each time all the same.
INSTANTIATE_TEST_SUITE_P(Seeds, ApplyRandomTest, testing::Values(2349881349, 1548389941));

}  // namespace
}  // namespace agentfs
