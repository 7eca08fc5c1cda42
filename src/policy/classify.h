// SPDX-License-Identifier: Apache-2.0
//
// What a command would do: every simple command in it, also those behind wrappers, in substitutions
// and in text for a shell, with its categories. Pure; never fails: what cannot be understood is a
// part with a host-escape risk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/category.h"
#include "policy/path_rules.h"
#include "policy/program_table.h"

namespace agentfs::policy {

// Where a command would run. Paths are absolute and normal.
struct Surroundings {
  std::string directory = "/";  // the current one
  std::string root = "/";       // of the workspace: what is below it is the view
  std::string home;             // empty: not known
  // Besides the view, where writing touches nothing that lasts.
  std::vector<std::string> writable = {"/tmp", "/var/tmp", "/dev/shm"};
  bool has_input = false;  // the command gets a standard input that nobody has seen
};

// A path that a part names.
struct PathUse {
  std::string path;  // absolute and normal, as the host says it
  Access access = Access::kRead;
};

// One program that would run, or one redirection that writes (its program is ">").
struct Part {
  std::string program;                 // its name without directories; empty: not known
  std::string subcommand;              // "push", "remote add"
  std::vector<std::string> words;      // as given, the program first
  std::vector<std::string> flags;      // "-r", "-f", "--force"
  std::vector<std::string> arguments;  // literal words that are no options, the subcommand apart
  std::vector<PathUse> paths;
  CategorySet categories;
  Purpose purpose = Purpose::kGeneral;
  std::vector<std::string> reasons;  // for the categories

  // "git push --force", not longer than a line.
  std::string Text() const;
};

struct Classification {
  std::vector<Part> parts;  // in the order in which they were found
  CategorySet categories;   // of all of them
};

Classification ClassifyText(std::string_view text, const Surroundings& surroundings);
Classification ClassifyArguments(const std::vector<std::string>& arguments,
                                 const Surroundings& surroundings);

}  // namespace agentfs::policy
