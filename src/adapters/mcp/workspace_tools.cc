// SPDX-License-Identifier: Apache-2.0
//
// What the command line does to branches and snapshots, as tools: each is a command line of ours
// whose JSON document is the structured content.
#include <nlohmann/json.hpp>

#include "adapters/mcp/protocol.h"
#include "adapters/mcp/tools.h"

namespace agentfs::mcp {
namespace {

using Json = nlohmann::ordered_json;
using Arguments = std::vector<std::string>;

std::string OptionalText(const Json& arguments, const char* name) {
  return arguments.value(name, std::string());
}

// A ref goes among the words of a command line: it must not be taken for an option.
Result<std::string> RefArgument(const Json& arguments, const char* name) {
  std::string ref = OptionalText(arguments, name);
  if (ref.starts_with("-")) return Error(EINVAL, "'" + ref + "' is no branch or snapshot");
  return ref;
}

std::string BranchArgument(const ToolCall& call) {
  return "--branch=" + call.arguments.value("branch", call.branch.name);
}

Result<void> AddPaths(const ToolCall& call, Arguments& words) {
  for (const Json& each : call.arguments.value("paths", Json::array())) {
    AGENTFS_ASSIGN(std::string path, call.paths.ToView(call.files(), each.get<std::string>()));
    words.push_back(std::move(path));
  }
  return Ok();
}

Error FailureOf(const CommandOutput& output, const Json& document) {
  if (document.is_object() && document.contains("error")) {
    const Json& error = document["error"];
    return Error(EIO, error.value("message", std::string("the command failed")),
                 error.value("remedy", std::string()));
  }
  std::string text = output.err;
  while (text.ends_with('\n')) text.pop_back();
  return Error(EIO, text.empty() ? "the command failed" : text);
}

// The one document of a command line with --json.
Result<Json> RunForJson(const ToolCall& call, Arguments words) {
  words.insert(words.begin(), {"--json", "--quiet"});
  const CommandOutput output = call.host.Run(words, call.stop);
  Json document = Json::parse(output.out, nullptr, false);
  if (output.status != 0 || document.is_discarded()) return FailureOf(output, document);
  return document;
}

Json DocumentResult(std::string text, Json document) {
  Json result;
  result["content"] = Json::array({{{"type", "text"}, {"text", std::move(text)}}});
  result["structuredContent"] = std::move(document);
  return result;
}

// Models read indented JSON better.
Json DocumentResult(Json document) {
  std::string text = document.dump(2, ' ', false, Json::error_handler_t::replace);
  return DocumentResult(std::move(text), std::move(document));
}

}  // namespace

Result<Json> TakeSnapshot(ToolCall& call) {
  Arguments words = {"snapshot", "create", BranchArgument(call)};
  const std::string message = OptionalText(call.arguments, "message");
  if (!message.empty()) words.push_back("--message=" + message);
  AGENTFS_ASSIGN(const std::string name, RefArgument(call.arguments, "name"));
  if (!name.empty()) words.push_back(name);
  AGENTFS_ASSIGN(Json document, RunForJson(call, std::move(words)));
  return DocumentResult(std::move(document));
}

Result<Json> RestoreBranch(ToolCall& call) {
  AGENTFS_ASSIGN(std::string ref, RefArgument(call.arguments, "ref"));
  Arguments words = {"restore", BranchArgument(call), std::move(ref)};
  AGENTFS_TRY(AddPaths(call, words));
  AGENTFS_ASSIGN(Json document, RunForJson(call, std::move(words)));
  return DocumentResult(std::move(document));
}

Result<Json> UndoLast(ToolCall& call) {
  AGENTFS_ASSIGN(Json document, RunForJson(call, {"undo", BranchArgument(call)}));
  return DocumentResult(std::move(document));
}

Result<Json> ShowDiff(ToolCall& call) {
  Arguments words = {"diff"};
  AGENTFS_ASSIGN(std::string from, RefArgument(call.arguments, "from"));
  AGENTFS_ASSIGN(std::string to, RefArgument(call.arguments, "to"));
  words.push_back(from.empty() ? "base" : std::move(from));
  words.push_back(to.empty() ? call.branch.name : std::move(to));
  AGENTFS_TRY(AddPaths(call, words));
  AGENTFS_ASSIGN(Json document, RunForJson(call, words));
  words.insert(words.begin(), {"--quiet", "--no-color"});
  const CommandOutput patch = call.host.Run(words, call.stop);
  if (patch.status != 0) return FailureOf(patch, Json());
  document["patch"] = patch.out;
  return DocumentResult(patch.out.empty() ? "No differences" : patch.out, std::move(document));
}

Result<Json> ShowHistory(ToolCall& call) {
  Arguments words = {"log", BranchArgument(call)};
  if (call.arguments.contains("path")) {
    AGENTFS_ASSIGN(std::string path, call.PathArgument("path"));
    words.push_back(std::move(path));
  }
  AGENTFS_ASSIGN(Json events, RunForJson(call, std::move(words)));
  const size_t limit = call.arguments.value("limit", size_t{100});
  while (events.size() > limit) events.erase(events.size() - 1);
  return DocumentResult({{"events", std::move(events)}});
}

Result<Json> QueryWorkspace(ToolCall& call) {
  const uint64_t limit = call.arguments.value("limit", uint64_t{1000});
  AGENTFS_ASSIGN(Json rows, RunForJson(call, {"sql", "--limit=" + std::to_string(limit), "--",
                                              call.arguments.at("sql").get<std::string>()}));
  return DocumentResult({{"rows", std::move(rows)}});
}

Result<Json> CreateBranch(ToolCall& call) {
  AGENTFS_ASSIGN(std::string name, RefArgument(call.arguments, "name"));
  AGENTFS_ASSIGN(std::string from, RefArgument(call.arguments, "from"));
  if (from.empty()) from = call.branch.name;
  AGENTFS_ASSIGN(Json document,
                 RunForJson(call, {"branch", "create", std::move(name), "--from=" + from}));
  return DocumentResult(std::move(document));
}

Result<Json> ListBranches(ToolCall& call) {
  AGENTFS_ASSIGN(Json branches, RunForJson(call, {"branch", "list"}));
  return DocumentResult({{"current", call.branch.name}, {"branches", std::move(branches)}});
}

Result<Json> SwitchBranch(ToolCall& call) {
  const std::string name = call.arguments.at("name").get<std::string>();
  auto opened = OpenBranchView(call.host, name);
  if (!opened.ok()) {
    return Error(opened.code(), "branch " + name + ": " + opened.error().message(),
                 "branch_list shows the branches, branch_create makes one");
  }
  Json document = {{"previous", call.branch.name}, {"branch", name}};
  call.switched_to = std::move(*opened);
  return DocumentResult("Now on branch " + name, std::move(document));
}

}  // namespace agentfs::mcp
