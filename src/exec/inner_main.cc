// SPDX-License-Identifier: Apache-2.0
//
// The program that is process 1 inside: small and static, so that it starts at once, whatever
// libraries the sandbox shows. It lies inside of agentfs (inner_program.cc).
#include "exec/inner.h"

int main(int argc, char** argv) {
  return agentfs::RunInner(
      agentfs::InnerOptions::FromArguments(std::vector<std::string>(argv + 1, argv + argc)));
}
