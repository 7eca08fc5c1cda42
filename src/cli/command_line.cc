// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <sstream>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/grammar/grammar.h"

namespace agentfs::cli {

CLI::App& AddCommand(CLI::App& app, const std::string& name, const std::string& description,
                     const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, description);
  command->fallthrough();  // the global options may come last
  if (!examples.empty()) command->footer("Examples:\n" + examples);
  return *command;
}

void Choose(CLI::App& app, Context& context, std::function<Result<int>()> command, Place place) {
  app.callback([&context, command = std::move(command), place] {
    context.command = command;
    context.place = place;
  });
}

namespace {

std::string FirstSentence(const std::string& text) { return text.substr(0, text.find('\n')); }

void CollectPlaces(const CLI::App& app, const std::string& place,
                   std::vector<CompletionPlace>& places) {
  const size_t at = places.size();
  places.push_back({place, {}, {}});
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      places[at].options.push_back({"--" + name, FirstSentence(option->get_description())});
    }
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) {
         return !each->get_group().empty();  // the others are for ourselves
       })) {
    places[at].commands.push_back({command->get_name(), FirstSentence(command->get_description())});
    CollectPlaces(*command, place + " " + command->get_name(), places);
  }
}

void AddCompletion(CLI::App& app, Context& context) {
  CLI::App& completion =
      AddCommand(app, "completion", "Print a script that completes command lines",
                 "  source <(agentfs completion bash)\n"
                 "  agentfs completion zsh > ~/.zfunc/_agentfs\n"
                 "  agentfs completion fish | source");
  auto shell = std::make_shared<std::string>();
  completion.add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name("");
  completion.callback([&app, &context, shell] {
    std::vector<CompletionPlace> places;
    CollectPlaces(app, "", places);
    context.command = [&context, script = RenderCompletion(*shell, places)]() -> Result<int> {
      if (!script.ok()) return script.error();
      AGENTFS_TRY(context.Print(*script));
      return kDone;
    };
    context.place = Place::kClient;
  });
}

void AddVersion(CLI::App& app, Context& context) {
  CLI::App& version = AddCommand(app, "version", "Print the version", "");
  version.callback([&context] {
    context.command = [&context] { return RunVersion(context); };
    context.place = Place::kClient;
  });
}

constexpr const char* kAbout =
    "A copy-on-write filesystem and execution boundary for AI agents.\n"
    "Every change lands in a branch; the real files stay as they are.";

constexpr const char* kExitHelp =
    "Exit status: 0 done, 1 the answer is no, 2 wrong usage, 3 conflict (nothing written),\n"
    "4 not found, 125 agentfs itself failed.";

// CLI11 takes "[a,b]" for a list. With a mark at its end it is a word, and options take it off.
constexpr char kWordMark = '\x1f';

// CLI11 gives what follows "--" to the outer command once a list has words. With a mark before them
// they are words of the command, and the dashes are not needed; but commands to be run are told by
// these. The value is how many there are.
size_t MarkAfterDashes(std::vector<std::string>& arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes == arguments.end()) return 0;
  const auto after = static_cast<size_t>(arguments.end() - dashes) - 1;
  for (const std::string_view runs : {"run", "exec", "policy"}) {
    if (std::find(arguments.begin(), dashes, runs) != dashes) return after;
  }
  std::for_each(dashes + 1, arguments.end(),
                [](std::string& word) { word.insert(0, 1, kWordMark); });
  arguments.erase(dashes);
  return after;
}

void MarkWords(std::vector<std::string>& arguments) {
  for (std::string& argument : arguments) {
    if (argument.starts_with("[") && argument.ends_with("]")) argument.push_back(kWordMark);
  }
}

void TakeOffMarks(CLI::App& app) {
  const CLI::Validator unmark(
      [](std::string& word) {
        if (word.ends_with(kWordMark)) word.pop_back();
        if (word.starts_with(kWordMark)) word.erase(0, 1);
        return std::string();
      },
      "", "");
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() > 0) option->transform(unmark);
  }
  for (CLI::App* command : app.get_subcommands({})) TakeOffMarks(*command);
}

// What adds commands to the grammar, and the commands that it adds.
struct Part {
  void (*add)(CLI::App& app, Context& context);
  std::array<std::string_view, 3> names;  // empty: no more
};

constexpr Part kParts[] = {
    {AddInit, {"init"}},
    {AddRun, {"run"}},
    {AddExec, {"exec"}},
    {AddSummary, {"summary"}},
    {AddMount, {"mount"}},
    {AddUnmount, {"umount"}},
    {AddStatus, {"status"}},
    {AddDiff, {"diff"}},
    {AddApply, {"apply"}},
    {AddBackwards, {"discard", "restore", "undo"}},
    {AddLog, {"log"}},
    {AddAudit, {"audit"}},
    {AddSql, {"sql"}},
    {AddKv, {"kv"}},
    {AddTool, {"tool"}},
    {AddPolicy, {"policy"}},
    {AddExport, {"export"}},
    {AddImport, {"import"}},
    {AddPack, {"pack"}},
    {AddServe, {"serve"}},
    {AddMcp, {"mcp", "mcp-session"}},
    {AddFs, {"fs"}},
    {AddSnapshot, {"snapshot"}},
    {AddBranch, {"branch"}},
    {AddGc, {"gc"}},
    {AddFsck, {"fsck"}},
    {AddDoctor, {"doctor"}},
    {AddCompletion, {"completion"}},
    {AddVersion, {"version"}},
};

bool IsNamed(const Part& part, const std::vector<std::string>& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::any_of(part.names.begin(), part.names.end(), [&](std::string_view name) {
    return !name.empty() && std::find(arguments.begin(), end, name) != end;
  });
}

// Whether only the whole grammar will do: to list it, or to say that there is no such command.
bool NeedsAll(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument == "-h" || argument == "--help" || argument == "completion") return true;
  }
  return std::none_of(std::begin(kParts), std::end(kParts),
                      [&](const Part& part) { return IsNamed(part, arguments); });
}

// The grammar of the commands that are named: that of all costs each start of the program half a
// millisecond. A word may be meant as something else than a command; that does no harm.
void Build(CLI::App& app, Context& context, const std::vector<std::string>& arguments) {
  const bool all = NeedsAll(arguments);
  app.name("agentfs");
  app.require_subcommand(1);
  app.add_option("--workspace", context.workspace,
                 "The workspace: a directory with .agentfs/, a state directory, or a database "
                 "file (default: $AGENTFS_WORKSPACE, else found upwards from here)")
      ->type_name("DIR");
  app.add_flag("--json", context.json, "Print one JSON document");
  app.add_flag("--no-color", context.no_color, "No colours");
  app.add_flag("--quiet", context.quiet, "No notices");
  app.add_flag("--color", context.force_color, "Colours even if stdout is no terminal");
  app.set_version_flag("--version", "agentfs " AGENTFS_VERSION);
  app.footer(kExitHelp);
  for (const Part& part : kParts) {
    if (all || IsNamed(part, arguments)) part.add(app, context);
  }
  TakeOffMarks(app);
}

// Options that people know from find(1), which have one dash and many letters.
void TranslateFindOptions(std::vector<std::string>& arguments) {
  bool find = false;
  for (std::string& argument : arguments) {
    if (argument == "--") return;
    find |= argument == "find";
    if (find && (argument == "-name" || argument == "-type" || argument == "-maxdepth")) {
      argument.insert(0, "-");
    }
  }
}

bool AsksForJson(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return false;
    if (argument == "--json") return true;
  }
  return false;
}

// "agentfs fs ls" for the innermost command that was recognised.
std::string CommandName(const CLI::App& app) {
  std::string name = app.get_name();
  const CLI::App* inner = &app;
  while (!inner->get_subcommands().empty()) {
    inner = inner->get_subcommands().front();
    name += " " + inner->get_name();
  }
  return name;
}

int ReportUsage(const CLI::App& app, Context& context, const CLI::ParseError& error) {
  std::string message = error.what();
  std::erase(message, kWordMark);
  for (char& c : message) {
    if (c == '\n') c = ' ';
  }
  const std::string name = CommandName(app);
  // CLI11 only says that a command is missing; the word that is none says more.
  const std::vector<std::string> strangers = app.remaining(true);
  const bool no_command = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (no_command && !strangers.empty()) {
    const bool is_option = strangers[0].starts_with("-");
    message = std::string("there is no ") + (is_option ? "option" : "command") + " '" +
              strangers[0] + "'";
  }
  const std::string what =
      name == "agentfs" ? "usage" : name.substr(std::string("agentfs ").size());
  context.Report(Error(EINVAL, what + ": " + message, "'" + name + " --help' shows the usage"));
  return kUsage;
}

}  // namespace

std::optional<int> ParseCommandLine(std::vector<std::string> arguments, Context& context) {
  CLI::App app(kAbout);
  Build(app, context, arguments);
  TranslateFindOptions(arguments);
  const bool json = AsksForJson(arguments);
  MarkWords(arguments);
  context.words_after_dashes = MarkAfterDashes(arguments);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& asked) {  // --help, --version
    std::ostringstream text;
    app.exit(asked, text, text);
    return context.Print(text.str()).ok() && context.console->Flush().ok() ? kDone : kFailed;
  } catch (const CLI::ParseError& error) {
    context.json = json;
    return ReportUsage(app, context, error);
  }
  return std::nullopt;
}

}  // namespace agentfs::cli
