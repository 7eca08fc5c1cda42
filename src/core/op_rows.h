// SPDX-License-Identifier: Apache-2.0
//
// Typed rows of the tables of the op log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agentfs/op_log.h"

namespace agentfs {

struct OpRow {
  uint64_t exec = 0;
  OpKind kind = OpKind::kWrite;
  int error = 0;
  uint64_t path = 0, process = 0, path2 = 0;
  uint64_t bytes = 0, bytes_read = 0;
  uint64_t layer = 0, node = 0;
  int64_t time_ns = 0;
};
struct OpPathRow {
  uint64_t directory = 0;
  std::string name;
  uint64_t writes = 0, last_write = 0, last_op = 0;
};
struct OpDirectoryRow {
  std::string branch, path;
};
struct OpProcessRow {
  OpProcess process;
  uint64_t ops = 0, bytes = 0, last_op = 0;
};

std::string EncodeOp(const OpRow& row);
std::string EncodeOpPath(const OpPathRow& row);
std::string EncodeOpDirectory(const OpDirectoryRow& row);
std::string EncodeOpProcess(const OpProcessRow& row);
// False: not such a row.
bool DecodeOp(std::string_view value, OpRow* out);
bool DecodeOpPath(std::string_view value, OpPathRow* out);
bool DecodeOpDirectory(std::string_view value, OpDirectoryRow* out);
bool DecodeOpProcess(std::string_view value, OpProcessRow* out);

}  // namespace agentfs
