// SPDX-License-Identifier: Apache-2.0
#include "command_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace agentfs::policy {
namespace {

void ReadExpectation(const std::string& line, CommandCase& expected) {
  std::istringstream words(line.substr(2));
  std::string word;
  words >> word;
  const auto action = ActionNamed(word);
  ASSERT_TRUE(action) << line;
  expected.action = *action;
  expected.categories = {};
  while (words >> word) {
    const auto category = CategoryNamed(word);
    ASSERT_TRUE(category) << line;
    expected.categories.Add(*category);
  }
}

std::string WithNewlines(std::string text) {
  static const std::string kMark = "<NL>";
  for (size_t at; (at = text.find(kMark)) != std::string::npos;) {
    text.replace(at, kMark.size(), "\n");
  }
  return text;
}

}  // namespace

std::vector<CommandCase> ReadCommandTable() {
  std::ifstream file(AGENTFS_COMMAND_TABLE);
  std::vector<CommandCase> cases;
  CommandCase current;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.starts_with("#")) continue;
    if (line.starts_with("= ")) {
      ReadExpectation(line, current);
      continue;
    }
    current.text = WithNewlines(line);
    current.line = number;
    cases.push_back(current);
  }
  EXPECT_FALSE(cases.empty()) << AGENTFS_COMMAND_TABLE;
  return cases;
}

PolicyRequest RequestFor(const std::string& text) {
  PolicyRequest request;
  request.text = text;
  request.surroundings.root = "/srv/project";
  request.surroundings.directory = "/srv/project/src";
  request.surroundings.home = "/home/user";
  return request;
}

std::string NamesOf(CategorySet categories) {
  std::string names;
  for (Category each : categories.List()) {
    if (!names.empty()) names += ' ';
    names += CategoryName(each);
  }
  return names;
}

}  // namespace agentfs::policy
