// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/pager.h"
#include "cli/server/forward.h"
#include "exec/inner.h"

namespace agentfs::cli {
namespace {

// In the server, if the workspace has one, else here.
int RunSomewhere(Context& context, const std::vector<std::string>& arguments) {
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

int RunReading(Context& context, const std::vector<std::string>& arguments) {
  const auto opened = OpenCommandFile(context.file);
  return opened.ok() ? RunSomewhere(context, arguments) : context.Report(opened.error());
}

int RunWriting(Context& context, const std::vector<std::string>& arguments) {
  auto file = NewCommandFile::Create(context.file);
  if (!file.ok()) return context.Report(file.error());
  if (const int status = RunSomewhere(context, arguments); status != kDone) return status;
  const auto size = file->Keep();
  if (!size.ok()) return context.Report(size.error());
  return context.Finish(ReportFile(context, *size));
}

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
  switch (context.file_use) {
    case FileUse::kRead:
      return RunReading(context, arguments);
    case FileUse::kWrite:
      return RunWriting(context, arguments);
    case FileUse::kNone:
      break;
  }
  return RunSomewhere(context, arguments);
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
