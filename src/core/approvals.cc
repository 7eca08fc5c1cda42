// SPDX-License-Identifier: Apache-2.0
#include "agentfs/approvals.h"

#include <sys/random.h>

#include "base/clock.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

struct Approval {
  int64_t created_ns = 0, used_ns = 0;
  uint32_t uid = 0;
};

Result<void> PutApproval(Volume& volume, std::string_view id, const Approval& approval,
                         std::string_view request) {
  Batch batch;
  batch.Put(tables::kApprovals, KeyWriter().Bytes(id).Take(),
            ValueWriter().Int(approval.created_ns).Int(approval.used_ns).Int(approval.uid).Take(),
            Buffer::Copy(request));
  AGENTFS_TRY(volume.WriteRecords(batch));
  return volume.Flush(Durability::kSynced);
}

Result<std::string> NewApprovalId() {
  unsigned char random[16];
  if (::getrandom(random, sizeof(random), 0) != sizeof(random)) return Error(EIO, "getrandom");
  constexpr char kHexDigits[] = "0123456789abcdef";
  std::string id = "a";
  for (const unsigned char byte : random) {
    id += kHexDigits[byte >> 4];
    id += kHexDigits[byte & 15];
  }
  return id;
}

}  // namespace

Result<std::string> KeepApproval(Volume& volume, uint32_t uid, std::string_view request) {
  AGENTFS_ASSIGN(std::string id, NewApprovalId());
  AGENTFS_TRY(PutApproval(volume, id, {ToNanoseconds(Now()), 0, uid}, request));
  return id;
}

Result<std::string> TakeApproval(Volume& volume, uint32_t uid, std::string_view id) {
  AGENTFS_ASSIGN(const auto row,
                 volume.GetRecord(tables::kApprovals, KeyWriter().Bytes(id).Take()));
  if (!row) return Error(ENOENT, "approval " + std::string(id) + ": there is none");
  ValueReader reader(row->value);
  Approval approval;
  approval.created_ns = reader.Int();
  approval.used_ns = reader.Int();
  approval.uid = static_cast<uint32_t>(reader.Int());
  if (!reader.ok()) return Error(EBADMSG, "the row of approval " + std::string(id) + " is damaged");
  if (approval.uid != uid) {
    return Error(EPERM, "approval " + std::string(id) + ": another user asked for it");
  }
  if (approval.used_ns != 0) {
    return Error(EALREADY, "approval " + std::string(id) + ": it was used already",
                 "ask for the command again to get a new one");
  }
  approval.used_ns = ToNanoseconds(Now());
  AGENTFS_TRY(PutApproval(volume, id, approval, row->blob.view()));
  return std::string(row->blob.view());
}

}  // namespace agentfs
