// SPDX-License-Identifier: Apache-2.0
#include "exec/json_bytes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/utf8.h"

namespace agentfs {
namespace {

using BytesJson = nlohmann::ordered_json;

constexpr const char* kSuffix = "_base64";

std::string TextOf(const BytesJson& json) {
  return json.is_string() ? json.get<std::string>() : std::string();
}

}  // namespace

std::string ShownText(std::string_view bytes) {
  if (IsValidUtf8(bytes)) return std::string(bytes);
  const std::string quoted =
      BytesJson(std::string(bytes)).dump(-1, ' ', false, BytesJson::error_handler_t::replace);
  return BytesJson::parse(quoted).get<std::string>();
}

void PutBytes(BytesJson& json, const std::string& name, std::string_view bytes) {
  json[name] = ShownText(bytes);
  if (!IsValidUtf8(bytes)) json[name + kSuffix] = Base64(bytes);
}

void PutBytes(BytesJson& json, const std::string& name, const std::vector<std::string>& list) {
  BytesJson shown = BytesJson::array(), exact = BytesJson::array();
  for (const std::string& each : list) {
    shown.push_back(ShownText(each));
    exact.push_back(Base64(each));
  }
  json[name] = std::move(shown);
  if (!std::all_of(list.begin(), list.end(), IsValidUtf8)) json[name + kSuffix] = std::move(exact);
}

std::string GetBytes(const BytesJson& json, const std::string& name) {
  const auto exact = json.find(name + kSuffix);
  if (exact != json.end()) return BytesOfBase64(TextOf(*exact)).value_or("");
  const auto shown = json.find(name);
  return shown == json.end() ? std::string() : TextOf(*shown);
}

std::vector<std::string> GetByteList(const BytesJson& json, const std::string& name) {
  const auto exact = json.find(name + kSuffix);
  const auto shown = exact != json.end() ? exact : json.find(name);
  std::vector<std::string> list;
  if (shown == json.end() || !shown->is_array()) return list;
  for (const BytesJson& each : *shown) {
    list.push_back(exact == json.end() ? TextOf(each) : BytesOfBase64(TextOf(each)).value_or(""));
  }
  return list;
}

}  // namespace agentfs
