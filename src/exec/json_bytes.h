// SPDX-License-Identifier: Apache-2.0
//
// Bytes as JSON, which knows only UTF-8: NAME has the text and, where the bytes are not UTF-8,
// NAME_base64 the bytes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace agentfs {

// Always valid UTF-8: what is wrong becomes U+FFFD.
std::string ShownText(std::string_view bytes);

void PutBytes(nlohmann::ordered_json& json, const std::string& name, std::string_view bytes);
void PutBytes(nlohmann::ordered_json& json, const std::string& name,
              const std::vector<std::string>& list);

// What was put; empty if it is not there, or no such thing.
std::string GetBytes(const nlohmann::ordered_json& json, const std::string& name);
std::vector<std::string> GetByteList(const nlohmann::ordered_json& json, const std::string& name);

}  // namespace agentfs
