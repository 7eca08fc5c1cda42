// SPDX-License-Identifier: Apache-2.0
//
// bash is the oracle: words that the parser calls literal are what bash makes of the same text.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "policy/shell/parse.h"

namespace agentfs::shell {
namespace {

constexpr int kSamples = 4000;

// Quotes, escapes, braces and blanks in any order; nothing that could make a command.
std::vector<std::string> Samples() {
  static constexpr std::string_view kBytes = "ab1 ''\"\"\\\\${},,..#=\n~-";
  std::mt19937 random(20'240'501);
  std::vector<std::string> samples;
  for (int i = 0; i < kSamples; ++i) {
    std::string text = "x";
    for (size_t length = random() % 14; length > 0; --length) {
      text += kBytes[random() % kBytes.size()];
    }
    // A newline would begin another command.
    if (text.find('\n') != std::string::npos && text.find("\\\n") == std::string::npos) continue;
    samples.push_back(text);
  }
  return samples;
}

// The words after `printf FORMAT`, each ended by a newline, if the text is that one command and all
// of them are literal; "?" otherwise.
std::string Parsed(const std::string& text) {
  auto script = ParseScript("printf F " + text);
  if (!script.ok() || script->pipelines.size() != 1) return "?";
  const Pipeline& pipeline = script->pipelines[0];
  if (pipeline.commands.size() != 1 || !pipeline.commands[0].redirections.empty()) return "?";
  std::string out;
  const std::vector<Word>& words = pipeline.commands[0].words;
  for (size_t i = 2; i < words.size(); ++i) {
    if (!words[i].literal || words[i].pattern || words[i].text.find('~') != std::string::npos) {
      return "?";
    }
    out += "<" + words[i].text + ">\n";
  }
  return out;
}

std::string AnsiQuoted(const std::string& text) {
  std::string out = "$'";
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// What bash prints for each text; an empty one where it refuses it.
std::vector<std::string> AskBash(const std::vector<std::string>& texts) {
  std::string path = testing::TempDir() + "/oracleXXXXXX";
  const int fd = ::mkstemp(path.data());
  EXPECT_GE(fd, 0);
  std::FILE* script = ::fdopen(fd, "w");
  for (const std::string& text : texts) {
    const std::string command =
        "eval " + AnsiQuoted("printf '<%s>\\n' " + text) + " 2>/dev/null; printf END\n";
    std::fputs(command.c_str(), script);
  }
  std::fclose(script);
  std::FILE* bash = ::popen(("bash '" + path + "' </dev/null").c_str(), "r");
  std::string output;
  for (int c; (c = std::fgetc(bash)) != EOF;) output += static_cast<char>(c);
  ::pclose(bash);
  ::unlink(path.c_str());
  // No sample has the letters of the mark.
  std::vector<std::string> answers;
  for (size_t begin = 0, end; (end = output.find("END", begin)) != std::string::npos;) {
    answers.push_back(output.substr(begin, end - begin));
    begin = end + 3;
  }
  return answers;
}

TEST(OracleTest, LiteralWordsAreWhatBashMakesOfThem) {
  if (std::system("bash -c true 2>/dev/null") != 0) GTEST_SKIP() << "there is no bash";
  std::vector<std::string> texts, expected;
  for (const std::string& text : Samples()) {
    std::string parsed = Parsed(text);
    if (parsed == "?") continue;
    texts.push_back(text);
    expected.push_back(std::move(parsed));
  }
  EXPECT_GT(texts.size(), 500u);
  const auto answers = AskBash(texts);
  ASSERT_EQ(answers.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(expected[i], answers[i]) << texts[i];
}

}  // namespace
}  // namespace agentfs::shell
