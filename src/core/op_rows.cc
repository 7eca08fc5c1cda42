// SPDX-License-Identifier: Apache-2.0
#include "core/op_rows.h"

#include "store/codec.h"

namespace agentfs {
namespace {

int64_t Signed(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t Unsigned(int64_t value) { return static_cast<uint64_t>(value); }

}  // namespace

std::string EncodeOp(const OpRow& row) {
  ValueWriter value;
  value.Int(Signed(row.exec)).Int(static_cast<int>(row.kind)).Int(row.error);
  value.Int(Signed(row.path)).Int(Signed(row.process)).Int(Signed(row.path2));
  value.Int(Signed(row.bytes)).Int(Signed(row.bytes_read));
  value.Int(Signed(row.layer)).Int(Signed(row.node)).Int(row.time_ns);
  return value.Take();
}

std::string EncodeOpPath(const OpPathRow& row) {
  ValueWriter value;
  value.Int(Signed(row.directory)).Bytes(row.name).Int(Signed(row.writes));
  value.Int(Signed(row.last_write)).Int(Signed(row.last_op));
  return value.Take();
}

std::string EncodeOpDirectory(const OpDirectoryRow& row) {
  ValueWriter value;
  value.Bytes(row.branch).Bytes(row.path);
  return value.Take();
}

std::string EncodeOpProcess(const OpProcessRow& row) {
  const OpProcess& process = row.process;
  ValueWriter value;
  value.Int(Signed(process.exec)).Int(process.pid).Int(process.ppid).Int(process.uid);
  value.Bytes(process.comm).Int(Signed(row.ops)).Int(Signed(row.bytes)).Int(Signed(row.last_op));
  return value.Take();
}

bool DecodeOp(std::string_view value, OpRow* out) {
  ValueReader reader(value);
  out->exec = Unsigned(reader.Int());
  out->kind = static_cast<OpKind>(reader.Int());
  out->error = static_cast<int>(reader.Int());
  out->path = Unsigned(reader.Int());
  out->process = Unsigned(reader.Int());
  out->path2 = Unsigned(reader.Int());
  out->bytes = Unsigned(reader.Int());
  out->bytes_read = Unsigned(reader.Int());
  out->layer = Unsigned(reader.Int());
  out->node = Unsigned(reader.Int());
  out->time_ns = reader.Int();
  return reader.ok() && reader.AtEnd();
}

bool DecodeOpPath(std::string_view value, OpPathRow* out) {
  ValueReader reader(value);
  out->directory = Unsigned(reader.Int());
  out->name = reader.Bytes();
  out->writes = Unsigned(reader.Int());
  out->last_write = Unsigned(reader.Int());
  out->last_op = Unsigned(reader.Int());
  return reader.ok() && reader.AtEnd();
}

bool DecodeOpDirectory(std::string_view value, OpDirectoryRow* out) {
  ValueReader reader(value);
  out->branch = reader.Bytes();
  out->path = reader.Bytes();
  return reader.ok() && reader.AtEnd();
}

bool DecodeOpProcess(std::string_view value, OpProcessRow* out) {
  ValueReader reader(value);
  out->process.exec = Unsigned(reader.Int());
  out->process.pid = static_cast<uint32_t>(reader.Int());
  out->process.ppid = static_cast<uint32_t>(reader.Int());
  out->process.uid = static_cast<uint32_t>(reader.Int());
  out->process.comm = reader.Bytes();
  out->ops = Unsigned(reader.Int());
  out->bytes = Unsigned(reader.Int());
  out->last_op = Unsigned(reader.Int());
  return reader.ok() && reader.AtEnd();
}

}  // namespace agentfs
