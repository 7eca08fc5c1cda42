// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/session.h"

#include <exception>
#include <nlohmann/json.hpp>

#include "adapters/mcp/resources.h"
#include "base/clock.h"

namespace agentfs::mcp {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kBeatMs = 500;

constexpr std::string_view kInstructions =
    "The files of a workspace, as a branch of it has them. Every change lands in the branch; the "
    "real files stay as they are until a person applies it. Take a snapshot before something "
    "risky; 'diff' shows what was changed, 'restore' and 'undo' take it back. Paths are those of "
    "the real workspace (list_allowed_directories), or from its root.";

std::string ProgressToken(const Json& params) {
  const auto meta = params.find("_meta");
  if (meta == params.end() || !meta->is_object()) return "";
  const auto token = meta->find("progressToken");
  if (token == meta->end() || !(token->is_string() || token->is_number())) return "";
  return ToText(*token);
}

// "write_file /src/a.c"; empty: it edits nothing.
std::string EditOf(const Tool& tool, const Json& arguments) {
  if (tool.effect != Tool::Effect::kEdits || !arguments.is_object()) return "";
  const auto dry = arguments.find("dryRun");
  if (dry != arguments.end() && dry->is_boolean() && dry->get<bool>()) return "";
  std::string text(tool.name);
  for (const char* name : {"path", "source", "destination"}) {
    const auto path = arguments.find(name);
    if (path != arguments.end() && path->is_string()) text += " " + path->get<std::string>();
  }
  return text;
}

bool IsCallMethod(std::string_view method) {
  return method == "tools/call" || method == "resources/list" || method == "resources/read";
}

// Gathers the answers of a batch, to be sent as one.
class BatchReplies {
 public:
  BatchReplies(LineChannel& channel, size_t expected) : channel_(channel), missing_(expected) {}

  void Take(std::optional<std::string> text) {
    std::string all;
    {
      absl::MutexLock lock(&mu_);
      if (text) replies_ += (replies_.empty() ? "" : ",") + *text;
      if (--missing_ > 0 || replies_.empty()) return;
      all = "[" + replies_ + "]";
    }
    (void)channel_.Write(all);
  }

 private:
  LineChannel& channel_;
  absl::Mutex mu_;
  size_t missing_ ABSL_GUARDED_BY(mu_);
  std::string replies_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

// One that a client waits for.
struct Session::Call {
  Call(Incoming asked, const Tool* called, Reply answer, LineChannel& channel)
      : message(std::move(asked)),
        tool(called),
        reply(std::move(answer)),
        progress(ProgressToken(*message.params), channel) {}

  const Incoming message;
  const Tool* const tool;  // null: about resources
  const Reply reply;
  std::stop_source stop;
  Progress progress;
  std::shared_ptr<const BranchView> branch;  // from the beginning of the call on
};

Session::Session(Host& host, LineChannel& channel, std::string version,
                 std::shared_ptr<const BranchView> branch)
    : host_(host),
      channel_(channel),
      version_(std::move(version)),
      paths_(host.Directory()),
      branch_(std::move(branch)) {}

Session::~Session() = default;

void Session::Run() {
  std::string line;
  for (;;) {
    switch (channel_.Read(line, with_progress_ > 0 ? kBeatMs : -1)) {
      case LineChannel::Event::kLine:
        OnLine(line);
        break;
      case LineChannel::Event::kTooLong:
        (void)channel_.Write(ErrorText("null", kParseError, "a message of more than 64 MiB"));
        break;
      case LineChannel::Event::kTimeout:
        break;
      case LineChannel::Event::kEnd:
        return WaitForCalls();
      case LineChannel::Event::kGone:
        return CancelAll();
    }
    if (with_progress_ > 0) Beat();
  }
}

void Session::OnLine(const std::string& line) {
  if (line.find_first_not_of(" \t\r") == std::string::npos) return;
  IncomingLine parsed = ParseLine(line);
  if (!parsed.batch) {
    return OnMessage(std::move(parsed.messages[0]), [this](std::optional<std::string> text) {
      if (text) (void)channel_.Write(*text);
    });
  }
  auto replies = std::make_shared<BatchReplies>(channel_, parsed.messages.size());
  const Reply reply = [replies](std::optional<std::string> text) {
    replies->Take(std::move(text));
  };
  for (Incoming& message : parsed.messages) OnMessage(std::move(message), reply);
}

void Session::OnMessage(Incoming message, const Reply& reply) {
  switch (message.kind) {
    case Incoming::Kind::kRequest:
      return OnRequest(std::move(message), reply);
    case Incoming::Kind::kNotification:
      OnNotification(message);
      return reply(std::nullopt);
    case Incoming::Kind::kResponse:
      return reply(std::nullopt);
    case Incoming::Kind::kInvalid:
      return reply(ErrorText(message.id, message.code, message.problem));
  }
}

void Session::OnNotification(const Incoming& message) {
  if (message.method != "notifications/cancelled") return;
  const auto id = message.params->find("requestId");
  if (id == message.params->end()) return;
  absl::MutexLock lock(&mu_);
  const auto call = running_.find(ToText(*id));
  if (call != running_.end()) call->second->stop.request_stop();
}

void Session::OnRequest(Incoming message, const Reply& reply) {
  if (auto answer = AnswerAtOnce(message)) return reply(std::move(answer));
  if (!IsCallMethod(message.method)) {
    return reply(ErrorText(message.id, kMethodNotFound, "Method not found: " + message.method));
  }
  const Tool* tool = nullptr;
  if (message.method == "tools/call") {
    const auto name = message.params->find("name");
    if (name == message.params->end() || !name->is_string()) {
      return reply(ErrorText(message.id, kInvalidParams, "tools/call needs the name of a tool"));
    }
    tool = FindTool(name->get_ref<const std::string&>());
    if (tool == nullptr) {
      return reply(ErrorText(message.id, kInvalidParams,
                             "Unknown tool: " + name->get_ref<const std::string&>()));
    }
  }
  StartCall(std::move(message), tool, reply);
}

std::optional<std::string> Session::AnswerAtOnce(const Incoming& message) const {
  if (message.method == "initialize") return ReplyText(message.id, InitializeResult(message));
  if (message.method == "ping") return ReplyText(message.id, "{}");
  if (message.method == "tools/list") {
    static const auto* const tools = new std::string(ToText(ToolDefinitions()));
    return ReplyText(message.id, *tools);
  }
  if (message.method == "resources/templates/list") {
    return ReplyText(message.id, ToText(ResourceTemplates(paths_)));
  }
  return std::nullopt;
}

std::string Session::InitializeResult(const Incoming& message) const {
  const auto asked = message.params->find("protocolVersion");
  const std::string revision =
      asked != message.params->end() && asked->is_string() ? asked->get<std::string>() : "";
  return ToText({{"protocolVersion", ChooseRevision(revision)},
                 {"capabilities",
                  {{"tools", {{"listChanged", false}}},
                   {"resources", {{"subscribe", false}, {"listChanged", false}}}}},
                 {"serverInfo", {{"name", "agentfs"}, {"title", "AgentFS"}, {"version", version_}}},
                 {"instructions", kInstructions}});
}

void Session::StartCall(Incoming message, const Tool* tool, const Reply& reply) {
  const std::string id = message.id;
  auto call = std::make_shared<Call>(std::move(message), tool, reply, channel_);
  {
    absl::MutexLock lock(&mu_);
    if (!running_.emplace(id, call).second) {
      return reply(ErrorText(id, kInvalidRequest, "a request with this id is under way"));
    }
  }
  if (call->progress.wanted()) ++with_progress_;
  CallLane::Work work;
  work.begin = [this, call] {
    absl::MutexLock lock(&mu_);
    call->branch = branch_;
  };
  work.run = [this, call] { RunCall(*call); };
  work.apart = tool == nullptr || tool->duration == Tool::Duration::kLong;
  if (!lane_.Add(std::move(work))) {
    FinishCall(*call, ErrorText(id, kInternalError, "too many calls are waiting"));
  }
}

// Nothing may leave a thread of the lane: what a library throws is an error of this call alone.
void Session::RunCall(Call& call) {
  std::string text;
  try {
    if (!call.stop.stop_requested()) {
      text = call.tool == nullptr ? ResourceReply(call) : ToolReply(call);
    }
  } catch (const std::exception& error) {
    text = ErrorText(call.message.id, kInternalError, error.what());
  }
  FinishCall(call, std::move(text));
}

std::string Session::ToolReply(Call& call) {
  const Json& params = *call.message.params;
  const Json none = Json::object();
  const auto given = params.find("arguments");
  const Json& arguments = given == params.end() || given->is_null() ? none : *given;
  CallRecord record;
  record.tool = call.tool->name;
  record.branch = call.branch->name;
  record.parameters = ToShortText(arguments);
  record.started_ns = ToNanoseconds(Now());
  record.is_own_exec = !call.tool->is_exec;
  record.edits = EditOf(*call.tool, arguments);
  if (record.is_own_exec) record.exec = host_.BeginCall(record);
  const auto result = RunTool(call, arguments, record);
  if (result.ok()) {
    // What is in both is kept once.
    const auto structured = result->find("structuredContent");
    record.result = ToShortText(structured == result->end() ? *result : *structured);
    if (result->value("isError", false)) record.error = "it did not run";
  } else {
    record.error = result.error().message();
  }
  host_.EndCall(record);
  return ReplyText(call.message.id, ToText(result.ok() ? *result : ErrorResult(result.error())));
}

Result<Json> Session::RunTool(Call& call, const Json& arguments, CallRecord& record) {
  AGENTFS_TRY(CheckArguments(*call.tool, arguments));
  ToolCall tool_call{host_, paths_, *call.branch, arguments, call.stop.get_token(), call.progress};
  host_.Settle();
  auto result = [&]() -> Result<Json> {
    try {
      return call.tool->run(tool_call);
    } catch (const std::exception& error) {  // of a library, or for want of memory
      return Error(EIO, error.what());
    }
  }();
  if (call.tool->effect != Tool::Effect::kReads) host_.Publish();
  if (tool_call.exec != 0) record.exec = tool_call.exec;
  if (tool_call.switched_to) {
    absl::MutexLock lock(&mu_);
    branch_ = std::move(tool_call.switched_to);
  }
  return result;
}

std::string Session::ResourceReply(Call& call) {
  const Json& params = *call.message.params;
  const std::string& id = call.message.id;
  const bool list = call.message.method == "resources/list";
  const char* name = list ? "cursor" : "uri";
  const auto value = params.find(name);
  const bool given = value != params.end() && value->is_string();
  if (!given && (!list || value != params.end())) {
    return ErrorText(id, kInvalidParams, std::string(name) + " must be a string");
  }
  const std::string text = given ? value->get<std::string>() : "";
  const ToolCall about{host_, paths_, *call.branch, params, call.stop.get_token(), call.progress};
  host_.Settle();
  const auto result =
      list ? ListResources(*call.branch, paths_, text, about.stop) : ReadResource(about, text);
  if (result.ok()) return ReplyText(id, ToText(*result));
  if (list) return ErrorText(id, kInvalidParams, result.error().message());
  const bool missing = result.code() == ENOENT || result.code() == EINVAL;
  return ErrorText(id, missing ? kResourceNotFound : kInternalError,
                   missing ? "Resource not found" : result.error().message(), {{"uri", text}});
}

void Session::FinishCall(Call& call, std::string text) {
  call.progress.End();
  if (call.progress.wanted()) --with_progress_;
  {
    absl::MutexLock lock(&mu_);
    running_.erase(call.message.id);
  }
  // Who has cancelled a request does not expect an answer to it.
  if (call.stop.stop_requested() || text.empty()) return call.reply(std::nullopt);
  call.reply(std::move(text));
}

void Session::WaitForCalls() {
  while (!lane_.WaitIdle(absl::Milliseconds(kBeatMs / 5))) {
    if (channel_.IsGone()) return CancelAll();
    Beat();
  }
}

void Session::CancelAll() {
  absl::MutexLock lock(&mu_);
  for (const auto& [id, call] : running_) call->stop.request_stop();
}

void Session::Beat() {
  std::vector<std::shared_ptr<Call>> calls;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [id, call] : running_) calls.push_back(call);
  }
  for (const auto& call : calls) call->progress.Beat();
}

}  // namespace agentfs::mcp
