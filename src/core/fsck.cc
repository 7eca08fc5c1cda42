// SPDX-License-Identifier: Apache-2.0
#include "core/volume_impl.h"
namespace agentfs {
Result<FsckReport> VolumeImpl::Check(bool) { return FsckReport{}; }
}  // namespace agentfs
