// SPDX-License-Identifier: Apache-2.0
#include "cli/mcp_host.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "cli/command_line.h"
#include "cli/open_workspace.h"
#include "sys/fd.h"

namespace agentfs::cli {
namespace {

// Takes what a command writes; a command knows streams, not strings.
Result<Fd> MemoryFile(const char* name) {
  Fd file(::memfd_create(name, MFD_CLOEXEC));
  if (!file) return ErrnoError();
  return file;
}

std::string ContentOf(const Fd& file) {
  std::string text(static_cast<size_t>(std::max<off_t>(0, ::lseek(file.get(), 0, SEEK_END))), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n =
        ::pread(file.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  text.resize(done);
  return text;
}

int RunForStreams(const Context& client, const std::vector<std::string>& arguments,
                  const Streams& streams) {
  Context context;
  context.console = std::make_shared<Console>(streams);
  context.identity = client.identity;
  context.directory = client.directory;
  context.live = client.live;
  if (auto status = ParseCommandLine(arguments, context)) return *status;
  return context.Run();
}

}  // namespace

std::string McpHost::Directory() const {
  const std::string& base = context_.live->workspace().layout.base;
  return base.empty() ? "/" : base;
}

Result<std::shared_ptr<FileSystem>> McpHost::OpenBranch(const std::string& branch) {
  AGENTFS_TRY(context_.live->permissions().Refresh());
  AGENTFS_ASSIGN(auto view, context_.live->volume().OpenBranch(branch));
  struct Watched {
    std::shared_ptr<FileSystem> view;
    std::shared_ptr<void> watch;
  };
  auto watched = std::make_shared<Watched>();
  watched->view = std::move(view);
  watched->watch = context_.live->WatchBranch(branch, watched->view);
  watched->view = context_.live->permissions().Guard(std::move(watched->view));
  FileSystem* const fs = watched->view.get();
  return std::shared_ptr<FileSystem>(std::move(watched), fs);
}

mcp::CommandOutput McpHost::Run(const std::vector<std::string>& arguments, std::stop_token) {
  mcp::CommandOutput output;
  output.status = kFailed;
  auto out = MemoryFile("mcp-out"), err = MemoryFile("mcp-err");
  auto null = OpenAt(AT_FDCWD, "/dev/null", O_RDONLY);
  if (!out.ok() || !err.ok() || !null.ok()) {
    output.err = "there are no descriptors left";
    return output;
  }
  output.status =
      RunForStreams(context_, arguments, Streams{null->get(), out->get(), err->get(), -1});
  output.out = ContentOf(*out);
  output.err = ContentOf(*err);
  return output;
}

void McpHost::Settle() { context_.live->Settle(); }
void McpHost::Publish() { context_.live->Publish(); }

}  // namespace agentfs::cli
