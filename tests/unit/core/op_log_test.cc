// SPDX-License-Identifier: Apache-2.0
#include "agentfs/op_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <map>

#include "core_rig.h"
#include "store/schema.h"

namespace agentfs {
namespace {

// Knows processes 1, 2, ... as a, b, ...; exec 10, 20, ...
class FakeProcesses : public ProcessSource {
 public:
  std::shared_ptr<const OpProcess> Identify(const Caller& caller, std::string_view,
                                            NodeId) override {
    auto& known = known_[caller.pid];
    if (known == nullptr) {
      known = std::make_shared<const OpProcess>(
          OpProcess{.exec = caller.pid * 10,
                    .pid = caller.pid,
                    .uid = caller.uid,
                    .comm = std::string(1, static_cast<char>('a' + caller.pid - 1)),
                    .level = caller.pid == 9   ? AuditLevel::kOff
                             : caller.pid == 8 ? AuditLevel::kAll
                                               : AuditLevel::kChanges});
    }
    return known;
  }

 private:
  std::map<uint32_t, std::shared_ptr<const OpProcess>> known_;
};

AttrChange ModeChange(uint32_t mode) {
  AttrChange change;
  change.mode = mode;
  return change;
}

AttrChange SizeChange(uint64_t size) {
  AttrChange change;
  change.size = size;
  return change;
}

class OpLogTest : public CoreTest {
 protected:
  OpLogTest() { options_.audit.level = AuditLevel::kChanges; }

  void Start() {
    OpenOverBase(Backing::kSqlite);
    Attach();
  }
  void Commit() { Get(volume().Flush(Durability::kNone)); }
  size_t Count(TableId table) {
    size_t rows = 0;
    Get(volume().ScanRecords({.table = table}, [&](const RowView&) {
      ++rows;
      return Visit::kContinue;
    }));
    return rows;
  }
  void Attach() {
    volume().SetProcessSource(std::make_shared<FakeProcesses>());
    fs_ = Get(volume().OpenBranch("main"));
  }
  static Caller By(uint32_t pid) { return Caller{.pid = pid}; }
  NodeRef Make(const std::string& name, uint32_t pid = 1, NodeRef parent = {}) {
    return Get(fs_->Create(By(pid), parent ? *parent : *fs_->Root(), name, 0644)).node;
  }
  void Write(Node& node, size_t bytes, uint32_t pid = 1) {
    Get(fs_->Write(By(pid), node, 0, std::string(bytes, 'x')));
  }
  // "create a", "write a 10", "rename a b" ...
  std::vector<std::string> Log(const OpFilter& filter = {}) {
    std::vector<std::string> lines;
    Get(ScanOps(volume(), filter, [&](const OpRecord& op) {
      std::string line(OpName(op.kind));
      line += " " + op.path.substr(std::min<size_t>(op.path.size(), 1));
      if (!op.path2.empty()) line += " " + op.path2.substr(1);
      if (op.bytes != 0) line += " " + std::to_string(op.bytes);
      if (op.error != 0) line += " errno " + std::to_string(op.error);
      lines.push_back(line);
      return Visit::kContinue;
    }));
    return lines;
  }
  using Lines = std::vector<std::string>;
  std::shared_ptr<FileSystem> fs_;
};

TEST_F(OpLogTest, EachChangeIsARowWithItsPaths) {
  BaseDirectory("dir");
  BaseFile("dir/base", "content");
  Start();
  Node& root = *fs_->Root();
  NodeRef dir = Get(fs_->MakeDirectory(By(1), root, "d", 0755)).node;
  NodeRef file = Make("f", 1, dir);
  Write(*file, 10);
  Get(fs_->Link(By(1), *file, root, "hard"));
  Get(fs_->MakeSymlink(By(1), root, "soft", "d/f"));
  Get(fs_->SetAttr(By(1), *file, ModeChange(0600)));
  Get(fs_->SetAttr(By(1), *file, SizeChange(3)));
  Get(fs_->SetXattr(By(1), *file, "user.x", "v", XattrMode::kSet));
  Get(fs_->RemoveXattr(By(1), *file, "user.x"));
  Get(fs_->Rename(By(1), root, "d", root, "e", RenameMode::kReplace));
  Write(*file, 2);
  NodeRef base_dir = Get(fs_->Lookup(By(1), root, "dir")).node;
  NodeRef base = Get(fs_->Lookup(By(1), *base_dir, "base")).node;
  Write(*base, 4);
  Get(fs_->Unlink(By(1), *dir, "f"));
  Write(*file, 1);  // by its other name
  Get(fs_->Unlink(By(1), root, "hard"));
  Get(fs_->RemoveDirectory(By(1), root, "e"));
  EXPECT_EQ(Log(), (Lines{"mkdir d", "create d/f", "write d/f 10", "link d/f hard", "symlink soft",
                          "setattr d/f", "truncate d/f 3", "setxattr d/f", "removexattr d/f",
                          "rename d e", "write e/f 2", "write dir/base 4", "unlink e/f",
                          "write hard 1", "unlink hard", "rmdir e"}));
}

TEST_F(OpLogTest, WhatARenameLeavesBehindIsARowToo) {
  Start();
  Node& root = *fs_->Root();
  Make("a");
  Make("b");
  Get(fs_->Rename(By(1), root, "a", root, "c", RenameMode::kWhiteout));
  Get(fs_->Rename(By(1), root, "b", root, "c", RenameMode::kExchange));
  Get(fs_->Unlink(By(1), root, "a"));
  EXPECT_EQ(Log(), (Lines{"create a", "create b", "rename a c", "mknod a", "rename b c",
                          "rename c b", "unlink a"}));
}

TEST_F(OpLogTest, WritesAreOneRowUntilSomethingElseHappensToTheFile) {
  Start();
  NodeRef a = Make("a"), b = Make("b");
  Write(*a, 1);
  Write(*b, 5);
  Write(*a, 2);
  Commit();
  Write(*a, 4);  // in another batch
  Write(*a, 8, 2);
  Write(*a, 16, 1);
  Get(fs_->SetAttr(By(1), *b, ModeChange(0600)));
  Write(*b, 32);
  EXPECT_EQ(Log(), (Lines{"create a", "create b", "write a 7", "write b 5", "write a 8",
                          "write a 16", "setattr b", "write b 32"}));
}

TEST_F(OpLogTest, ASnapshotBeginsANewRow) {
  Start();
  NodeRef a = Make("a");
  Write(*a, 1);
  Get(volume().CreateSnapshot("main", "s", "", Durability::kNone));
  Write(*a, 2);
  std::vector<uint64_t> layers;
  Get(ScanOps(volume(), {.kind = OpKind::kWrite}, [&](const OpRecord& op) {
    layers.push_back(op.layer);
    return Visit::kContinue;
  }));
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_LT(layers[0], layers[1]);
}

TEST_F(OpLogTest, RowsSayWhoDidItInWhichBranch) {
  Start();
  Write(*Make("a", 2), 3, 2);
  Get(volume().CreateBranch("side", "main"));
  auto side = Get(volume().OpenBranch("side"));
  Get(side->Create(By(3), *side->Root(), "b", 0644));
  std::vector<OpRecord> ops;
  Get(ScanOps(volume(), {}, [&](const OpRecord& op) {
    ops.push_back(op);
    return Visit::kContinue;
  }));
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_EQ(ops[1].process.exec, 20u);
  EXPECT_EQ(ops[1].process.comm, "b");
  EXPECT_EQ(ops[1].branch, "main");
  EXPECT_EQ(ops[2].process.pid, 3u);
  EXPECT_EQ(ops[2].branch, "side");
  EXPECT_EQ(Log({.exec = 30}), (Lines{"create b"}));
  EXPECT_EQ(Log({.path = [](const std::string& path) { return path == "/a"; }}).size(), 2u);
}

TEST_F(OpLogTest, TheLastOnesCanBeHadAlone) {
  Start();
  for (int i = 0; i < 10; ++i) Make("f" + std::to_string(i));
  EXPECT_EQ(Log({.order = Order::kDescending, .limit = 2}), (Lines{"create f9", "create f8"}));
  EXPECT_EQ(Log({.path = [](const std::string& path) { return path == "/f3" || path == "/f5"; },
                 .order = Order::kDescending,
                 .limit = 1}),
            (Lines{"create f5"}));
  EXPECT_TRUE(Log({.since_ns = INT64_MAX, .order = Order::kDescending}).empty());
}

TEST_F(OpLogTest, NamesThatWereKnownBeforeAreFound) {
  Start();
  NodeRef dir = Get(fs_->MakeDirectory(By(1), *fs_->Root(), "d", 0755)).node;
  for (int i = 0; i < 100; ++i) Make("f" + std::to_string(i), 1, dir);
  Make("few");
  const size_t before = Log().size();
  dir = NodeRef();
  fs_.reset();
  Reopen();
  Attach();
  dir = Get(fs_->Lookup(By(1), *fs_->Root(), "d")).node;
  Write(*Get(fs_->Lookup(By(1), *dir, "f7")).node, 7);
  Write(*Get(fs_->Lookup(By(1), *fs_->Root(), "few")).node, 8);
  Lines log = Log();
  EXPECT_EQ(Lines(log.begin() + static_cast<long>(before), log.end()),
            (Lines{"write d/f7 7", "write few 8"}));
}

TEST_F(OpLogTest, AReplacedNameIsLookedForAnew) {
  Start();
  Node& root = *fs_->Root();
  NodeRef a = Make("a"), b = Make("b");
  Get(fs_->Link(By(1), *b, root, "other"));
  Get(fs_->Rename(By(1), root, "a", root, "b", RenameMode::kReplace));
  Write(*b, 1);
  Write(*a, 2);
  Lines log = Log();
  EXPECT_EQ(Lines(log.begin() + 3, log.end()), (Lines{"rename a b", "write other 1", "write b 2"}));
}

TEST_F(OpLogTest, NamesMayBeAnyBytes) {
  Start();
  for (const std::string name :
       {"it's \"q\"", "a\nb", "\xff\xfe", "'; DROP TABLE op_rows; --", "%s"}) {
    Make(name);
    EXPECT_EQ(Log().back(), "create " + name);
  }
}

TEST_F(OpLogTest, DeniedAttemptsAreRowsWithTheirErrno) {
  Start();
  NodeRef a = Make("a");
  fs_->NoteDenied(
      By(1), {.kind = OpKind::kUnlink, .error = EACCES, .node = fs_->Root()->id(), .name = "a"});
  fs_->NoteDenied(By(1), {.kind = OpKind::kWrite, .error = ENOSPC, .node = a->id()});
  EXPECT_EQ(Log(), (Lines{"create a", "unlink a errno 13", "write a errno 28"}));
}

TEST_F(OpLogTest, LevelsDecideWhatIsRecorded) {
  Start();
  NodeRef silent = Make("silent", 9);
  Write(*silent, 1, 9);
  Write(*silent, 2, 1);  // by somebody else, who knows its name
  EXPECT_EQ(fs_->NoteOpened(By(1), *silent), 0u);
  const uint64_t token = fs_->NoteOpened(By(8), *silent);
  EXPECT_NE(token, 0u);
  Commit();
  fs_->NoteClosed(token, 11, 22);
  EXPECT_EQ(Log(), (Lines{"write silent 2", "open silent 22"}));
}

TEST_F(OpLogTest, WithLevelOffThereIsNothing) {
  options_.audit.level = AuditLevel::kOff;
  Start();
  Write(*Make("a"), 1);
  EXPECT_TRUE(Log().empty());
  EXPECT_EQ(Count(tables::kOpPaths), 0u);
}

TEST_F(OpLogTest, AtItsLimitTheOldestRowsGoAndARowSaysSo) {
  options_.audit.max_rows = 160;
  Start();
  for (int i = 0; i < 500; ++i) {
    Make("f" + std::to_string(i));
    if (i % 10 == 0) Commit();
  }
  Commit();
  const Lines log = Log();
  EXPECT_LE(log.size(), 175u);
  EXPECT_EQ(log.back(), "create f499");
  EXPECT_TRUE(std::any_of(log.begin(), log.end(),
                          [](const std::string& line) { return line.starts_with("dropped"); }));
  for (const std::string& line : log) {
    EXPECT_TRUE(line.starts_with("dropped") || line.starts_with("create f")) << line;
  }
  EXPECT_LE(Count(tables::kOpPaths), 175u) << "names of what was dropped";
  EXPECT_EQ(Count(tables::kOpDirectories), 1u);
}

TEST_F(OpLogTest, PruningKeepsWhatItWasToldToAndItsNames) {
  Start();
  NodeRef d = Get(fs_->MakeDirectory(By(1), *fs_->Root(), "d", 0755)).node;
  for (int i = 0; i < 20; ++i) Make("f" + std::to_string(i), 1, d);
  fs_.reset();
  d = NodeRef();
  Reopen();  // so that no name is kept for being in memory
  Attach();
  EXPECT_EQ(Get(PruneOps(volume(), 0, 2)), 19u);
  EXPECT_EQ(Log(), (Lines{"create d/f18", "create d/f19", "dropped  19"}));
  EXPECT_EQ(Count(tables::kOpPaths), 2u);
  d = Get(fs_->Lookup(By(1), *fs_->Root(), "d")).node;
  Make("later", 1, d);
  EXPECT_EQ(Log().back(), "create d/later");
  EXPECT_EQ(Get(PruneOps(volume(), INT64_MAX, 0)), 4u);
  EXPECT_EQ(Log(), (Lines{"dropped  4"}));
}

TEST_F(OpLogTest, ARestoreIsARow) {
  Start();
  Make("a");
  Get(volume().CreateSnapshot("main", "s", "", Durability::kNone));
  NodeRef b = Make("b");
  b = NodeRef();
  Get(volume().Restore("main", "s"));
  Write(*Get(fs_->Lookup(By(1), *fs_->Root(), "a")).node, 1);
  EXPECT_EQ(Log(), (Lines{"create a", "create b", "restore ", "write a 1"}));
}

TEST_F(OpLogTest, TheLogIsCutWhereTheStateIs) {
  Start();
  Write(*Make("kept"), 1);
  Commit();
  store().FailCommits(EIO);
  (void)fs_->Create(By(1), *fs_->Root(), "lost", 0644);
  fs_.reset();
  AbandonAndReopen();
  Attach();
  EXPECT_EQ(Log(), (Lines{"create kept", "write kept 1"}));
  EXPECT_EQ(fs_->Lookup(By(1), *fs_->Root(), "lost").code(), ENOENT);
  ExpectClean();
}

}  // namespace
}  // namespace agentfs
