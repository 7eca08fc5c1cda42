// SPDX-License-Identifier: Apache-2.0
//
// kv get, set, delete, list.
#include <nlohmann/json.hpp>

#include "agentfs/agent_state.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/one_line.h"
#include "cli/session.h"

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShownValue = 60;

Json EntryJson(const KvEntry& entry) {
  return {{"key", entry.key},
          {"value", Json::parse(entry.value, nullptr, false)},
          {"created", FormatTime(FromNanoseconds(entry.created_ns))},
          {"updated", FormatTime(FromNanoseconds(entry.updated_ns))}};
}

Error NoSuchKey(const std::string& key) {
  return Error(ENOENT, "kv: there is no key '" + key + "'", "'agentfs kv list' shows the keys");
}

Result<std::string> QuoteJson(const std::string& text) {
  if (!IsValidUtf8(text)) {
    return Error(EINVAL, "kv: the value is not UTF-8, which JSON consists of",
                 "keep other bytes in a file, or as base64");
  }
  return Json(text).dump();
}

Result<std::string> ValueToSet(Context& context, const KvOptions& options) {
  std::string text;
  if (options.value) {
    text = *options.value;
  } else {
    text.resize(kMaxJsonBytes + 1);
    AGENTFS_ASSIGN(const size_t size, context.console->Read(text));
    text.resize(size);
  }
  return options.string ? QuoteJson(text) : text;
}

Result<std::string> TextOf(const KvEntry& entry, bool as_string) {
  if (!as_string) return entry.value;
  const Json value = Json::parse(entry.value, nullptr, false);
  if (value.is_string()) return value.get<std::string>();
  return Error(EINVAL, "kv: the value of '" + entry.key + "' is no string",
               "leave --string out to print it as JSON");
}

}  // namespace

Result<int> RunKvGet(Context& context, const KvOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  AGENTFS_ASSIGN(const auto entry, GetValue(session->volume(), options.key));
  AGENTFS_TRY(session->Close());
  if (!entry) return NoSuchKey(options.key);
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(EntryJson(*entry)));
    return kDone;
  }
  AGENTFS_ASSIGN(const std::string text, TextOf(*entry, options.string));
  AGENTFS_TRY(context.Print(text + "\n"));
  return kDone;
}

Result<int> RunKvSet(Context& context, const KvOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  AGENTFS_ASSIGN(const std::string value, ValueToSet(context, options));
  auto set = SetValue(session->volume(), options.key, value);
  if (set.code() == EINVAL && !options.string && !options.key.empty()) {
    return Error(EINVAL, "kv: " + set.error().message(),
                 "--string keeps a text that is no JSON as it is");
  }
  AGENTFS_TRY(context.Explain("kv: cannot set", options.key, std::move(set)));
  AGENTFS_ASSIGN(const auto entry, GetValue(session->volume(), options.key));
  AGENTFS_TRY(session->Close());
  if (context.json && entry) AGENTFS_TRY(context.PrintJson(EntryJson(*entry)));
  return kDone;
}

Result<int> RunKvDelete(Context& context, const KvOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  for (const std::string& key : options.keys) {
    AGENTFS_ASSIGN(const bool was_there, DeleteValue(session->volume(), key));
    if (!was_there) return NoSuchKey(key);
  }
  AGENTFS_TRY(session->Close());
  if (context.json) AGENTFS_TRY(context.PrintJson({{"deleted", options.keys}}));
  return kDone;
}

Result<int> RunKvList(Context& context, const KvOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows;
  AGENTFS_TRY(ListValues(session->volume(), options.key, [&](const KvEntry& entry) {
    if (context.json) {
      json.push_back(EntryJson(entry));
    } else {
      const bool longer = entry.value.size() > kShownValue;
      rows.push_back({OneLine(entry.key),
                      OneLine(entry.value.substr(0, kShownValue)) + (longer ? "..." : ""),
                      FormatLocalTime(FromNanoseconds(entry.updated_ns))});
    }
    return Visit::kContinue;
  }));
  AGENTFS_TRY(session->Close());
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(json));
  } else {
    AGENTFS_TRY(context.PrintTable({"KEY", "VALUE", "UPDATED"}, rows));
  }
  return kDone;
}

}  // namespace agentfs::cli
