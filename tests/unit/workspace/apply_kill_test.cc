// SPDX-License-Identifier: Apache-2.0
//
// Applies that are killed: all or nothing.
#include <signal.h>
#include <sys/wait.h>

#include <random>

#include "apply_rig.h"

namespace agentfs {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

class ApplyKillTest : public ApplyTest {
 protected:
  // A base and a branch with changes, as before the apply. Not copied: a base is known by its
  // inodes.
  void StartAgain() {
    fs::remove_all(layout_.base);
    fs::remove_all(state());
    fs::create_directories(layout_.base);
    fs::create_directories(state());
    MakeBase();
    OpenOverBase(Backing::kSqlite);
    ChangeBranch();
    differences_ = Differences().size();
    Close();
  }
  // Applies in a process of its own, which `end` may end at a step.
  pid_t Start(const ApplyHook& end) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    try {
      OpenOverBase(Backing::kSqlite);
      Applier applier = Open();
      applier.SetHook(end);
      const ApplyPlan plan = PlanAll(applier);
      const bool done = applier.Apply(plan, "main", Applier::Extent::kWhole).ok();
      ::_exit(done ? 0 : 1);
    } catch (const std::exception& error) {
      ::fprintf(stderr, "%s\n", error.what());
      ::_exit(2);
    }
  }
  // After a kill and the next command, all is applied or nothing.
  void ExpectAllOrNothing(const Tree& before, const Tree& after) {
    OpenOverBase(Backing::kSqlite);
    Get(Applier::Recover(volume(), layout_));
    const Tree now = Content(Dump(layout_.base));
    EXPECT_TRUE(now == Content(before) || now == Content(after));
    const bool applied = now == Content(after);
    applied_ += applied ? 1 : 0;
    if (applied) {
      EXPECT_THAT(Differences(), IsEmpty());
    } else {
      EXPECT_EQ(Differences().size(), differences_);
    }
    EXPECT_FALSE(Get(Applier::Recover(volume(), layout_)));
    Close();
  }
  // What there is before and after an apply.
  void LookBeforeAndAfter(Tree* before, Tree* after) {
    StartAgain();
    *before = Dump(layout_.base);
    int status = 0;
    ASSERT_GT(::waitpid(Start(nullptr), &status, 0), 0);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    *after = Dump(layout_.base);
    ASSERT_NE(Content(*before), Content(*after));
  }
  int applied_ = 0;
  size_t differences_ = 0;
};

TEST_F(ApplyKillTest, AtAnyStepItIsAllOrNothing) {
  Tree before, after;
  LookBeforeAndAfter(&before, &after);
  int status = 0;
  for (int point = 0;; ++point) {
    SCOPED_TRACE("killed at step " + std::to_string(point));
    StartAgain();
    const pid_t child = Start([left = point](size_t, size_t) mutable {
      if (left-- == 0) ::kill(::getpid(), SIGKILL);
    });
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ExpectAllOrNothing(before, after);
    if (WIFEXITED(status)) {  // it was through before
      // Once everything was staged, it is completed.
      EXPECT_GE(applied_, point / 2);
      break;
    }
    ASSERT_LT(point, 1000);
  }
}

TEST_F(ApplyKillTest, AHundredKillsAtRandomTimes) {
  Tree before, after;
  LookBeforeAndAfter(&before, &after);
  int status = 0;
  std::mt19937 random(std::random_device{}());
#ifdef AGENTFS_SANITIZED  // the memory of a process that is killed is of no interest
  constexpr int kKills = 10;
#else
  constexpr int kKills = 100;
#endif
  for (int round = 0; round < kKills && !HasFailure(); ++round) {
    StartAgain();
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = Start([&, told = false](size_t, size_t) mutable {
      if (!std::exchange(told, true)) (void)!::write(ready[1], "x", 1);
    });
    ::close(ready[1]);
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::usleep(random() % 20'000);
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ExpectAllOrNothing(before, after);
  }
  RecordProperty("applied", applied_);
}

TEST_F(ApplyKillTest, UndoIsAllOrNothingToo) {
  for (int point = 0;; ++point) {
    SCOPED_TRACE("killed at step " + std::to_string(point));
    StartAgain();
    const Tree before = Dump(layout_.base);
    OpenOverBase(Backing::kSqlite);
    ApplyAll();
    Close();
    const pid_t child = ::fork();
    if (child == 0) {
      OpenOverBase(Backing::kSqlite);
      Applier applier = Open();
      applier.SetHook([left = point](size_t, size_t) mutable {
        if (left-- == 0) ::kill(::getpid(), SIGKILL);
      });
      ::_exit(applier.UndoLast().ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    OpenOverBase(Backing::kSqlite);
    Get(Applier::Recover(volume(), layout_));
    EXPECT_EQ(Dump(layout_.base), before);
    EXPECT_EQ(Get(Branch()->ReadFile("dir/a")), "saved");
    Close();
    if (WIFEXITED(status)) break;
    ASSERT_LT(point, 1000);
  }
}

}  // namespace
}  // namespace agentfs
