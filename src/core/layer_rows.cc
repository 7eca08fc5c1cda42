// SPDX-License-Identifier: Apache-2.0
#include "core/layer_rows.h"

#include <algorithm>

#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {

Result<RowKeys> RowsOfLayer(Store& store, TableId table, std::string_view prefix, LayerId layer) {
  RowKeys rows;
  const std::string suffix = KeyInt(layer.value);
  AGENTFS_TRY(store.Scan(ScanRange{table, prefix, {}, {}, Order::kAscending, false},
                         [&](const RowView& row) {
                           if (row.key.ends_with(suffix)) {
                             rows.keys.emplace_back(row.key);
                             rows.bytes += static_cast<int64_t>(row.blob.size());
                           }
                           return Visit::kContinue;
                         }));
  return rows;
}

Result<std::vector<Row>> IndexedRowsOfLayer(Store& store, TableId table, LayerId layer) {
  std::vector<Row> rows;
  const std::string prefix = KeyInt(layer.value);
  AGENTFS_TRY(store.Scan(ScanRange{table, prefix, {}, {}, Order::kAscending, true},
                         [&](const RowView& row) {
                           rows.push_back({std::string(row.key), std::string(row.value), {}});
                           return Visit::kContinue;
                         }));
  return rows;
}

Result<std::vector<ObjectId>> ObjectsOf(Store& store, ContentId content, LayerId layer) {
  std::vector<ObjectId> objects;
  if (!content) return objects;
  const std::string prefix = KeyWriter().Int(content.value).Int(layer.value).Take();
  AGENTFS_TRY(store.Scan(ScanRange{tables::kObjects, prefix, {}, {}, Order::kAscending, false},
                         [&](const RowView& row) {
                           if (auto key = ParseObjectKey(row.key)) objects.push_back(key->object);
                           return Visit::kContinue;
                         }));
  return objects;
}

Result<int64_t> MappedBytes(Store& store, const std::vector<std::string>& span_keys,
                            const std::vector<ObjectId>& objects) {
  int64_t bytes = 0;
  for (const std::string& key : span_keys) {
    AGENTFS_ASSIGN(auto row, store.Get(tables::kSpans, key));
    Runs runs;
    if (!row || !DecodeRuns(row->blob.view(), &runs)) continue;
    for (const Run& run : runs) {
      const bool ours = std::count(objects.begin(), objects.end(), run.object) > 0;
      if (ours) bytes += int64_t{run.count} * kPageSize;
    }
  }
  return bytes;
}

}  // namespace agentfs
