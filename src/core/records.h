// SPDX-License-Identifier: Apache-2.0
//
// Typed rows of the volume's tables, to and from the encoding that stores keep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/base_fs.h"
#include "agentfs/ids.h"
#include "agentfs/store.h"
#include "agentfs/types.h"

namespace agentfs {

inline constexpr uint32_t kPageSize = 4096;
inline constexpr uint32_t kSpanSize = 1024 * 1024;  // what one spans row describes
inline constexpr uint32_t kPagesPerSpan = kSpanSize / kPageSize;
inline constexpr uint64_t kMaxFileSize = INT64_MAX;
// An object has its file's offsets, and host filesystems end sooner than files do. A file that
// reaches further is kept in chunks: it is sparse, or nobody could have written it.
inline constexpr uint64_t kMaxObjectSize = uint64_t{8} << 40;

enum class ContentKind : uint8_t {
  kNone = 0,    // no rows: empty, or one hole
  kChunks = 1,  // data rows
  kObject = 2,  // spans rows over objects
  kBase = 3,    // no rows: the base's content, as it is now
};

// A row of `nodes`. nlink 0 says that the node does not exist from this layer on.
struct NodeRecord {
  uint32_t mode = 0, uid = 0, gid = 0, nlink = 0;
  uint32_t rdev = 0;
  ContentKind kind = ContentKind::kNone;
  uint64_t size = 0;
  Timestamp atime, mtime, ctime, btime;
  NodeId parent;  // a directory that names the node; of a directory the one
  LayerId born;   // where the node was made or copied up
  ContentId content;
  ObjectId object;        // the object that this layer writes
  uint64_t stored = 0;    // bytes that the content takes
  uint64_t base_end = 0;  // below this, what no row covers is the base's
  bool has_base = false;
  BaseSignature base_signature;
  std::string base_path;
  std::string target;  // of a symbolic link
};

// An empty directory of this process's user, made now; mode 0755.
NodeRecord NewDirectory(LayerId born);

// A row of `entries`. Node 0 is a whiteout or, with kForgotten, no word about the name at all: the
// base decides, whatever older layers say.
struct EntryRecord {
  static constexpr uint32_t kForgotten = 1;  // as the type, which has none of these bits else
  NodeId node;
  uint32_t type = 0;     // the S_IFMT bits
  int64_t since_ms = 0;  // when the layers took the name from the base; 0: the base had none

  bool IsForgotten() const { return !node && type == kForgotten; }
};

struct LayerRecord {
  LayerId parent;
  bool sealed = false;
  int64_t created_ns = 0;
  int64_t stored_bytes = 0, files = 0, directories = 0, total_size = 0;
};

struct SnapshotRecord {
  std::string name;
  LayerId layer;
  std::string branch;
  std::string message;
  int64_t created_ns = 0;
};

// Pages [start, start + count) of a span are in `object`, at their own offset in the file; object 0
// is an explicit hole. Pages that no run covers are the base's below base_end, else holes.
struct Run {
  uint16_t start = 0;
  uint16_t count = 0;
  ObjectId object;
  bool operator==(const Run&) const = default;
};
using Runs = std::vector<Run>;

RowKey NodeKey(NodeId node, LayerId layer);
RowKey EntryKey(NodeId parent, std::string_view name, LayerId layer);
RowKey XattrKey(NodeId node, std::string_view name, LayerId layer);
RowKey ContentKey(ContentId content, uint64_t index, LayerId layer);  // data and spans
RowKey LayerKey(LayerId layer);
RowKey SnapshotKey(uint64_t number);
RowKey NameKey(std::string_view name);  // meta and branches
RowKey ObjectKey(ContentId content, LayerId layer, ObjectId object);
RowKey OrphanKey(LayerId layer, NodeId node, ContentId content);

struct NodeRowKey {
  NodeId node;
  LayerId layer;
};
struct EntryRowKey {  // xattrs too, with the node as parent
  NodeId parent;
  std::string name;
  LayerId layer;
};
struct ContentRowKey {
  ContentId content;
  uint64_t index = 0;
  LayerId layer;
};
struct ObjectRowKey {
  ContentId content;
  LayerId layer;
  ObjectId object;
};
// nullopt: not such a key (a damaged store).
std::optional<ObjectRowKey> ParseObjectKey(std::string_view key);
std::optional<NodeRowKey> ParseNodeKey(std::string_view key);
std::optional<EntryRowKey> ParseEntryKey(std::string_view key);
std::optional<ContentRowKey> ParseContentKey(std::string_view key);

RowValue EncodeNode(const NodeRecord& record);
bool DecodeNode(std::string_view value, NodeRecord* record);
RowValue EncodeEntry(const EntryRecord& record);
bool DecodeEntry(std::string_view value, EntryRecord* record);
RowValue EncodeLayer(const LayerRecord& record);
bool DecodeLayer(std::string_view value, LayerRecord* record);
RowValue EncodeSnapshot(const SnapshotRecord& record);
bool DecodeSnapshot(std::string_view value, SnapshotRecord* record);
RowValue EncodeBranch(LayerId layer, int64_t created_ns);
bool DecodeBranch(std::string_view value, LayerId* layer, int64_t* created_ns);
RowValue EncodeInt(int64_t value);  // meta; `present` of xattrs and data
bool DecodeInt(std::string_view value, int64_t* out);
Buffer EncodeRuns(const Runs& runs);
bool DecodeRuns(std::string_view bytes, Runs* runs);

}  // namespace agentfs
