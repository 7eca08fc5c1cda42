// SPDX-License-Identifier: Apache-2.0
#include "cli/server/start.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include "adapters/control/message.h"
#include "sys/fd.h"

namespace agentfs::cli {
namespace {

constexpr int kReady = 3;  // the server's end of the pipe
constexpr int kAttempts = 20;
constexpr off_t kMaxLog = 1 << 20;

// Everything that the new process needs, made before the fork: after it, only calls that are safe
// in a child of a process with threads.
struct Spawn {
  Fd program, null, log, ready;
  std::array<std::string, 5> arguments;
};

Result<Spawn> Prepare(const Workspace& workspace, Fd ready) {
  Spawn spawn;
  AGENTFS_ASSIGN(spawn.program, OpenAt(AT_FDCWD, "/proc/self/exe", O_PATH));
  AGENTFS_ASSIGN(spawn.null, OpenAt(AT_FDCWD, "/dev/null", O_RDWR));
  const std::string& log = workspace.layout.log;
  if (!log.empty()) {
    struct stat st;
    const bool full = ::stat(log.c_str(), &st) == 0 && st.st_size > kMaxLog;
    AGENTFS_ASSIGN(spawn.log, OpenAt(AT_FDCWD, log,
                                     O_WRONLY | O_CREAT | O_APPEND | (full ? O_TRUNC : 0), 0600));
  }
  spawn.ready = std::move(ready);
  spawn.arguments = {"agentfs", "--workspace", workspace.layout.root, "serve",
                     "--ready=" + std::to_string(kReady)};
  return spawn;
}

[[noreturn]] void Become(Spawn& spawn) {
  char* argv[6] = {};
  for (size_t i = 0; i < spawn.arguments.size(); ++i) argv[i] = spawn.arguments[i].data();
  // The program's descriptor must not be in the way of the ones that are put in place.
  const int program = ::fcntl(spawn.program.get(), F_DUPFD_CLOEXEC, 16);
  const int log = spawn.log ? spawn.log.get() : spawn.null.get();
  const int high_log = ::fcntl(log, F_DUPFD_CLOEXEC, 16);
  const int high_null = ::fcntl(spawn.null.get(), F_DUPFD_CLOEXEC, 16);
  const int high_ready = ::fcntl(spawn.ready.get(), F_DUPFD_CLOEXEC, 16);
  if (::setsid() < 0 || ::chdir("/") != 0) ::_exit(1);
  // Not the session's leader, so that no terminal ever becomes its own.
  const pid_t child = ::fork();
  if (child != 0) ::_exit(child > 0 ? 0 : 1);
  ::dup2(high_null, STDIN_FILENO);
  ::dup2(high_null, STDOUT_FILENO);
  ::dup2(high_log, STDERR_FILENO);
  ::dup2(high_ready, kReady);
  ::close_range(kReady + 1, ~0u, CLOSE_RANGE_CLOEXEC);
  struct rlimit files;
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  ::fexecve(program, argv, environ);
  ::_exit(127);
}

std::string ReadToEnd(int fd) {
  std::string text;
  char piece[4096];
  for (;;) {
    const ssize_t n = ::read(fd, piece, sizeof(piece));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(piece, static_cast<size_t>(n));
  }
}

Result<void> StartServer(const Workspace& workspace) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoError();
  Fd read_end(ends[0]);
  AGENTFS_ASSIGN(Spawn spawn, Prepare(workspace, Fd(ends[1])));
  const pid_t child = ::fork();
  if (child < 0) return ErrnoError().WithContext("starting the server");
  if (child == 0) Become(spawn);
  spawn.ready.Reset();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string told = ReadToEnd(read_end.get());
  if (told == "ready") return Ok();
  if (!told.empty()) return control::ToError(told);
  return Error(EIO, "the server ended before it was ready",
               workspace.layout.log.empty() ? "" : "see " + workspace.layout.log);
}

}  // namespace

Result<control::ControlClient> ConnectOrStart(const Workspace& workspace) {
  for (int attempt = 0;; ++attempt) {
    auto client = control::ControlClient::Connect(workspace.layout.socket);
    // One that is just leaving is no server; the next is.
    if (client.code() != ENOTCONN || attempt == kAttempts) return client;
    AGENTFS_TRY(StartServer(workspace));
  }
}

}  // namespace agentfs::cli
