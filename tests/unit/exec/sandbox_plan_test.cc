// SPDX-License-Identifier: Apache-2.0
#include "exec/sandbox_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "exec/bubblewrap.h"
#include "exec/inner.h"

namespace agentfs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using What = SandboxMount::What;

class SandboxPlanTest : public testing::Test {
 protected:
  SandboxPlanTest() {
    facts_.workspace = "/home/u/ws";
    facts_.view = "/run/s/branches/main";
    facts_.host_view = "/run/s/host/main";
    facts_.home = "/home/u";
    facts_.kind_of = [this](const std::string& path) {
      auto it = there_.find(path);
      return it == there_.end() ? PathKind::kAbsent : it->second;
    };
    facts_.list = [this](const std::string& directory,
                         size_t limit) -> std::optional<std::vector<HostEntry>> {
      auto it = entries_.find(directory);
      if (it == entries_.end() || it->second.size() > limit) return std::nullopt;
      return it->second;
    };
    for (const char* path :
         {"/run", "/tmp", "/var/tmp", "/home/u", "/home/u/.ssh", "/home/u/.claude", "/srv"}) {
      there_[path] = PathKind::kDirectory;
    }
    there_["/home/u/.netrc"] = PathKind::kFile;
  }

  SandboxPlan Plan(const SandboxRules& flags = {},
                   const SandboxRules& config = SandboxRules::Default()) {
    auto plan = MakeSandboxPlan(config, flags, facts_);
    EXPECT_TRUE(plan.ok());
    return *plan;
  }
  // What is at exactly this path; null: no mount.
  static const SandboxMount* At(const SandboxPlan& plan, const std::string& path) {
    for (const SandboxMount& mount : plan.mounts) {
      if (mount.path == path) return &mount;
    }
    return nullptr;
  }
  static What WhatAt(const SandboxPlan& plan, const std::string& path) {
    const SandboxMount* mount = At(plan, path);
    EXPECT_NE(mount, nullptr) << path;
    return mount ? mount->what : What::kReadOnly;
  }

  SandboxFacts facts_;
  std::map<std::string, PathKind> there_;
  std::map<std::string, std::vector<HostEntry>> entries_;  // of directories that are small enough
};

TEST_F(SandboxPlanTest, TheHostIsReadOnlyAndTheWorkspaceTheBranchs) {
  const SandboxPlan plan = Plan();
  EXPECT_EQ(WhatAt(plan, "/"), What::kReadOnly);
  EXPECT_EQ(WhatAt(plan, "/tmp"), What::kPrivate);
  EXPECT_EQ(WhatAt(plan, "/home/u/ws"), What::kWorkspace);
  EXPECT_EQ(At(plan, "/home/u/ws")->source, "/run/s/branches/main");
  EXPECT_TRUE(plan.network);
}

TEST_F(SandboxPlanTest, DefaultsHideKeysAndKeepAgentsDirectoriesCow) {
  const SandboxPlan plan = Plan();
  EXPECT_EQ(WhatAt(plan, "/home/u/.ssh"), What::kHidden);
  EXPECT_EQ(At(plan, "/home/u/.netrc")->kind, PathKind::kFile);
  EXPECT_EQ(WhatAt(plan, "/home/u/.claude"), What::kCow);
  EXPECT_EQ(At(plan, "/home/u/.claude")->source, "/run/s/host/main/home/u/.claude");
  EXPECT_EQ(At(plan, "/home/u/.aws"), nullptr) << "it is not there";
}

TEST_F(SandboxPlanTest, WhatIsHiddenIsLeftOutOfASmallDirectory) {
  entries_["/home/u"] = {{".ssh", {}}, {".netrc", {}}, {".claude", {}}, {".bashrc", {}},
                         {"ws", {}},   {"l", "there"}, {".docker", {}}};
  there_["/home/u/.docker/config.json"] = PathKind::kFile;
  entries_["/home/u/.docker"] = {{"config.json", {}}, {"contexts", {}}};
  SandboxRules flags;
  flags.hide = {"/home/u/.ssh"};
  const SandboxPlan plan = Plan(flags);
  EXPECT_EQ(WhatAt(plan, "/home/u"), What::kPartial);
  EXPECT_EQ(At(plan, "/home/u/.ssh"), nullptr);
  EXPECT_EQ(At(plan, "/home/u/.netrc"), nullptr);
  EXPECT_EQ(WhatAt(plan, "/home/u/.bashrc"), What::kReadOnly);
  EXPECT_EQ(WhatAt(plan, "/home/u/.claude"), What::kCow);
  EXPECT_EQ(WhatAt(plan, "/home/u/ws"), What::kWorkspace);
  EXPECT_EQ(*At(plan, "/home/u/l"), (SandboxMount{What::kLink, "/home/u/l", "there"}));
  EXPECT_EQ(WhatAt(plan, "/home/u/.docker"), What::kPartial);
  EXPECT_EQ(At(plan, "/home/u/.docker/config.json"), nullptr);
  EXPECT_TRUE(IsVisible(plan, "/home/u"));
  EXPECT_TRUE(IsVisible(plan, "/home/u/.bashrc"));
  EXPECT_FALSE(IsVisible(plan, "/home/u/.ssh/id"));
  EXPECT_THAT(BubblewrapArguments(plan), Contains("--remount-ro"));
}

TEST_F(SandboxPlanTest, OfALargeDirectoryOnlyWhatAFlagHidesIsLeftOut) {
  entries_["/home/u"] = {{".ssh", {}}, {".netrc", {}}};
  for (int i = 0; i < 100; ++i) entries_["/home/u"].push_back({std::to_string(i), {}});
  EXPECT_EQ(WhatAt(Plan(), "/home/u/.ssh"), What::kHidden);
  SandboxRules flags;
  flags.hide = {"/home/u/.netrc"};
  EXPECT_EQ(At(Plan(flags), "/home/u/.netrc"), nullptr);
  EXPECT_EQ(At(Plan(flags), "/home/u/.ssh"), nullptr);
}

TEST_F(SandboxPlanTest, WhatIsMissingIsMadeInASmallDirectory) {
  SandboxRules config;
  config.cow = {"~/.cache/", "~/.npm/", "~/.codex", "~/.config/x/", "~/.claude/"};
  config.hide = {"~/.ssh", "~/.npm"};
  EXPECT_EQ(At(Plan({}, config), "/home/u/.cache"), nullptr) << "its directory is too large";
  entries_["/home/u"] = {{".ssh", {}}, {".bashrc", {}}, {".claude", {}}};
  const SandboxPlan plan = Plan({}, config);
  EXPECT_EQ(WhatAt(plan, "/home/u"), What::kPartial);
  const std::string source = "/run/s/host/main/home/u/.cache";
  EXPECT_EQ(*At(plan, "/home/u/.cache"), (SandboxMount{What::kCow, "/home/u/.cache", source}));
  EXPECT_THAT(plan.made, ElementsAre(source));
  EXPECT_EQ(WhatAt(plan, "/home/u/.claude"), What::kCow);
  EXPECT_EQ(WhatAt(plan, "/home/u/.bashrc"), What::kReadOnly);
  for (const char* absent : {".ssh", ".npm", ".codex", ".config", ".config/x"}) {
    EXPECT_EQ(At(plan, std::string("/home/u/") + absent), nullptr) << absent;
  }
  EXPECT_TRUE(IsVisible(plan, "/home/u/.cache/x"));
}

TEST_F(SandboxPlanTest, WhatIsMissingIsMadeInAnEmptyDirectoryOfTheHostAlone) {
  SandboxRules config;
  config.cow = {"~/.cache/"};
  entries_["/home/u"] = {};
  EXPECT_EQ(WhatAt(Plan({}, config), "/home/u/.cache"), What::kCow);
  SandboxRules flags;
  flags.cow = {"/home/u"};
  EXPECT_TRUE(Plan(flags, config).made.empty()) << "it can be made there anyway";
  flags.cow.clear();
  flags.allow = {"/home/u"};
  EXPECT_TRUE(Plan(flags, config).made.empty());
  EXPECT_EQ(WhatAt(Plan(flags, config), "/home/u"), What::kReal);
  facts_.home = "/tmp";
  EXPECT_TRUE(Plan({}, config).made.empty()) << "that is private";
}

TEST_F(SandboxPlanTest, WhatIsHiddenInViewsIsLeftOutByThem) {
  there_["/run/s/branches/main/.env"] = PathKind::kFile;
  SandboxRules flags;
  flags.cow = {"/home/u"};
  flags.hide = {"/home/u/.ssh", "/home/u/ws/.env", "/home/u/ws/none"};
  const auto absent = FindHiddenInViews(SandboxRules(), flags, facts_);
  EXPECT_THAT(absent, ElementsAre("/home/u/.ssh", "/home/u/ws/.env", "/home/u/ws/none"));
  EXPECT_EQ(WhatAt(Plan(flags), "/home/u/.ssh"), What::kHidden) << "if they do not";
  EXPECT_EQ(WhatAt(Plan(flags), "/home/u/ws/.env"), What::kHidden);
  facts_.absent = absent;
  const SandboxPlan plan = Plan(flags);
  EXPECT_EQ(At(plan, "/home/u/.ssh"), nullptr);
  EXPECT_EQ(At(plan, "/home/u/ws/.env"), nullptr);
  EXPECT_FALSE(IsVisible(plan, "/home/u/.ssh/id"));
  EXPECT_TRUE(IsVisible(plan, "/home/u/.bashrc"));
}

TEST_F(SandboxPlanTest, WhatIsAboveSomethingShownIsNotLeftOutOfViews) {
  there_["/home/u/ws/a/b"] = there_["/home/u/real"] = PathKind::kDirectory;
  SandboxRules flags;
  flags.hide = {"/home/u/ws/a", "/home/u/ws/c", "/home/u/ws/c/d", "/home/u/real/x"};
  flags.allow = {"/home/u/ws/a/b", "/home/u/real"};
  EXPECT_THAT(FindHiddenInViews(SandboxRules(), flags, facts_), ElementsAre("/home/u/ws/c"));
}

TEST_F(SandboxPlanTest, AFlagWinsOverTheConfiguration) {
  SandboxRules flags;
  flags.allow = {"/home/u/.ssh"};
  flags.hide = {"/home/u/.claude"};
  const SandboxPlan plan = Plan(flags);
  EXPECT_EQ(WhatAt(plan, "/home/u/.ssh"), What::kReal);
  EXPECT_EQ(WhatAt(plan, "/home/u/.claude"), What::kHidden);
}

TEST_F(SandboxPlanTest, TheLongerPathWins) {
  SandboxRules flags;
  flags.allow = {"/home/u"};
  const SandboxPlan plan = Plan(flags);
  EXPECT_EQ(WhatAt(plan, "/home/u"), What::kReal);
  EXPECT_EQ(WhatAt(plan, "/home/u/.ssh"), What::kHidden);
  for (size_t i = 1; i < plan.mounts.size(); ++i) {
    EXPECT_LT(plan.mounts[i - 1].path, plan.mounts[i].path) << "parents come first";
  }
}

TEST_F(SandboxPlanTest, CowInCowIsOneMount) {
  SandboxRules flags;
  flags.cow = {"/home/u"};
  const SandboxPlan plan = Plan(flags);
  EXPECT_EQ(WhatAt(plan, "/home/u"), What::kCow);
  EXPECT_EQ(At(plan, "/home/u/.claude"), nullptr);
  EXPECT_EQ(WhatAt(plan, "/home/u/.ssh"), What::kHidden);
}

TEST_F(SandboxPlanTest, TheRootCanBeCow) {
  there_["/"] = PathKind::kDirectory;
  SandboxRules flags;
  flags.cow = {"/"};
  const SandboxPlan plan = Plan(flags);
  EXPECT_EQ(WhatAt(plan, "/"), What::kCow);
  EXPECT_EQ(At(plan, "/")->source, "/run/s/host/main");
  EXPECT_EQ(WhatAt(plan, "/sys"), What::kReadOnly);
  EXPECT_EQ(WhatAt(plan, "/home/u/ws"), What::kWorkspace);
}

TEST_F(SandboxPlanTest, NobodyCanTakeTheWorkspaceAwayOrShowOurState) {
  there_["/home/u/ws"] = there_["/srv/state"] = PathKind::kDirectory;
  facts_.secrets = {"/srv/state", "/home/u/ws/.agentfs", "/tmp/agentfs-1"};
  SandboxRules flags;
  flags.allow = {"/home/u/ws", "/srv/state"};
  const SandboxPlan plan = Plan(flags);
  EXPECT_EQ(WhatAt(plan, "/home/u/ws"), What::kWorkspace);
  EXPECT_EQ(WhatAt(plan, "/srv/state"), What::kHidden);
  EXPECT_EQ(At(plan, "/tmp/agentfs-1"), nullptr) << "/tmp is private";
}

TEST_F(SandboxPlanTest, WhatAFlagNamesMustBeThere) {
  SandboxRules flags;
  flags.allow = {"/nowhere"};
  EXPECT_EQ(MakeSandboxPlan({}, flags, facts_).code(), ENOENT);
  flags.allow.clear();
  flags.hide = {"/nowhere"};
  EXPECT_TRUE(MakeSandboxPlan({}, flags, facts_).ok());
}

TEST_F(SandboxPlanTest, EitherMayCutTheNetwork) {
  SandboxRules cut;
  cut.network = false;
  EXPECT_FALSE(Plan(cut).network);
  EXPECT_FALSE(Plan({}, cut).network);
  EXPECT_THAT(BubblewrapArguments(Plan(cut)), Contains("--unshare-net"));
}

TEST_F(SandboxPlanTest, RootLosesWhatLeadsOutAndUsersGetANamespace) {
  EXPECT_THAT(BubblewrapArguments(Plan()), Contains("--unshare-user"));
  there_["/proc/sys"] = PathKind::kDirectory;
  facts_.is_root = true;
  const auto arguments = BubblewrapArguments(Plan());
  EXPECT_THAT(arguments, Not(Contains("--unshare-user")));
  EXPECT_THAT(arguments, Contains("--cap-drop"));
  EXPECT_THAT(arguments, Not(Contains("CAP_SYS_ADMIN")));
  EXPECT_EQ(WhatAt(Plan(), "/proc/sys"), What::kReadOnly);
}

TEST_F(SandboxPlanTest, KnowsWhichDirectoriesAreVisible) {
  const SandboxPlan plan = Plan();
  EXPECT_TRUE(IsVisible(plan, "/home/u/ws/src"));
  EXPECT_TRUE(IsVisible(plan, "/usr"));
  EXPECT_FALSE(IsVisible(plan, "/tmp/x"));
  EXPECT_FALSE(IsVisible(plan, "/home/u/.ssh"));
}

TEST(InnerOptionsTest, SurviveTheCommandLine) {
  InnerOptions options;
  options.channel = 7;
  options.program = 8;
  options.error = 9;
  options.signals.ignored = ~uint64_t{0};
  options.directory = "/a b";
  options.fallback = "/c";
  options.command = {"sh", "-c", ""};
  const InnerOptions read = InnerOptions::FromArguments(options.ToArguments());
  EXPECT_EQ(read.ToArguments(), options.ToArguments());
  EXPECT_EQ(read.command, options.command);
}

}  // namespace
}  // namespace agentfs
