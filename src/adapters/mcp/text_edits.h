// SPDX-License-Identifier: Apache-2.0
//
// Replacing pieces of a text, as models describe them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"

namespace agentfs::mcp {

struct TextEdit {
  std::string old_text, new_text;
};

// The text with "\n" for each "\r\n".
std::string WithPlainLineEnds(std::string_view text);
// Whether each line ends with "\r\n".
bool HasDosLineEnds(std::string_view text);
std::string WithDosLineEnds(std::string_view text);

// Makes the edits one after the other in a text with plain line ends. Each replaces the first place
// where its old text is found as it is, or else the first lines that differ from it only in the
// white space around them; these keep their indentation. EINVAL: it is nowhere.
Result<std::string> ApplyEdits(std::string text, const std::vector<TextEdit>& edits);

// What was changed, as a unified patch in a Markdown block.
Result<std::string> PatchBlock(std::string_view name, std::string_view before,
                               std::string_view after);

}  // namespace agentfs::mcp
