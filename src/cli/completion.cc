// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <fmt/core.h>

namespace agentfs::cli {
namespace {

using Places = std::vector<CompletionPlace>;

// Every command's place but agentfs itself, as alternatives of a shell's case.
std::string PlacePatterns(const Places& places) {
  std::string patterns;
  for (const CompletionPlace& place : places) {
    if (place.place.empty()) continue;
    patterns += fmt::format("{}\"{}\"", patterns.empty() ? "" : "|", place.place);
  }
  return patterns;
}

// For single quotes.
std::string InQuotes(std::string_view text, std::string_view quote) {
  std::string out;
  for (char c : text) {
    if (c == '\'') {
      out += quote;
    } else {
      out += c;
    }
  }
  return out;
}

constexpr std::string_view kBash =
    R"~(# bash completion of agentfs: source <(agentfs completion bash)
_agentfs() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} at= i words=
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${{COMP_WORDS[i]}} == -- ]]; then
      COMPREPLY=($(compgen -c -f -- "$current"))
      return
    fi
    case "$at ${{COMP_WORDS[i]}}" in
      {0}) at="$at ${{COMP_WORDS[i]}}" ;;
    esac
  done
  if [[ $previous == --branch ]]; then
    words=$(agentfs branch list 2>/dev/null | awk 'NR > 1 {{ print $1 }}')
  else
    case "$at" in
{1}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _agentfs agentfs
)~";

std::string RenderBash(const Places& places) {
  std::string cases;
  for (const CompletionPlace& place : places) {
    std::string words;
    for (const CompletionWord& each : place.commands) words += each.word + " ";
    for (const CompletionWord& each : place.options) words += each.word + " ";
    cases += fmt::format("      \"{}\") words='{}' ;;\n", place.place, words);
  }
  return fmt::format(kBash, PlacePatterns(places), cases);
}

constexpr std::string_view kZsh =
    R"~(#compdef agentfs
# zsh completion of agentfs: put it as _agentfs into a directory of $fpath
_agentfs() {{
  local at= word
  local -a items
  for word in ${{words[2,CURRENT-1]}}; do
    if [[ $word == -- ]]; then
      _normal -p agentfs || _files
      return
    fi
    case "$at $word" in
      {0}) at="$at $word" ;;
    esac
  done
  if [[ ${{words[CURRENT-1]}} == --branch ]]; then
    items=(${{(f)"$(agentfs branch list 2>/dev/null | awk 'NR > 1 {{ print $1 }}')"}})
  else
    case "$at" in
{1}    esac
  fi
  _describe agentfs items
  _files
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _agentfs "$@"; else compdef _agentfs agentfs; fi
)~";

std::string RenderZsh(const Places& places) {
  std::string cases;
  for (const CompletionPlace& place : places) {
    std::string items;
    for (const auto* words : {&place.commands, &place.options}) {
      for (const CompletionWord& each : *words) {
        items += fmt::format(" '{}:{}'", each.word, InQuotes(each.description, "'\\''"));
      }
    }
    cases += fmt::format("      \"{}\") items=({} ) ;;\n", place.place, items);
  }
  return fmt::format(kZsh, PlacePatterns(places), cases);
}

constexpr std::string_view kFish =
    R"~(# fish completion of agentfs: agentfs completion fish | source
function __agentfs_at
  set -l at ''
  set -l words (commandline -opc)
  for word in $words[2..-1]
    if contains -- "$at $word" {}
      set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
function __agentfs_branches
  agentfs branch list 2>/dev/null | awk 'NR > 1 {{ print $1 }}'
end
)~";

std::string RenderFish(const Places& places) {
  std::string known;
  for (const CompletionPlace& place : places) {
    if (!place.place.empty()) known += fmt::format(" '{}'", place.place);
  }
  std::string text = fmt::format(kFish, known);
  for (const CompletionPlace& place : places) {
    const std::string when =
        fmt::format("complete -c agentfs -n '__agentfs_at \"{}\"'", place.place);
    for (const CompletionWord& each : place.commands) {
      text +=
          fmt::format("{} -f -a {} -d '{}'\n", when, each.word, InQuotes(each.description, "\\'"));
    }
    for (const CompletionWord& each : place.options) {
      if (!each.word.starts_with("--")) continue;
      text += fmt::format("{} -l {} -d '{}'{}\n", when, each.word.substr(2),
                          InQuotes(each.description, "\\'"),
                          each.word == "--branch" ? " -x -a '(__agentfs_branches)'" : "");
    }
  }
  return text;
}

}  // namespace

Result<std::string> RenderCompletion(std::string_view shell, const Places& places) {
  if (shell == "bash") return RenderBash(places);
  if (shell == "zsh") return RenderZsh(places);
  if (shell == "fish") return RenderFish(places);
  return Error(EINVAL, "completion: there is none for " + std::string(shell),
               "there are bash, zsh and fish");
}

}  // namespace agentfs::cli
