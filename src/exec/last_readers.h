// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace agentfs {

// Whether another process of this process namespace has a pipe for its input that nobody writes to
// any more, as `tee` has after `bash -c 'exec > >(tee log); ...'` has ended, or has only just begun
// and may be about to. It will end by itself, and has perhaps not passed on yet what it read. The
// pipe that is this process's own input does not count: who ends that is outside.
bool HasLastReaders();

}  // namespace agentfs
