// SPDX-License-Identifier: Apache-2.0
#include "cli/sql/sql_output.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "cli/one_line.h"

namespace agentfs::cli {
namespace {

// X'0aff', as SQL writes a blob.
std::string HexLiteral(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "X'";
  text.reserve(2 * bytes.size() + 3);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text += '\'';
}

std::string RealText(double value) { return fmt::format("{}", value); }

std::string CellText(const SqlValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) return RealText(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return OneLine(*text);
  if (const auto* blob = std::get_if<SqlBlob>(&value)) return HexLiteral(blob->bytes);
  return "NULL";
}

std::string CsvText(std::string_view text) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string CsvField(const SqlValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return CsvText(*text);
  return std::holds_alternative<std::monostate>(value) ? "" : CellText(value);
}

nlohmann::ordered_json JsonValue(const SqlValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* blob = std::get_if<SqlBlob>(&value)) {
    return {{"base64", Base64(blob->bytes)}};
  }
  return nullptr;
}

Result<void> PrintTableOf(const Context& context, const SqlAnswer& answer) {
  std::vector<std::string> header;
  for (const std::string& column : answer.columns) header.push_back(OneLine(column));
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : answer.rows) {
    auto& cells = rows.emplace_back();
    for (const SqlValue& value : row) cells.push_back(CellText(value));
  }
  return context.PrintTable(header, rows);
}

Result<void> PrintCsv(const Context& context, const SqlAnswer& answer) {
  const auto line = [&](const auto& cells, const auto& text) -> Result<void> {
    std::string joined;
    for (size_t i = 0; i < cells.size(); ++i) joined += (i > 0 ? "," : "") + text(cells[i]);
    return context.Print(joined + "\r\n");
  };
  AGENTFS_TRY(line(answer.columns, CsvText));
  for (const auto& row : answer.rows) AGENTFS_TRY(line(row, CsvField));
  return Ok();
}

Result<void> PrintObjects(const Context& context, const SqlAnswer& answer) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& row : answer.rows) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (size_t i = 0; i < row.size(); ++i) object[answer.columns[i]] = JsonValue(row[i]);
    list.push_back(std::move(object));
  }
  return context.PrintJson(list);
}

}  // namespace

Result<void> PrintAnswer(const Context& context, const SqlAnswer& answer, SqlFormat format) {
  switch (format) {
    case SqlFormat::kCsv:
      return PrintCsv(context, answer);
    case SqlFormat::kJson:
      return PrintObjects(context, answer);
    case SqlFormat::kTable:
      break;
  }
  return PrintTableOf(context, answer);
}

}  // namespace agentfs::cli
