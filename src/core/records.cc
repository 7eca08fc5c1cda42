// SPDX-License-Identifier: Apache-2.0
#include "core/records.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/codec.h"

namespace agentfs {
namespace {

void WriteTime(ValueWriter& out, const Timestamp& time) { out.Int(time.sec).Int(time.nsec); }

Timestamp ReadTime(ValueReader& in) {
  Timestamp time;
  time.sec = in.Int();
  time.nsec = static_cast<uint32_t>(in.Int());
  return time;
}

uint32_t ReadU32(ValueReader& in) { return static_cast<uint32_t>(in.Int()); }
uint64_t ReadU64(ValueReader& in) { return static_cast<uint64_t>(in.Int()); }

}  // namespace

NodeRecord NewDirectory(LayerId born) {
  NodeRecord record;
  record.mode = S_IFDIR | 0755;
  record.uid = getuid();
  record.gid = getgid();
  record.nlink = 2;
  record.atime = record.mtime = record.ctime = record.btime = Now();
  record.born = born;
  return record;
}

RowKey NodeKey(NodeId node, LayerId layer) {
  return KeyWriter().Int(node.value).Int(layer.value).TakeKey();
}
RowKey EntryKey(NodeId parent, std::string_view name, LayerId layer) {
  return KeyWriter().Int(parent.value).Bytes(name).Int(layer.value).TakeKey();
}
RowKey XattrKey(NodeId node, std::string_view name, LayerId layer) {
  return EntryKey(node, name, layer);
}
RowKey ContentKey(ContentId content, uint64_t index, LayerId layer) {
  return KeyWriter().Int(content.value).Int(index).Int(layer.value).TakeKey();
}
RowKey LayerKey(LayerId layer) { return KeyWriter().Int(layer.value).TakeKey(); }
RowKey SnapshotKey(uint64_t number) { return KeyWriter().Int(number).TakeKey(); }
RowKey NameKey(std::string_view name) { return KeyWriter().Bytes(name).TakeKey(); }
RowKey ObjectKey(ContentId content, LayerId layer, ObjectId object) {
  return KeyWriter().Int(content.value).Int(layer.value).Int(object.value).TakeKey();
}
RowKey OrphanKey(LayerId layer, NodeId node, ContentId content) {
  return KeyWriter().Int(layer.value).Int(node.value).Int(content.value).TakeKey();
}

std::optional<NodeRowKey> ParseNodeKey(std::string_view key) {
  KeyReader in(key);
  NodeRowKey parsed{NodeId(in.Int()), LayerId(in.Int())};
  if (!in.ok() || !in.AtEnd()) return std::nullopt;
  return parsed;
}

std::optional<EntryRowKey> ParseEntryKey(std::string_view key) {
  KeyReader in(key);
  EntryRowKey parsed;
  parsed.parent = NodeId(in.Int());
  parsed.name = in.Bytes();
  parsed.layer = LayerId(in.Int());
  if (!in.ok() || !in.AtEnd()) return std::nullopt;
  return parsed;
}

std::optional<ContentRowKey> ParseContentKey(std::string_view key) {
  KeyReader in(key);
  ContentRowKey parsed;
  parsed.content = ContentId(in.Int());
  parsed.index = in.Int();
  parsed.layer = LayerId(in.Int());
  if (!in.ok() || !in.AtEnd()) return std::nullopt;
  return parsed;
}

std::optional<ObjectRowKey> ParseObjectKey(std::string_view key) {
  KeyReader in(key);
  ObjectRowKey parsed;
  parsed.content = ContentId(in.Int());
  parsed.layer = LayerId(in.Int());
  parsed.object = ObjectId(in.Int());
  if (!in.ok() || !in.AtEnd()) return std::nullopt;
  return parsed;
}

RowValue EncodeNode(const NodeRecord& r) {
  ValueWriter out;
  out.Int(r.mode).Int(r.uid).Int(r.gid).Int(r.nlink).Int(r.rdev);
  out.Int(static_cast<int64_t>(r.size));
  WriteTime(out, r.atime);
  WriteTime(out, r.mtime);
  WriteTime(out, r.ctime);
  WriteTime(out, r.btime);
  out.Int(static_cast<int64_t>(r.parent.value))
      .Int(static_cast<int64_t>(r.born.value))
      .Int(static_cast<int64_t>(r.kind));
  out.Int(static_cast<int64_t>(r.content.value)).Int(static_cast<int64_t>(r.object.value));
  out.Int(static_cast<int64_t>(r.stored)).Int(static_cast<int64_t>(r.base_end));
  out.Int(static_cast<int64_t>(r.base_signature.size));
  WriteTime(out, r.base_signature.mtime);
  WriteTime(out, r.base_signature.ctime);
  out.Int(static_cast<int64_t>(r.base_signature.inode)).Int(r.has_base ? 1 : 0);
  out.Bytes(r.base_path).Bytes(r.target);
  return out.TakeValue();
}

bool DecodeNode(std::string_view value, NodeRecord* r) {
  ValueReader in(value);
  r->mode = ReadU32(in);
  r->uid = ReadU32(in);
  r->gid = ReadU32(in);
  r->nlink = ReadU32(in);
  r->rdev = ReadU32(in);
  r->size = ReadU64(in);
  r->atime = ReadTime(in);
  r->mtime = ReadTime(in);
  r->ctime = ReadTime(in);
  r->btime = ReadTime(in);
  r->parent = NodeId(ReadU64(in));
  r->born = LayerId(ReadU64(in));
  const uint64_t kind = ReadU64(in);
  r->kind = static_cast<ContentKind>(kind);
  r->content = ContentId(ReadU64(in));
  r->object = ObjectId(ReadU64(in));
  r->stored = ReadU64(in);
  r->base_end = ReadU64(in);
  r->base_signature.size = ReadU64(in);
  r->base_signature.mtime = ReadTime(in);
  r->base_signature.ctime = ReadTime(in);
  r->base_signature.inode = ReadU64(in);
  r->has_base = in.Int() != 0;
  r->base_path = std::string(in.Bytes());
  r->target = std::string(in.Bytes());
  const bool needs_base = r->kind == ContentKind::kBase || r->base_end != 0;
  return in.ok() && in.AtEnd() && kind <= 3 && r->size <= kMaxFileSize &&
         (r->has_base || !needs_base);
}

RowValue EncodeEntry(const EntryRecord& r) {
  ValueWriter out;
  out.Int(static_cast<int64_t>(r.node.value)).Int(r.type).Int(r.since_ms);
  return out.TakeValue();
}

bool DecodeEntry(std::string_view value, EntryRecord* r) {
  ValueReader in(value);
  r->node = NodeId(ReadU64(in));
  r->type = ReadU32(in);
  r->since_ms = in.Int();
  return in.ok() && in.AtEnd();
}

RowValue EncodeLayer(const LayerRecord& r) {
  ValueWriter out;
  out.Int(static_cast<int64_t>(r.parent.value)).Int(r.sealed ? 1 : 0).Int(r.created_ns);
  out.Int(r.stored_bytes).Int(r.files).Int(r.directories).Int(r.total_size);
  return out.TakeValue();
}

bool DecodeLayer(std::string_view value, LayerRecord* r) {
  ValueReader in(value);
  r->parent = LayerId(ReadU64(in));
  r->sealed = in.Int() != 0;
  r->created_ns = in.Int();
  r->stored_bytes = in.Int();
  r->files = in.Int();
  r->directories = in.Int();
  r->total_size = in.Int();
  return in.ok() && in.AtEnd();
}

RowValue EncodeSnapshot(const SnapshotRecord& r) {
  ValueWriter out;
  out.Bytes(r.name).Int(static_cast<int64_t>(r.layer.value)).Bytes(r.branch).Bytes(r.message);
  out.Int(r.created_ns);
  return out.TakeValue();
}

bool DecodeSnapshot(std::string_view value, SnapshotRecord* r) {
  ValueReader in(value);
  r->name = std::string(in.Bytes());
  r->layer = LayerId(ReadU64(in));
  r->branch = std::string(in.Bytes());
  r->message = std::string(in.Bytes());
  r->created_ns = in.Int();
  return in.ok() && in.AtEnd();
}

RowValue EncodeBranch(LayerId layer, int64_t created_ns) {
  return ValueWriter().Int(static_cast<int64_t>(layer.value)).Int(created_ns).TakeValue();
}

bool DecodeBranch(std::string_view value, LayerId* layer, int64_t* created_ns) {
  ValueReader in(value);
  *layer = LayerId(ReadU64(in));
  *created_ns = in.Int();
  return in.ok() && in.AtEnd();
}

RowValue EncodeInt(int64_t value) { return ValueWriter().Int(value).TakeValue(); }

bool DecodeInt(std::string_view value, int64_t* out) {
  ValueReader in(value);
  *out = in.Int();
  return in.ok() && in.AtEnd();
}

Buffer EncodeRuns(const Runs& runs) {
  ValueWriter out;
  for (const Run& run : runs) {
    out.Int(run.start).Int(run.count).Int(static_cast<int64_t>(run.object.value));
  }
  return Buffer::Copy(out.TakeValue());
}

bool DecodeRuns(std::string_view bytes, Runs* runs) {
  ValueReader in(bytes);
  runs->clear();
  uint64_t next = 0;
  while (in.ok() && !in.AtEnd()) {
    const uint64_t start = ReadU64(in), count = ReadU64(in);
    const ObjectId object(ReadU64(in));
    if (start < next || count == 0 || start >= kPagesPerSpan || count > kPagesPerSpan - start) {
      return false;
    }
    next = start + count;
    runs->push_back({static_cast<uint16_t>(start), static_cast<uint16_t>(count), object});
  }
  return in.ok();
}

}  // namespace agentfs
