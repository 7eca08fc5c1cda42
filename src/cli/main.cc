// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>

#include "cli/command_line.h"
#include "cli/context.h"

namespace agentfs::cli {
namespace {

int Main(int argc, char** argv) {
  Context context;
  if (auto status = ParseCommandLine({argv + 1, argv + argc}, context)) return *status;
  return context.Run();
}

}  // namespace
}  // namespace agentfs::cli

int main(int argc, char** argv) {
  try {
    return agentfs::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "agentfs: internal error: %s\n", error.what());
    return agentfs::cli::kFailed;
  }
}
