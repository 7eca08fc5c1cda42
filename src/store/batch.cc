// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "agentfs/store.h"

namespace agentfs {
namespace {

// A batch is one row or a hundred thousand: blocks grow, but stay small enough to be reused.
constexpr uint32_t kSmallestBlock = 8, kLargestBlock = 256;

}  // namespace

void MutationList::AddBlock() {
  const uint32_t capacity =
      blocks_.empty() ? kSmallestBlock : std::min(kLargestBlock, 2 * blocks_.back().capacity);
  blocks_.push_back({std::make_unique_for_overwrite<Mutation[]>(capacity), 0, capacity});
}

Mutation& Batch::Put(TableId table, std::string_view key, std::string_view value, Buffer blob) {
  bytes += sizeof(Mutation) + key.size() + value.size() + blob.size();
  Mutation& mutation = mutations.Add();
  mutation.table = table;
  mutation.key.Assign(key);
  mutation.value.Assign(value);
  mutation.blob = std::move(blob);
  return mutation;
}

Mutation& Batch::Delete(TableId table, std::string_view key) {
  bytes += sizeof(Mutation) + key.size();
  Mutation& mutation = mutations.Add();
  mutation.table = table;
  mutation.kind = Mutation::Kind::kDelete;
  mutation.key.Assign(key);
  return mutation;
}

}  // namespace agentfs
