// SPDX-License-Identifier: Apache-2.0
//
// The parts of `agentfs fs`, one function a subcommand. Each opens the workspace, works on the
// chosen view and makes the changes durable before it returns.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "agentfs/files.h"
#include "cli/context.h"
#include "cli/session.h"

namespace agentfs::cli {

// What the command line said; each subcommand uses its own part.
struct FsOptions {
  ViewChoice view;
  std::vector<std::string> paths;
  std::string mode;          // chmod, mkdir
  std::string name, type;    // find
  int max_depth = -1;        // find, tree; -1: no limit
  bool recursive = false;    // rm, cp, chmod
  bool force = false;        // rm, ln
  bool no_clobber = false;   // mv, cp
  bool parents = false;      // mkdir
  bool symbolic = false;     // ln
  bool long_format = false;  // ls
  bool directory = false;    // ls
  bool summarize = false;    // du
  bool all = false;          // du
  bool human = false;        // ls, du
};

using FsCommand = Result<int> (*)(Context&, const FsOptions&);

Result<int> FsLs(Context& context, const FsOptions& options);
Result<int> FsStat(Context& context, const FsOptions& options);
Result<int> FsTree(Context& context, const FsOptions& options);
Result<int> FsFind(Context& context, const FsOptions& options);
Result<int> FsDu(Context& context, const FsOptions& options);
Result<int> FsCat(Context& context, const FsOptions& options);
Result<int> FsWrite(Context& context, const FsOptions& options);
Result<int> FsAppend(Context& context, const FsOptions& options);
Result<int> FsMkdir(Context& context, const FsOptions& options);
Result<int> FsRm(Context& context, const FsOptions& options);
Result<int> FsMv(Context& context, const FsOptions& options);
Result<int> FsCp(Context& context, const FsOptions& options);
Result<int> FsLn(Context& context, const FsOptions& options);
Result<int> FsChmod(Context& context, const FsOptions& options);

// Opens the workspace and the view, runs `work`, and closes both.
Result<int> WithFiles(Context& context, const ViewChoice& view, Access access,
                      const std::function<Result<int>(const Files&)>& work);

// An entry as JSON: name, path, type, size, mode, owner, times, and a link's target.
nlohmann::ordered_json EntryJson(const Files& files, const FileEntry& entry);

// The same error with a remedy, if its code is this one.
template <typename T>
Result<T> Suggest(Result<T> result, int code, const std::string& remedy) {
  if (result.code() != code) return result;
  return Error(code, result.error().message(), remedy);
}

}  // namespace agentfs::cli
