// SPDX-License-Identifier: Apache-2.0
//
// Each function adds a command, with its options and help, to the parser. Parsing it sets
// Context::command; nothing runs before the whole command line was understood.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace agentfs::cli {

struct Context;

void AddVersion(CLI::App& app, Context& context);
void AddInit(CLI::App& app, Context& context);
void AddFs(CLI::App& app, Context& context);
void AddSnapshot(CLI::App& app, Context& context);
void AddBranch(CLI::App& app, Context& context);
void AddGc(CLI::App& app, Context& context);
void AddFsck(CLI::App& app, Context& context);

// A command below `app` with its description and the examples that end its help.
CLI::App& AddCommand(CLI::App& app, const std::string& name, const std::string& description,
                     const std::string& examples);

}  // namespace agentfs::cli
