// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "agentfs/store.h"

namespace agentfs {

Mutation& Batch::Put(TableId table, std::string key, std::string value, Buffer blob) {
  bytes += sizeof(Mutation) + key.size() + value.size() + blob.size();
  return mutations.emplace_back(
      Mutation{table, Mutation::Kind::kPut, std::move(key), std::move(value), std::move(blob)});
}

Mutation& Batch::Delete(TableId table, std::string key) {
  bytes += sizeof(Mutation) + key.size();
  return mutations.emplace_back(Mutation{table, Mutation::Kind::kDelete, std::move(key), {}, {}});
}

}  // namespace agentfs
