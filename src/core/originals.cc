// SPDX-License-Identifier: Apache-2.0
//
// Originals: kept as an extended attribute that nobody sees, so that they follow the node through
// layers and go with it.
#include "core/originals.h"

#include <algorithm>

#include "core/view_nodes.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

// Larger files are not kept: it would cost more than merging them is worth.
constexpr uint64_t kMaxOriginal = uint64_t{256} << 10;
// Of git's index, which git rewrites itself, and which need not be text.
constexpr uint64_t kMaxIndex = uint64_t{4} << 20;
constexpr std::string_view kIndexMagic = "DIRC";
// How far git looks for a byte that text does not have.
constexpr size_t kTextProbe = 8000;

Result<bool> IsGitIndex(BaseFile& file, std::string_view path) {
  if (path.substr(path.rfind('/') + 1) != "index") return false;
  char magic[kIndexMagic.size()];
  AGENTFS_ASSIGN(const size_t got, file.Read(0, magic));
  return std::string_view(magic, got) == kIndexMagic;
}

}  // namespace

Result<Buffer> ViewNodes::ReadOriginal(const std::string& path) {
  Result<std::unique_ptr<BaseFile>> file = volume_.base->Open(path);
  if (!file.ok()) return Buffer();  // gone, or no regular file
  AGENTFS_ASSIGN(const BaseStat stat, (*file)->Stat());
  AGENTFS_ASSIGN(const bool index, IsGitIndex(**file, path));
  if (stat.attr.size == 0 || stat.attr.size > (index ? kMaxIndex : kMaxOriginal)) return Buffer();
  const size_t head = path.size() + 1;
  Buffer original = Buffer::Allocate(head + stat.attr.size);
  char* out = original.mutable_data();
  std::copy(path.begin(), path.end(), out);
  out[path.size()] = '\0';
  AGENTFS_ASSIGN(const size_t got, (*file)->Read(0, {out + head, stat.attr.size}));
  const std::string_view content = original.view().substr(head, got);
  const bool text = content.substr(0, kTextProbe).find('\0') == content.npos;
  if (!text && !index) return Buffer();
  original.SetSize(head + got);
  return original;
}

void ViewNodes::PutOriginal(Journal::Change& change, ViewNode& node, const Buffer& original) {
  if (!original) return;
  PutXattr(change, node, kOriginalXattr, &original);
  node.has_original = true;
}

Result<Buffer> ViewNodes::OriginalLocked(ViewNode& node) {
  Buffer original;
  if (!node.HasRecord() || (node.xattrs.loaded() && !node.has_original)) return original;
  // What is pending must be in the store to be found there.
  AGENTFS_TRY(journal().WaitCommitted(node.batch));
  const std::string prefix = KeyWriter().Int(node.id().value).Bytes(kOriginalXattr).Take();
  AGENTFS_TRY(FindNearest(tables::kXattrs, prefix, [&](const RowView& row, LayerId) {
    int64_t present = 0;
    if (DecodeInt(row.value, &present) && present != 0) original = row.TakeBlob();
    return Ok();
  }));
  return original;
}

}  // namespace agentfs
