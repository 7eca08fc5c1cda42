// SPDX-License-Identifier: Apache-2.0
//
// The rows of one layer, found by the index over layers: in time proportional to the layer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/ids.h"
#include "agentfs/result.h"
#include "agentfs/store.h"
#include "core/records.h"

namespace agentfs {

// The keys of some rows, and the bytes of content in them.
struct RowKeys {
  std::vector<std::string> keys;
  int64_t bytes = 0;
};

// The rows of `table` below `prefix` that are of this layer (the last key column).
Result<RowKeys> RowsOfLayer(Store& store, TableId table, std::string_view prefix, LayerId layer);
// Of a table with an index: all its rows of this layer.
Result<std::vector<Row>> IndexedRowsOfLayer(Store& store, TableId table, LayerId layer);
// The objects that `layer` has for a content.
Result<std::vector<ObjectId>> ObjectsOf(Store& store, ContentId content, LayerId layer);
// Pages in these objects that the spans rows with these keys map, as bytes.
Result<int64_t> MappedBytes(Store& store, const std::vector<std::string>& span_keys,
                            const std::vector<ObjectId>& objects);

}  // namespace agentfs
