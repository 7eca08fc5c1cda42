// SPDX-License-Identifier: Apache-2.0
#include "core/records.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace agentfs {
namespace {

NodeRecord SampleNode() {
  NodeRecord r;
  r.mode = 0100644;
  r.uid = UINT32_MAX;
  r.gid = 3;
  r.nlink = 65000;
  r.rdev = 0x0801;
  r.kind = ContentKind::kObject;
  r.size = kMaxFileSize;
  r.atime = {-1, 999'999'999};
  r.mtime = {INT64_MAX, 1};
  r.ctime = {INT64_MIN, 2};
  r.btime = {5, 3};
  r.parent = NodeId(kBaseNodeBit | 77);
  r.born = LayerId(9);
  r.content = ContentId(10);
  r.object = ObjectId(11);
  r.stored = 4096;
  r.base_end = 1u << 30;
  r.has_base = true;
  r.base_signature = {123, {4, 5}, {6, 7}, uint64_t{1} << 61};
  r.base_path = std::string("a/b\0c\xff", 6);
  r.target = "../x";
  return r;
}

TEST(RecordsTest, ANodeComesBackAsItWas) {
  const NodeRecord in = SampleNode();
  NodeRecord out;
  ASSERT_TRUE(DecodeNode(EncodeNode(in), &out));
  EXPECT_EQ(out.mode, in.mode);
  EXPECT_EQ(out.uid, in.uid);
  EXPECT_EQ(out.gid, in.gid);
  EXPECT_EQ(out.nlink, in.nlink);
  EXPECT_EQ(out.rdev, in.rdev);
  EXPECT_EQ(out.kind, in.kind);
  EXPECT_EQ(out.size, in.size);
  EXPECT_TRUE(out.atime == in.atime && out.mtime == in.mtime && out.ctime == in.ctime &&
              out.btime == in.btime);
  EXPECT_EQ(out.parent, in.parent);
  EXPECT_EQ(out.born, in.born);
  EXPECT_EQ(out.content, in.content);
  EXPECT_EQ(out.object, in.object);
  EXPECT_EQ(out.stored, in.stored);
  EXPECT_EQ(out.base_end, in.base_end);
  EXPECT_EQ(out.has_base, in.has_base);
  EXPECT_TRUE(out.base_signature == in.base_signature);
  EXPECT_EQ(out.base_path, in.base_path);
  EXPECT_EQ(out.target, in.target);
}

TEST(RecordsTest, ATornNodeIsNoNode) {
  const std::string whole(EncodeNode(SampleNode()));
  NodeRecord out;
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodeNode(whole.substr(0, size), &out)) << size;
  }
  EXPECT_FALSE(DecodeNode(whole + "x", &out));
}

TEST(RecordsTest, AnImpossibleNodeIsNoNode) {
  NodeRecord record = SampleNode();
  NodeRecord out;
  record.kind = static_cast<ContentKind>(17);
  EXPECT_FALSE(DecodeNode(EncodeNode(record), &out));
  record = SampleNode();
  record.size = uint64_t{1} << 63;
  EXPECT_FALSE(DecodeNode(EncodeNode(record), &out));
}

TEST(RecordsTest, OtherRecordsComeBackAsTheyWere) {
  LayerRecord layer{LayerId(4), true, -5, 6, 7, 8, 9}, layer_out;
  ASSERT_TRUE(DecodeLayer(EncodeLayer(layer), &layer_out));
  EXPECT_EQ(layer_out.parent, layer.parent);
  EXPECT_EQ(layer_out.sealed, layer.sealed);
  EXPECT_EQ(layer_out.created_ns, -5);
  EXPECT_EQ(layer_out.stored_bytes + layer_out.files + layer_out.directories + layer_out.total_size,
            6 + 7 + 8 + 9);

  SnapshotRecord snapshot{"a/b", LayerId(3), "main", std::string(5000, 'm'), 12}, snapshot_out;
  ASSERT_TRUE(DecodeSnapshot(EncodeSnapshot(snapshot), &snapshot_out));
  EXPECT_EQ(snapshot_out.name, "a/b");
  EXPECT_EQ(snapshot_out.layer, LayerId(3));
  EXPECT_EQ(snapshot_out.branch, "main");
  EXPECT_EQ(snapshot_out.message, snapshot.message);
  EXPECT_EQ(snapshot_out.created_ns, 12);

  EntryRecord entry;
  ASSERT_TRUE(DecodeEntry(EncodeEntry({NodeId(kBaseNodeBit + 1), 0120000, 42}), &entry));
  EXPECT_EQ(entry.node, NodeId(kBaseNodeBit + 1));
  EXPECT_EQ(entry.type, 0120000u);
  EXPECT_EQ(entry.since_ms, 42);
  EXPECT_FALSE(entry.IsForgotten());

  LayerId id;
  int64_t created = 0, value = 0;
  ASSERT_TRUE(DecodeBranch(EncodeBranch(LayerId(8), -1), &id, &created));
  EXPECT_EQ(id, LayerId(8));
  EXPECT_EQ(created, -1);
  ASSERT_TRUE(DecodeInt(EncodeInt(INT64_MIN), &value));
  EXPECT_EQ(value, INT64_MIN);
}

TEST(RecordsTest, KeysComeBackAsTheyWere) {
  const std::string name("n\0\xff/x", 5);
  auto entry = ParseEntryKey(EntryKey(NodeId(5), name, LayerId(6)));
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->parent, NodeId(5));
  EXPECT_EQ(entry->name, name);
  EXPECT_EQ(entry->layer, LayerId(6));
  auto node = ParseNodeKey(NodeKey(NodeId(kBaseNodeBit), LayerId(2)));
  ASSERT_TRUE(node);
  EXPECT_EQ(node->node, NodeId(kBaseNodeBit));
  auto content = ParseContentKey(ContentKey(ContentId(1), 2, LayerId(3)));
  ASSERT_TRUE(content);
  EXPECT_EQ(content->index, 2u);
  auto object = ParseObjectKey(ObjectKey(ContentId(1), LayerId(2), ObjectId(3)));
  ASSERT_TRUE(object);
  EXPECT_EQ(object->object, ObjectId(3));
}

TEST(RecordsTest, TornKeysAreNoKeys) {
  const std::string entry(EntryKey(NodeId(5), "name", LayerId(6)));
  for (size_t size = 0; size < entry.size(); ++size) {
    EXPECT_FALSE(ParseEntryKey(entry.substr(0, size))) << size;
  }
  EXPECT_FALSE(ParseEntryKey(entry + "x"));
  const std::string node(NodeKey(NodeId(1), LayerId(2)));
  EXPECT_FALSE(ParseNodeKey(node.substr(1)));
  EXPECT_FALSE(ParseNodeKey(node + node));
  EXPECT_FALSE(ParseContentKey(node));
  EXPECT_FALSE(ParseObjectKey(node));
}

// Versions of one record lie together, the newest last.
TEST(RecordsTest, KeysOfOneRecordSortByLayer) {
  EXPECT_LT(std::string(EntryKey(NodeId(1), "a", LayerId(255))),
            std::string(EntryKey(NodeId(1), "a", LayerId(256))));
  EXPECT_LT(std::string(EntryKey(NodeId(1), "a", LayerId(UINT32_MAX))),
            std::string(EntryKey(NodeId(1), "ab", LayerId(1))));
  EXPECT_LT(std::string(ContentKey(ContentId(1), 9, LayerId(9))),
            std::string(ContentKey(ContentId(1), 10, LayerId(1))));
}

TEST(RecordsTest, RunsComeBackAsTheyWere) {
  const Runs runs = {{0, 1, ObjectId(4)}, {1, 100, ObjectId()}, {200, 56, ObjectId(1u << 31)}};
  Runs out;
  ASSERT_TRUE(DecodeRuns(EncodeRuns(runs).view(), &out));
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[2].start, 200);
  EXPECT_EQ(out[2].count, 56);
  EXPECT_EQ(out[2].object, ObjectId(1u << 31));
  ASSERT_TRUE(DecodeRuns("", &out));
  EXPECT_TRUE(out.empty());
}

TEST(RecordsTest, ImpossibleRunsAreRefused) {
  Runs out;
  const auto refused = [&](const Runs& runs) { return !DecodeRuns(EncodeRuns(runs).view(), &out); };
  EXPECT_TRUE(refused({{0, 0, ObjectId(1)}})) << "empty";
  EXPECT_TRUE(refused({{5, 5, ObjectId(1)}, {9, 1, ObjectId(1)}})) << "overlapping";
  EXPECT_TRUE(refused({{5, 1, ObjectId(1)}, {1, 1, ObjectId(1)}})) << "out of order";
  EXPECT_TRUE(refused({{250, 7, ObjectId(1)}})) << "past the span's end";
  EXPECT_TRUE(refused({{256, 1, ObjectId(1)}})) << "past the span";
  const std::string good(EncodeRuns({{0, 1, ObjectId(4)}}).view());
  EXPECT_FALSE(DecodeRuns(good.substr(0, good.size() - 1), &out));
}

// Whatever the bytes, decoding ends, and what it accepts is within bounds.
TEST(RecordsTest, GarbageIsSafe) {
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 4 == 0 ? random() : random() % 3);
    Runs runs;
    if (DecodeRuns(bytes, &runs)) {
      for (const auto& run : runs) EXPECT_LE(run.start + run.count, int{kPagesPerSpan});
    }
    NodeRecord node;
    if (DecodeNode(bytes, &node)) {
      EXPECT_LE(node.size, kMaxFileSize);
    }
    LayerRecord layer;
    SnapshotRecord snapshot;
    (void)DecodeLayer(bytes, &layer);
    (void)DecodeSnapshot(bytes, &snapshot);
    (void)ParseEntryKey(bytes);
  }
}

}  // namespace
}  // namespace agentfs
