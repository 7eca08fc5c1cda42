// SPDX-License-Identifier: Apache-2.0
//
// What every command gets: the global options, who runs it and from where, and the rules for
// talking to people and scripts. stdout is data, stderr is notices and errors. A command touches
// neither the process's streams nor its identity: in the server it runs for somebody else.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"
#include "agentfs/types.h"
#include "base/time_text.h"
#include "cli/command_file.h"
#include "cli/console.h"
#include "cli/identity.h"

namespace agentfs::cli {

enum ExitStatus : int {
  kDone = 0,
  kNo = 1,        // the answer is no
  kUsage = 2,     // wrong usage
  kConflict = 3,  // nothing was written
  kNotFound = 4,
  kFailed = 125,
};

class OpenWorkspace;

// Where a command runs when the workspace has a server.
enum class Place : uint8_t { kServer, kClient };

struct Context {
  std::string workspace;  // --workspace; empty: not given
  bool json = false;
  bool no_color = false;
  bool quiet = false;
  bool force_color = false;  // a pager shows the output on a terminal

  std::shared_ptr<Console> console = std::make_shared<Console>();
  Identity identity = Identity::OfThisProcess();
  // Where relative host paths start; empty: the process's own current directory.
  std::string directory;
  // In the server: the workspace that it holds open.
  OpenWorkspace* live = nullptr;

  // Set by the parser: what the command line asks for. The value is the exit status.
  std::function<Result<int>()> command;
  Place place = Place::kServer;
  bool wants_pager = false;
  // How many words followed "--": these are paths, never refs.
  size_t words_after_dashes = 0;
  // The host file that the command reads or writes in place of its stdin (command_file.h).
  FileUse file_use = FileUse::kNone;
  std::string file;
  // Set by a session that could not be opened because a server has the workspace by now: the
  // command has done nothing, and is to be forwarded.
  bool server_appeared = false;
  // The path that the error is about, for JSON.
  std::string failed_path;

  // The result with "what PATH: " before an error's message.
  template <typename T>
  Result<T> Explain(std::string_view what, std::string_view path, Result<T> result) {
    if (result.ok()) return result;
    failed_path = path;
    return result.error().WithContext(std::string(what) + " " + std::string(path));
  }

  // Prints the one JSON document of a command.
  Result<void> PrintJson(const nlohmann::ordered_json& document) const;
  // Prints data, as it is.
  Result<void> Print(std::string_view text) const;
  // Whether the output is for a person who has not refused colours.
  bool UseColor() const;
  // Prints a remark for people, on stderr, unless --quiet.
  void Notice(std::string_view text) const;
  // Prints rows under a header, columns aligned.
  Result<void> PrintTable(const std::vector<std::string>& header,
                          const std::vector<std::vector<std::string>>& rows) const;

  // Runs the command, reports its error if it has one, and gives the exit status.
  int Run() { return Finish(command()); }
  int Finish(const Result<int>& status);
  // Reports an error as the contract says, and gives the exit status for it.
  int Report(const Error& error) const;
};

int StatusOf(const Error& error);

// "2025-01-31 12:00:00" in the local time zone, for people.
std::string FormatLocalTime(Timestamp time);
// "12.3 MiB".
std::string FormatBytes(uint64_t bytes);

}  // namespace agentfs::cli
