// SPDX-License-Identifier: Apache-2.0
#include "agentfs/exec_log.h"

#include <gtest/gtest.h>

#include "core_rig.h"
#include "store/schema.h"

namespace agentfs {
namespace {

class ExecLogTest : public CoreTest {};

TEST_F(ExecLogTest, AnExecIsKeptAsItWasToldAndEnds) {
  OpenOverBase();
  const ExecStart start{.kind = "exec",
                        .command = {"sh", "-c", "echo \"it's\"\n"},
                        .directory = "/src",
                        .branch = "main",
                        .snapshot = 7,
                        .action = "allow",
                        .rule = "r",
                        .reason = "why",
                        .uid = 12,
                        .label = "l",
                        .details = "{}"};
  const uint64_t id = Get(BeginExec(volume(), start));
  auto running = Get(GetExec(volume(), id));
  ASSERT_TRUE(running);
  EXPECT_EQ(running->start.command, start.command);
  EXPECT_EQ(running->status, kExecRunning);
  EXPECT_EQ(running->end_ns, 0);
  Get(EndExec(volume(), id, {.status = 3, .details = "{\"out\":1}"}));
  Get(EndExec(volume(), id, {.status = 4}));
  const auto ended = Get(GetExec(volume(), id));
  EXPECT_EQ(ended->status, 3);
  EXPECT_GE(ended->end_ns, ended->start_ns);
  EXPECT_EQ(ended->start.snapshot, 7u);
  EXPECT_EQ(ended->start.directory, "/src");
  EXPECT_EQ(ended->start.label, "l");
  EXPECT_EQ(ended->start.details, "{\"out\":1}");
  EXPECT_EQ(EndExec(volume(), id + 1, {}).code(), ENOENT);
}

TEST_F(ExecLogTest, WhatNobodySawEndIsEndedAsLost) {
  OpenOverBase();
  const uint64_t first = Get(BeginExec(volume(), {.command = {"a"}}));
  const uint64_t second = Get(RecordExec(volume(), {.command = {"b"}}, {.status = 0}));
  EXPECT_LT(first, second);
  Get(EndLostExecs(volume()));
  EXPECT_EQ(Get(GetExec(volume(), first))->status, kExecLost);
  EXPECT_EQ(Get(GetExec(volume(), second))->status, 0);
  std::vector<uint64_t> ids;
  Get(ListExecs(volume(), [&](const ExecRecord& record) {
    ids.push_back(record.id);
    return Visit::kContinue;
  }));
  EXPECT_EQ(ids, (std::vector<uint64_t>{second, first}));
}

TEST_F(ExecLogTest, ArgumentsThatAreNoUtf8AreKeptReadable) {
  OpenOverBase();
  const uint64_t id = Get(BeginExec(volume(), {.command = {"a\xff", "b"}}));
  EXPECT_EQ(Get(GetExec(volume(), id))->start.command.size(), 2u);
  EXPECT_EQ(CommandText({.command = {"a b", "it's", "plain"}}), "'a b' 'it'\\''s' plain");
}

TEST_F(ExecLogTest, RowsOfOtherTablesAreRefused) {
  OpenOverBase();
  Batch batch;
  batch.Put(tables::kNodes, "", "");
  EXPECT_EQ(volume().WriteRecords(batch).code(), EINVAL);
}

}  // namespace
}  // namespace agentfs
