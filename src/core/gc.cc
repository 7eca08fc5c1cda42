// SPDX-License-Identifier: Apache-2.0
#include "core/volume_impl.h"
namespace agentfs {
Result<GcReport> VolumeImpl::CollectGarbage() { return GcReport{}; }
}  // namespace agentfs
