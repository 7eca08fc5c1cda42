// SPDX-License-Identifier: Apache-2.0
//
// audit, audit export, audit prune: which rows they mean, and what they do not understand.
#include <gmock/gmock.h>

#include <algorithm>

#include "program.h"

namespace agentfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AuditCliTest : public WorkspaceCliTest {
 protected:
  void SetUp() override {
    WorkspaceCliTest::SetUp();
    Do({"fs", "mkdir", "/docs"});
    Do({"fs", "write", "/docs/a.md"}, "12345");
    Do({"fs", "mv", "/docs/a.md", "/docs/b.md"});
    Do({"fs", "rm", "/README"});
  }
  static std::vector<nlohmann::json> Rows(const Outcome& outcome) {
    std::vector<nlohmann::json> rows;
    for (const std::string& line : outcome.Lines()) rows.push_back(nlohmann::json::parse(line));
    return rows;
  }
  // "create /docs/a.md" for each row.
  std::vector<std::string> Told(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    std::vector<std::string> told;
    for (const auto& row : Rows(Do(std::move(arguments)))) {
      told.push_back(row["op"].get<std::string>() + " " + row["path"].get<std::string>());
    }
    return told;
  }
  void ExpectUsage(std::vector<std::string> arguments) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const Outcome outcome = Try(std::move(arguments));
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("agentfs: "));
  }
  const std::vector<std::string> all_ = {"mkdir /docs", "create /docs/a.md", "write /docs/a.md",
                                         "rename /docs/a.md", "unlink /README"};
};

TEST_F(AuditCliTest, ListsWhatHappenedInItsOrder) {
  EXPECT_EQ(Told({"audit"}), all_);
  EXPECT_EQ(Told({"audit", "export"}), all_);
  const Outcome table = Do({"audit"});
  ASSERT_EQ(table.Lines().size(), all_.size() + 1);
  EXPECT_THAT(table.Lines()[0], HasSubstr("PATH"));
  EXPECT_THAT(table.Lines()[4], HasSubstr("/docs/a.md -> /docs/b.md"));
  const auto rows = Rows(Do({"audit", "--json", "--op", "write"}));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["bytes"], 5);
  EXPECT_EQ(rows[0]["exec"], 0);
  EXPECT_EQ(rows[0]["branch"], "main");
}

TEST_F(AuditCliTest, PathsAreGlobsAndMeanEitherName) {
  EXPECT_THAT(Told({"audit", "--path", "*.md", "--op", "rename"}),
              ElementsAre("rename /docs/a.md"));
  EXPECT_THAT(Told({"audit", "--path", "b.md"}), ElementsAre("rename /docs/a.md"));
  EXPECT_EQ(Told({"audit", "--path", "/docs"}).size(), 4u) << "and what is in it";
  EXPECT_THAT(Told({"audit", "--path", "/RE{AD,WRITE}ME"}), ElementsAre("unlink /README"));
  EXPECT_THAT(Told({"audit", "--path", "/a.md"}), ElementsAre());
  EXPECT_THAT(Told({"audit", "export", "--path", "**/a.md", "--op", "create"}),
              ElementsAre("create /docs/a.md"));
}

TEST_F(AuditCliTest, OpExecSinceAndLimitMayBeToldTogether) {
  for (const char* since : {"1m", "90s", "2h", "3d", "1w", "99999999999999999d", "0", "1.5",
                            "2020-01-31", "2020-01-31T12:00:00Z", "2020-01-31T12:00:00.25Z"}) {
    EXPECT_EQ(Told({"audit", "--since", since}), all_) << since;
  }
  EXPECT_THAT(Told({"audit", "--since", "2200-01-01"}), ElementsAre());
  EXPECT_EQ(Told({"audit", "--exec", "0"}), all_);
  EXPECT_THAT(Told({"audit", "--exec", "1"}), ElementsAre());
  EXPECT_THAT(Told({"audit", "--limit", "2"}), ElementsAre(all_[3], all_[4])) << "the last ones";
  EXPECT_EQ(Told({"audit", "--limit", "0"}), all_);
  EXPECT_THAT(Told({"audit", "export", "--limit", "1"}), ElementsAre(all_[4]));
  EXPECT_THAT(Told({"audit", "--op", "write", "export"}), ElementsAre(all_[2])) << "before it too";
  EXPECT_THAT(Told({"audit", "--op", "write", "--exec", "0", "--since", "1h", "--path", "a.md",
                    "--limit", "5"}),
              ElementsAre(all_[2]));
  const auto rows = Rows(Do({"audit", "export"}));
  const int64_t middle = rows[2]["time_ns"];
  const std::string seconds = std::to_string(middle / 1'000'000'000) + "." +
                              std::to_string(1'000'000'000 + middle % 1'000'000'000).substr(1);
  EXPECT_THAT(Told({"audit", "--since", seconds}), ElementsAre(all_[2], all_[3], all_[4]));
}

TEST_F(AuditCliTest, WhatCannotBeUnderstoodIsWrongUsage) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--op", "nonsense"},
                                             {"--op", "Write"},
                                             {"--exec", "x"},
                                             {"--exec", "-1"},
                                             {"--limit", "-3"},
                                             {"--limit", "many"},
                                             {"--since", ""},
                                             {"--since", "tomorrow"},
                                             {"--since", "5x"},
                                             {"--since", "-5m"},
                                             {"--since", "2020-13-01"},
                                             {"--since", "2020-01-31T12:00:00"},
                                             {"--path", ""},
                                             {"--path", "["},
                                             {"--path", "{a"},
                                             {"extra"},
                                             {"prune"},
                                             {"prune", "--keep", "-1"},
                                             {"prune", "--before", "soon"},
                                             {"prune", "--before", ""},
                                             {"prune", "--keep", "1", "--before", "1h"}}) {
    std::vector<std::string> arguments = {"audit"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    ExpectUsage(arguments);
    if (wrong[0] == "prune" || wrong[0] == "extra") continue;
    arguments.insert(arguments.begin() + 1, "export");
    ExpectUsage(arguments);
  }
  EXPECT_EQ(Told({"audit"}), all_);
}

TEST_F(AuditCliTest, PruneDropsTheOldestAndSaysSo) {
  EXPECT_EQ(Do({"audit", "prune", "--before", "1h", "--json"}).Json()["dropped"], 0);
  EXPECT_EQ(Do({"audit", "prune", "--before", "0", "--json"}).Json()["dropped"], 0);
  EXPECT_EQ(Do({"audit", "prune", "--before", "99999999999999999d", "--json"}).Json()["dropped"],
            0);
  EXPECT_EQ(Do({"audit", "prune", "--keep", "9", "--json"}).Json()["dropped"], 0);
  EXPECT_EQ(Told({"audit"}), all_);
  EXPECT_EQ(Do({"audit", "prune", "--keep", "2", "--json"}).Json()["dropped"], 3);
  EXPECT_THAT(Told({"audit"}), ElementsAre(all_[3], all_[4], "dropped "));
  EXPECT_EQ(Do({"audit", "prune", "--keep", "0", "--json"}).Json()["dropped"], 3);
  EXPECT_THAT(Told({"audit"}), ElementsAre("dropped "));
}

}  // namespace
}  // namespace agentfs
