// SPDX-License-Identifier: Apache-2.0
//
// A caller whose permissions somebody else has checked (a kernel above us) is not checked again,
// and still owns what he makes.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_rig.h"

namespace agentfs {
namespace {

constexpr uint32_t kAlice = 1001, kBob = 1002;

class CheckedCallerTest : public CoreTest {
 protected:
  CheckedCallerTest() {
    Open();
    view_ = Get(volume().OpenBranch("main"));
    Caller root;
    root.umask = 0;
    closed_ = Get(view_->MakeDirectory(root, *view_->Root(), "closed", 01700)).node;
    file_ = Get(view_->Create(root, *closed_, "file", 06711)).node;
  }
  static Caller Someone(uint32_t uid) {
    Caller caller;
    caller.uid = caller.gid = uid;
    return caller;
  }
  static Caller Checked(uint32_t uid) {
    Caller caller = Someone(uid);
    caller.checked = true;
    return caller;
  }
  uint32_t Mode(Node& node) { return Get(view_->GetAttr(node)).mode & 07777; }

  std::shared_ptr<FileSystem> view_;
  NodeRef closed_, file_;
};

TEST_F(CheckedCallerTest, IsNotDeniedWhatOthersAre) {
  EXPECT_EQ(view_->Create(Someone(kAlice), *closed_, "a", 0644).code(), EACCES);
  EXPECT_EQ(view_->Lookup(Someone(kAlice), *closed_, "file").code(), EACCES);
  EXPECT_EQ(view_->Unlink(Someone(kAlice), *closed_, "file").code(), EACCES);
  EXPECT_TRUE(view_->Lookup(Checked(kAlice), *closed_, "file").ok());
  EXPECT_TRUE(view_->Unlink(Checked(kAlice), *closed_, "file").ok());
}

TEST_F(CheckedCallerTest, OwnsWhatHeMakes) {
  const Found made = Get(view_->Create(Checked(kAlice), *closed_, "a", 0666));
  EXPECT_EQ(made.attr.uid, kAlice);
  EXPECT_EQ(made.attr.gid, kAlice);
  EXPECT_EQ(made.attr.mode & 07777, 0644u);
}

TEST_F(CheckedCallerTest, IsNotAskedForOwnership) {
  AttrChange change;
  change.mode = 02755;
  change.uid = kBob;
  change.mtime = Timestamp{1, 2};
  EXPECT_EQ(view_->SetAttr(Someone(kAlice), *file_, change).code(), EPERM);
  EXPECT_TRUE(view_->SetAttr(Checked(kAlice), *file_, change).ok());
  EXPECT_EQ(Mode(*file_), 02755u);
  EXPECT_TRUE(view_->SetXattr(Checked(kAlice), *file_, "trusted.x", "1", XattrMode::kSet).ok());
  EXPECT_EQ(view_->SetXattr(Checked(kAlice), *file_, "other.x", "1", XattrMode::kSet).code(),
            EOPNOTSUPP);
}

TEST_F(CheckedCallerTest, SetIdBitsGoWhenHeSaysSo) {
  Get(view_->Write(Checked(kAlice), *file_, 0, std::string_view("x")));
  EXPECT_EQ(Mode(*file_), 06711u);
  Caller clearing = Checked(0);
  clearing.clears_set_id = true;
  Get(view_->Write(clearing, *file_, 0, std::string_view("x")));
  EXPECT_EQ(Mode(*file_), 0711u);
}

TEST_F(CheckedCallerTest, SetIdBitsCanBeTakenAlone) {
  AttrChange change;
  change.clear_set_id = true;
  Get(view_->SetAttr(Checked(0), *file_, change));
  EXPECT_EQ(Mode(*file_), 0711u);
}

}  // namespace
}  // namespace agentfs
