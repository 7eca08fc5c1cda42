// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>

#include "cli/command_line.h"
#include "cli/context.h"
#include "cli/pager.h"
#include "cli/server/forward.h"
#include "exec/inner.h"

namespace agentfs::cli {
namespace {

int Main(int argc, char** argv) {
  Context context;
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (auto status = ParseCommandLine(arguments, context)) return *status;
  std::optional<Pager> pager;
  if (context.wants_pager && !context.json) pager.emplace();
  if (pager && pager->running()) {
    context.force_color = true;
    arguments.insert(arguments.begin(), "--color");
  }
  if (context.place == Place::kClient) return context.Run();
  for (;;) {
    auto forwarded = ForwardToServer(context, arguments);
    if (!forwarded.ok()) return context.Report(forwarded.error());
    if (*forwarded) return **forwarded;
    context.server_appeared = false;
    auto status = context.command();
    if (!context.server_appeared) return context.Finish(status);
  }
}

}  // namespace
}  // namespace agentfs::cli

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::strcmp(argv[1], agentfs::kInnerCommand) == 0) {
      return agentfs::RunInner(
          agentfs::InnerOptions::FromArguments(std::vector<std::string>(argv + 1, argv + argc)));
    }
    return agentfs::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "agentfs: internal error: %s\n", error.what());
    return agentfs::cli::kFailed;
  }
}
