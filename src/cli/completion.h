// SPDX-License-Identifier: Apache-2.0
//
// Scripts that complete command lines in a shell, made from the commands themselves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agentfs/result.h"

namespace agentfs::cli {

// A word that may come next, and what it is for.
struct CompletionWord {
  std::string word, description;
};
// What may follow a command; its place is "" for agentfs itself, " fs ls" for agentfs fs ls.
struct CompletionPlace {
  std::string place;
  std::vector<CompletionWord> commands, options;
};

// EINVAL: no shell that we know.
Result<std::string> RenderCompletion(std::string_view shell,
                                     const std::vector<CompletionPlace>& places);

}  // namespace agentfs::cli
