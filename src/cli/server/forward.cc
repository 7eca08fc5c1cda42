// SPDX-License-Identifier: Apache-2.0
#include "cli/server/forward.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "adapters/control/client.h"
#include "cli/open_workspace.h"
#include "sys/fd.h"

namespace agentfs::cli {
namespace {

constexpr size_t kMessageBytes = 64 << 10;

std::string PayloadOf(const std::vector<std::string>& arguments) {
  std::error_code ignored;
  std::string payload = std::filesystem::current_path(ignored).string() + '\0';
  for (const std::string& argument : arguments) payload += argument + '\0';
  return payload;
}

// Copies the rest of the input, whose beginning this process has read already, into a pipe.
Result<Fd> PumpInput(std::shared_ptr<Console> console) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoError();
  ::signal(SIGPIPE, SIG_IGN);
  std::thread([console, out = std::make_shared<Fd>(ends[1])] {
    std::string piece(kMessageBytes, '\0');
    for (;;) {
      auto size = console->Read(piece);
      if (!size.ok() || *size == 0) return;
      for (size_t done = 0; done < *size;) {
        const ssize_t n = ::write(out->get(), piece.data() + done, *size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return;
        done += static_cast<size_t>(n);
      }
    }
  }).detach();
  return Fd(ends[0]);
}

bool WantsNoColor(const Context& context) {
  const char* variable = std::getenv("NO_COLOR");
  return context.no_color || (variable != nullptr && *variable != '\0');
}

Result<int> Call(const Context& context, control::ControlClient& client,
                 const std::vector<std::string>& arguments, std::span<const int> streams) {
  auto outcome = client.Call("command",
                             {{"program", AGENTFS_VERSION},
                              {"umask", context.identity.umask},
                              {"no_color", WantsNoColor(context)}},
                             PayloadOf(arguments), streams);
  if (!outcome.ok()) return outcome.error().WithContext("the workspace's server");
  if (outcome->value("broken_pipe", false)) {
    // As it would have ended here; the pager, if there is one, has its own way.
    const auto handler = ::signal(SIGPIPE, SIG_DFL);
    if (handler != SIG_IGN && handler != SIG_ERR) ::signal(SIGPIPE, handler);
    ::raise(SIGPIPE);
  }
  return outcome->value("status", int{kFailed});
}

}  // namespace

Result<int> ForwardOver(const Context& context, control::ControlClient& client,
                        const std::vector<std::string>& arguments, int out) {
  const int streams[] = {STDIN_FILENO, out, STDERR_FILENO};
  return Call(context, client, arguments, streams);
}

Result<std::optional<int>> ForwardToServer(Context& context,
                                           const std::vector<std::string>& arguments) {
  auto workspace = LocateWorkspace(context);
  // The command itself will say what is wrong with it.
  if (!workspace.ok()) return std::optional<int>();
  auto client = control::ControlClient::Connect(workspace->layout.socket);
  if (client.code() == ENOTCONN) return std::optional<int>();
  if (!client.ok()) return client.error();
  Fd pump;
  if (context.console->has_given_back()) {
    AGENTFS_ASSIGN(pump, PumpInput(context.console));
  }
  const int streams[] = {pump ? pump.get() : STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  AGENTFS_ASSIGN(const int status, Call(context, *client, arguments, streams));
  return std::optional<int>(status);
}

}  // namespace agentfs::cli
