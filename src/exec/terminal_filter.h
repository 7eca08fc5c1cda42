// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs {

// A seccomp program, in a file for bubblewrap, that forbids a process to type into its terminal
// (TIOCSTI, TIOCLINUX): what it typed would be read by the shell outside after its end.
Result<Fd> MakeTerminalFilter();

}  // namespace agentfs
