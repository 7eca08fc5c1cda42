// SPDX-License-Identifier: Apache-2.0
#include "cli/context.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "adapters/control/json.h"

namespace agentfs::cli {
namespace {

// How wide a text is on a terminal, nearly: bytes that begin a UTF-8 character.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string TableLine(const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    line += cells[i];
    if (i + 1 < cells.size()) line.append(widths[i] - Width(cells[i]) + 2, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

int StatusOf(const Error& error) {
  switch (error.code()) {
    case ENOENT:
      return kNotFound;
    case EEXIST:
    case ENOTEMPTY:
    case EBUSY:
      return kConflict;
    case EINVAL:
    case ENAMETOOLONG:
      return kUsage;
    default:
      return kFailed;
  }
}

Result<void> Context::Print(std::string_view text) const { return console->Write(text); }

Result<void> Context::PrintJson(const nlohmann::ordered_json& document) const {
  return Print(control::Dump(document) + "\n");
}

bool Context::UseColor() const {
  const char* variable = std::getenv("NO_COLOR");
  if (no_color || (variable != nullptr && *variable != '\0')) return false;
  return force_color || console->IsTerminal();
}

void Context::Notice(std::string_view text) const {
  if (quiet) return;
  console->WriteError(std::string(text) + "\n");
}

Result<void> Context::PrintTable(const std::vector<std::string>& header,
                                 const std::vector<std::vector<std::string>>& rows) const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < header.size(); ++i) {
    size_t width = Width(header[i]);
    for (const auto& row : rows) width = std::max(width, Width(row[i]));
    widths.push_back(width);
  }
  std::string text = TableLine(header, widths);
  if (UseColor()) text = "\033[1m" + text + "\033[0m";
  text += '\n';
  for (const auto& row : rows) text += TableLine(row, widths) + "\n";
  return Print(text);
}

int Context::Finish(const Result<int>& status) {
  if (!status.ok()) return console->broken_pipe() ? kFailed : Report(status.error());
  auto flushed = console->Flush();
  if (flushed.ok()) return *status;
  return console->broken_pipe() ? kFailed : Report(flushed.error());
}

int Context::Report(const Error& error) const {
  (void)console->Flush();
  std::string text = "agentfs: " + error.message() + "\n";
  if (!error.remedy().empty()) text += std::string(error.remedy()) + "\n";
  console->WriteError(text);
  if (json) {
    nlohmann::ordered_json detail = control::ErrorJson(error);
    if (!failed_path.empty()) detail["path"] = failed_path;
    (void)PrintJson({{"error", detail}});
    (void)console->Flush();
  }
  return StatusOf(error);
}

std::string FormatLocalTime(Timestamp time) {
  const time_t seconds = time.sec;
  struct tm parts = {};
  ::localtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string FormatBytes(uint64_t bytes) {
  static constexpr std::array<std::string_view, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace agentfs::cli
