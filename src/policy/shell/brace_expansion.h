// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "policy/shell/parser.h"

namespace agentfs::shell {

// Words beyond that many are not told apart: the word then stands for them, and is not literal.
inline constexpr size_t kMaxBraceWords = 64;

// Appends the words that the unquoted braces of a word make ("{rm,-rf,/}" is three); mostly one.
void ExpandBraces(WordBuilder built, std::vector<Word>& words);

}  // namespace agentfs::shell
