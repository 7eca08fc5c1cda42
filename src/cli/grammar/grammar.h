// SPDX-License-Identifier: Apache-2.0
//
// How each command is spelled: its options, help and examples.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "cli/context.h"

namespace CLI {
class App;
}

namespace agentfs::cli {

// What numbers of rows and of records may be: limits, ids.
inline constexpr int64_t kMostRows = std::numeric_limits<int64_t>::max();

// A command below `app` with its description and the examples that end its help.
CLI::App& AddCommand(CLI::App& app, const std::string& name, const std::string& description,
                     const std::string& examples);

// Parsing the command chooses it; nothing runs before the whole command line was understood.
void Choose(CLI::App& app, Context& context, std::function<Result<int>()> command, Place place);
template <typename Options>
void Choose(CLI::App& app, Context& context, std::shared_ptr<Options> options,
            Result<int> (*run)(Context&, const Options&), Place place = Place::kServer) {
  Choose(
      app, context, [&context, options, run] { return run(context, *options); }, place);
}

// workspace.cc
void AddInit(CLI::App& app, Context& context);
void AddStatus(CLI::App& app, Context& context);
void AddGc(CLI::App& app, Context& context);
void AddFsck(CLI::App& app, Context& context);
void AddDoctor(CLI::App& app, Context& context);
// running.cc
void AddRun(CLI::App& app, Context& context);
void AddSummary(CLI::App& app, Context& context);
void AddMount(CLI::App& app, Context& context);
void AddUnmount(CLI::App& app, Context& context);
void AddServe(CLI::App& app, Context& context);
void AddMcp(CLI::App& app, Context& context);
// history.cc
void AddSnapshot(CLI::App& app, Context& context);
void AddBranch(CLI::App& app, Context& context);
void AddBackwards(CLI::App& app, Context& context);
void AddLog(CLI::App& app, Context& context);
// audit.cc
void AddAudit(CLI::App& app, Context& context);
// changes.cc
void AddDiff(CLI::App& app, Context& context);
void AddApply(CLI::App& app, Context& context);
void AddExport(CLI::App& app, Context& context);
void AddImport(CLI::App& app, Context& context);
void AddPack(CLI::App& app, Context& context);
// exec.cc
void AddExec(CLI::App& app, Context& context);
// state.cc
void AddSql(CLI::App& app, Context& context);
void AddKv(CLI::App& app, Context& context);
void AddTool(CLI::App& app, Context& context);
// policy.cc
void AddPolicy(CLI::App& app, Context& context);
// fs.cc
void AddFs(CLI::App& app, Context& context);

}  // namespace agentfs::cli
