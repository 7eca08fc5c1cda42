// SPDX-License-Identifier: Apache-2.0
//
// Running a part of a test in a process of its own.
#pragma once

#include <functional>
#include <string>

namespace agentfs::test {

// Runs `body` in a child and gives what it returned: empty if all was well. A child that dies
// gives a text that says how. No other thread may run in this process.
std::string RunInChild(const std::function<std::string()>& body);

// In a child: a private tmpfs of `kilobytes` at `directory`. False where this is not allowed.
bool MountTmpfs(const std::string& directory, int kilobytes);
bool RemountReadOnly(const std::string& directory);

// What RunInChild's body returns where mounting is not allowed; the test then skips.
inline constexpr char kCannotMount[] = "cannot mount";

}  // namespace agentfs::test
