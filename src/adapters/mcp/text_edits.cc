// SPDX-License-Identifier: Apache-2.0
#include "adapters/mcp/text_edits.h"

#include <algorithm>

#include "workspace/text_lines.h"

namespace agentfs::mcp {
namespace {

using Lines = std::vector<std::string_view>;

constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

Lines SplitLines(std::string_view text) {
  Lines lines;
  for (;;) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

std::string_view Indentation(std::string_view line) {
  return line.substr(0, std::min(line.find_first_not_of(kWhiteSpace), line.size()));
}

std::string_view WithoutIndentation(std::string_view line) {
  return line.substr(Indentation(line).size());
}

std::string_view Trimmed(std::string_view line) {
  line = WithoutIndentation(line);
  return line.substr(0, line.find_last_not_of(kWhiteSpace) + 1);
}

bool SameButForSpace(const Lines& text, size_t at, const Lines& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (Trimmed(text[at + i]) != Trimmed(wanted[i])) return false;
  }
  return true;
}

// A new line in place of what was at `index` of the old lines: the first one gets the indentation
// that is there; others keep theirs relative to the old line.
std::string Reindented(std::string_view line, size_t index, const Lines& old_lines,
                       std::string_view indentation) {
  std::string out(indentation);
  if (index == 0) return out.append(WithoutIndentation(line));
  const size_t old_size = index < old_lines.size() ? Indentation(old_lines[index]).size() : 0;
  const size_t new_size = Indentation(line).size();
  if (old_size == 0 || new_size == 0) return std::string(line);
  out.append(new_size > old_size ? new_size - old_size : 0, ' ');
  return out.append(WithoutIndentation(line));
}

// Replaces `count` lines at `at`.
std::string Replaced(const Lines& text, size_t at, const Lines& old_lines, const Lines& new_lines) {
  std::string out;
  auto add = [&out, first = true](std::string_view line) mutable {
    if (!first) out += '\n';
    first = false;
    out += line;
  };
  for (size_t i = 0; i < at; ++i) add(text[i]);
  const std::string_view indentation = Indentation(text[at]);
  for (size_t i = 0; i < new_lines.size(); ++i) {
    add(Reindented(new_lines[i], i, old_lines, indentation));
  }
  for (size_t i = at + old_lines.size(); i < text.size(); ++i) add(text[i]);
  return out;
}

Result<std::string> ApplyEdit(std::string text, const TextEdit& edit) {
  const std::string old_text = WithPlainLineEnds(edit.old_text);
  const std::string new_text = WithPlainLineEnds(edit.new_text);
  if (const size_t at = text.find(old_text); at != std::string::npos) {
    return text.replace(at, old_text.size(), new_text);
  }
  const Lines lines = SplitLines(text), old_lines = SplitLines(old_text);
  for (size_t at = 0; at + old_lines.size() <= lines.size(); ++at) {
    if (SameButForSpace(lines, at, old_lines)) {
      return Replaced(lines, at, old_lines, SplitLines(new_text));
    }
  }
  return Error(EINVAL, "Could not find exact match for edit:\n" + edit.old_text);
}

}  // namespace

std::string WithPlainLineEnds(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
  }
  return out;
}

bool HasDosLineEnds(std::string_view text) {
  size_t lines = 0;
  for (size_t i = text.find('\n'); i != std::string_view::npos; i = text.find('\n', i + 1)) {
    if (i == 0 || text[i - 1] != '\r') return false;
    ++lines;
  }
  return lines > 0;
}

std::string WithDosLineEnds(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') out += '\r';
    out += c;
  }
  return out;
}

Result<std::string> ApplyEdits(std::string text, const std::vector<TextEdit>& edits) {
  for (const TextEdit& edit : edits) {
    AGENTFS_ASSIGN(text, ApplyEdit(std::move(text), edit));
  }
  return text;
}

Result<std::string> PatchBlock(std::string_view name, std::string_view before,
                               std::string_view after) {
  const std::string shown(name);
  std::string patch = "Index: " + shown + "\n" + std::string(67, '=') + "\n--- " + shown +
                      "\toriginal\n+++ " + shown + "\tmodified\n";
  AGENTFS_TRY(DiffLines(before, after, [&](PatchLine, std::string_view text) {
    patch += text;
    return Ok();
  }));
  std::string fence = "```";
  while (patch.find(fence) != std::string::npos) fence += '`';
  return fence + "diff\n" + patch + fence + "\n\n";
}

}  // namespace agentfs::mcp
