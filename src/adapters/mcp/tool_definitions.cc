// SPDX-License-Identifier: Apache-2.0
//
// Names, parameters, annotations and structured content of the file tools are those of the
// reference filesystem server, so that clients and models find what they know.
#include "adapters/mcp/tool_definitions.h"

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace agentfs::mcp {
namespace {

using Json = nlohmann::ordered_json;

// What a client may assume: it only reads; it changes, repeating it or not, and destroys or not.
enum class Hint : uint8_t { kReads, kAdds, kReplaces, kEdits, kRuns };
enum class Output : uint8_t { kText, kMedia, kDocument };

struct Definition {
  std::string_view name, title, description;
  std::string_view properties;  // JSON
  std::string_view required;    // JSON
  Hint hint;
  Output output = Output::kText;
};

constexpr std::string_view kPath = R"({"path":{"type":"string"}})";
constexpr std::string_view kPathNeeded = R"(["path"])";
constexpr std::string_view kLines =
    R"({"path":{"type":"string"},
        "tail":{"type":"number","description":"If given, only the last N lines of the file"},
        "head":{"type":"number","description":"If given, only the first N lines of the file"}})";
constexpr std::string_view kFromTo =
    R"({"source":{"type":"string"},"destination":{"type":"string"}})";
constexpr std::string_view kBranch =
    R"("branch":{"type":"string","description":"A branch; default: the session's"})";

constexpr std::array kDefinitions = {
    Definition{"read_file", "Read File (Deprecated)",
               "Read a file as text. DEPRECATED: use read_text_file.", kLines, kPathNeeded,
               Hint::kReads},
    Definition{"read_text_file", "Read Text File",
               "Read the whole content of a file as text; with 'head' only its first N lines, with "
               "'tail' only its last N. What is not UTF-8 is shown as U+FFFD. Only within the "
               "allowed directories.",
               kLines, kPathNeeded, Hint::kReads},
    Definition{"read_media_file", "Read Media File",
               "Read a file as base64 with its MIME type: an image or a sound as such, any other "
               "file as an embedded resource. Only within the allowed directories.",
               kPath, kPathNeeded, Hint::kReads, Output::kMedia},
    Definition{"read_multiple_files", "Read Multiple Files",
               "Read several files at once, which is faster than one by one. Each content follows "
               "the path that was asked for; a file that cannot be read does not stop the others. "
               "Only within the allowed directories.",
               R"({"paths":{"type":"array","items":{"type":"string"},"minItems":1,
                   "description":"The files to read, each within the allowed directories."}})",
               R"(["paths"])", Hint::kReads},
    Definition{"write_file", "Write File",
               "Make a file, or replace the whole content of one that there is. Every change lands "
               "in the session's branch; the real files stay as they are until a person applies "
               "it. Only within the allowed directories.",
               R"({"path":{"type":"string"},"content":{"type":"string"}})", R"(["path","content"])",
               Hint::kReplaces},
    Definition{"edit_file", "Edit File",
               "Edit a text file by replacing pieces of it. Each edit replaces the first place "
               "where its old text stands, or else the first lines that differ from it only in "
               "white space around them. Gives a git-style diff of what was changed; with dryRun "
               "of what would be. Only within the allowed directories.",
               R"({"path":{"type":"string"},
                   "edits":{"type":"array","items":{"type":"object","properties":{
                     "oldText":{"type":"string","description":"The text to be replaced"},
                     "newText":{"type":"string","description":"The text to replace it with"}},
                     "required":["oldText","newText"],"additionalProperties":false}},
                   "dryRun":{"type":"boolean","default":false,
                     "description":"Only show what would change, as a git-style diff"}})",
               R"(["path","edits"])", Hint::kEdits},
    Definition{
        "create_directory", "Create Directory",
        "Make a directory, with the directories above it that are missing. One that is there "
        "already is fine. Only within the allowed directories.",
        kPath, kPathNeeded, Hint::kAdds},
    Definition{"list_directory", "List Directory",
               "List what is in a directory, by name: [FILE] before files, [DIR] before "
               "directories. Only within the allowed directories.",
               kPath, kPathNeeded, Hint::kReads},
    Definition{"list_directory_with_sizes", "List Directory with Sizes",
               "List what is in a directory with the sizes of files, by name or largest first, and "
               "their number and sum. Only within the allowed directories.",
               R"({"path":{"type":"string"},"sortBy":{"type":"string","enum":["name","size"],
                   "default":"name","description":"Sort entries by name or size"}})",
               kPathNeeded, Hint::kReads},
    Definition{"directory_tree", "Directory Tree",
               "Everything below a directory as JSON: each entry has 'name' and 'type' (file or "
               "directory), and a directory has 'children'. excludePatterns are globs over paths "
               "below it; one without a star means that name at any depth. Only within the allowed "
               "directories.",
               R"({"path":{"type":"string"},"excludePatterns":{"type":"array",
                   "items":{"type":"string"},"default":[]}})",
               kPathNeeded, Hint::kReads},
    Definition{"move_file", "Move File",
               "Move or rename a file or a directory. Fails if there is something at the "
               "destination. Both must be within the allowed directories.",
               kFromTo, R"(["source","destination"])", Hint::kEdits},
    Definition{"search_files", "Search Files",
               "Find files and directories below a directory whose path from there matches a glob: "
               "'*.ext' in the directory itself, '**/*.ext' at any depth. Gives their full paths. "
               "Only within the allowed directories.",
               R"({"path":{"type":"string"},"pattern":{"type":"string"},
                   "excludePatterns":{"type":"array","items":{"type":"string"},"default":[]}})",
               R"(["path","pattern"])", Hint::kReads},
    Definition{"get_file_info", "Get File Info",
               "What is known of a file or directory without reading it: size, times, type, "
               "permissions. Only within the allowed directories.",
               kPath, kPathNeeded, Hint::kReads},
    Definition{
        "list_allowed_directories", "List Allowed Directories",
        "The directory that this server works in: the workspace. Paths may be given from the "
        "root of the workspace too.",
        "{}", "[]", Hint::kReads},
    Definition{"delete_file", "Delete File",
               "Delete a file, a link or an empty directory; with 'recursive' a directory with "
               "everything in it. 'restore' and 'snapshot' can bring it back. Only within the "
               "allowed directories.",
               R"({"path":{"type":"string"},"recursive":{"type":"boolean","default":false,
                   "description":"Delete what is in a directory too"}})",
               kPathNeeded, Hint::kEdits},
    Definition{"copy_file", "Copy File",
               "Copy a file or a whole directory; content is shared, so that it costs next to "
               "nothing. Fails if there is something at the destination, unless 'overwrite' is "
               "given. Both must be within the allowed directories.",
               R"({"source":{"type":"string"},"destination":{"type":"string"},
                   "overwrite":{"type":"boolean","default":false,
                   "description":"Replace what is at the destination"}})",
               R"(["source","destination"])", Hint::kEdits},
    Definition{
        "exec", "Run a Command",
        "Run a command in a sandbox on the session's branch, as the workspace's policy allows: "
        "'command' is text for a shell, 'argv' the words of a command, one of them is needed. "
        "Gives its output, exit code and the files that it has changed; 'undo' takes these "
        "back. Where a person has to approve it first, the answer says so.",
        R"({"command":{"type":"string","description":"Text for /bin/sh"},
                   "argv":{"type":"array","items":{"type":"string"},
                     "description":"The words of the command, instead of text"},
                   "cwd":{"type":"string","description":"Where; default: the workspace's root"},
                   "read_only":{"type":"boolean","default":false,
                     "description":"Nothing can be written"},
                   "checkpoint":{"type":"string","enum":["auto","always","never"],
                     "default":"auto","description":"Whether there is a way back"},
                   "timeout_ms":{"type":"integer","minimum":0,
                     "description":"End it after so long; default: never"},
                   "environment":{"type":"array","items":{"type":"string"},
                     "description":"NAME=value, besides what there is"},
                   "stdin":{"type":"string","description":"Its input"},
                   "network":{"type":"boolean","default":true},
                   "label":{"type":"string","description":"A word for it in the history"},)",
        "[]", Hint::kRuns, Output::kDocument},
    Definition{"snapshot", "Snapshot",
               "Keep what the branch is now, under a name; costs nothing, whatever its size. "
               "'restore' brings it back.",
               R"({"name":{"type":"string","description":"Its name; default: its id"},
                   "message":{"type":"string","description":"What to remember about it"},)",
               "[]", Hint::kAdds, Output::kDocument},
    Definition{"restore", "Restore",
               "Make the branch, or only some paths of it, what a snapshot, another branch or the "
               "base ('base': the real files) is. What it replaces is snapshotted first.",
               R"({"ref":{"type":"string","description":"A snapshot, a branch, or base"},
                   "paths":{"type":"array","items":{"type":"string"},
                   "description":"Only these, and what is below them"},)",
               R"(["ref"])", Hint::kReplaces, Output::kDocument},
    Definition{
        "undo", "Undo",
        "Take back what the last command or edit of a file has changed in the branch. Again: "
        "the one before. What is replaced is snapshotted first.",
        "{", "[]", Hint::kEdits, Output::kDocument},
    Definition{
        "diff", "Diff",
        "What differs between two states, as a patch that git apply accepts, and as a list: "
        "by default what the session's branch has changed of the real files.",
        R"({"from":{"type":"string","description":"A branch, a snapshot, or base; default: base"},
                   "to":{"type":"string",
                   "description":"A branch, a snapshot, or base; default: the session's branch"},
                   "paths":{"type":"array","items":{"type":"string"},
                   "description":"Only these, and what is below them"}})",
        "[]", Hint::kReads, Output::kDocument},
    Definition{"branch_create", "Create Branch",
               "Fork a branch, which costs nothing; branch_switch goes there.",
               R"({"name":{"type":"string"},"from":{"type":"string",
                   "description":"A branch, a snapshot, or base; default: the session's branch"}})",
               R"(["name"])", Hint::kAdds, Output::kDocument},
    Definition{"branch_list", "List Branches",
               "The branches of the workspace, and which one this session is on.", "{}", "[]",
               Hint::kReads, Output::kDocument},
    Definition{"branch_switch", "Switch Branch",
               "Let this session, and no other, work on another branch from now on.",
               R"({"name":{"type":"string"}})", R"(["name"])", Hint::kAdds, Output::kDocument},
    Definition{"history", "History",
               "What has happened, newest first: commands, snapshots, applies; of a path its "
               "versions.",
               R"({"path":{"type":"string","description":"Only the versions of this file"},
                   "limit":{"type":"integer","minimum":1,"default":100,
                   "description":"At most so many"},)",
               "[]", Hint::kReads, Output::kDocument},
    Definition{
        "query", "Query",
        "Ask about the workspace in SQL (SQLite): one statement that only reads. Views: files, "
        "changes, ops (what was done to files), execs (commands and calls), tool_calls, kv, "
        "paths, programs. At most ten seconds.",
        R"({"sql":{"type":"string","description":"One SELECT"},
                   "limit":{"type":"integer","minimum":1,"default":1000,
                   "description":"At most so many rows"}})",
        R"(["sql"])", Hint::kReads, Output::kDocument},
};

Json Annotations(Hint hint) {
  if (hint == Hint::kReads) return {{"readOnlyHint", true}, {"openWorldHint", false}};
  const bool repeatable = hint == Hint::kAdds || hint == Hint::kReplaces;
  return {{"readOnlyHint", false},
          {"destructiveHint", hint != Hint::kAdds},
          {"idempotentHint", repeatable},
          {"openWorldHint", hint == Hint::kRuns}};
}

constexpr std::string_view kTextOutput =
    R"({"type":"object","properties":{"content":{"type":"string"}},"required":["content"],
        "additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"})";
constexpr std::string_view kMediaOutput =
    R"({"type":"object","properties":{"content":{"type":"array","items":{"anyOf":[
          {"type":"object","properties":{"type":{"type":"string","enum":["image","audio"]},
            "data":{"type":"string"},"mimeType":{"type":"string"}},
            "required":["type","data","mimeType"],"additionalProperties":false},
          {"type":"object","properties":{"type":{"type":"string","const":"resource"},
            "resource":{"type":"object","properties":{"uri":{"type":"string"},
              "mimeType":{"type":"string"},"blob":{"type":"string"}},
              "required":["uri","blob"],"additionalProperties":false}},
            "required":["type","resource"],"additionalProperties":false}]}}},
        "required":["content"],"additionalProperties":false,
        "$schema":"http://json-schema.org/draft-07/schema#"})";
// The documents are those of the command line's --json, which may get new members.
constexpr std::string_view kDocumentOutput =
    R"({"type":"object","$schema":"http://json-schema.org/draft-07/schema#"})";

std::string_view OutputSchema(Output output) {
  switch (output) {
    case Output::kText:
      return kTextOutput;
    case Output::kMedia:
      return kMediaOutput;
    case Output::kDocument:
      break;
  }
  return kDocumentOutput;
}

// Properties that are not closed end with the branch.
Json Properties(const Definition& definition) {
  std::string text(definition.properties);
  if (!text.ends_with('}')) text.append(kBranch).append("}");
  return Json::parse(text);
}

Json InputSchema(const Definition& definition) {
  Json schema = {{"type", "object"}, {"properties", Properties(definition)}};
  const Json required = Json::parse(definition.required);
  if (!required.empty()) schema["required"] = required;
  schema["additionalProperties"] = false;
  schema["$schema"] = "http://json-schema.org/draft-07/schema#";
  return schema;
}

}  // namespace

Json ToolDefinition(std::string_view name) {
  for (const Definition& each : kDefinitions) {
    if (each.name != name) continue;
    return {{"name", each.name},
            {"title", each.title},
            {"description", each.description},
            {"inputSchema", InputSchema(each)},
            {"outputSchema", Json::parse(OutputSchema(each.output))},
            {"annotations", Annotations(each.hint)}};
  }
  std::abort();  // each tool is defined
}

}  // namespace agentfs::mcp
