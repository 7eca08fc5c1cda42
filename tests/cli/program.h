// SPDX-License-Identifier: Apache-2.0
//
// Runs the real agentfs program in a scratch directory and looks at what it says.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace agentfs {

struct Outcome {
  int status = -1;  // 128 + signal if a signal ended it
  std::string out, err;

  // stdout as one JSON document; fails the test if it is none.
  nlohmann::json Json() const;
  std::vector<std::string> Lines() const;
};

struct RunOptions {
  std::string input;
  std::string directory;                           // empty: the scratch directory
  std::map<std::string, std::string> environment;  // besides or instead of PATH, HOME and TZ
  uid_t user = 0;                                  // 0: whoever runs the test
};

// The program as a word of a shell's command: its path may have anything in it.
std::string ProgramInShell();

// A test with a scratch directory, removed afterwards.
class CliTest : public testing::Test {
 protected:
  CliTest();
  ~CliTest() override;

  Outcome Run(const std::vector<std::string>& arguments, const RunOptions& options = {});
  // The same, with status 0 expected.
  Outcome Ok(const std::vector<std::string>& arguments, const std::string& input = "");
  // `agentfs --workspace WS arguments`, with status 0 expected.
  Outcome In(const std::string& workspace, std::vector<std::string> arguments,
             const std::string& input = "");

  std::string At(const std::string& name) const { return scratch_ + "/" + name; }
  void WriteHost(const std::string& name, const std::string& content);
  std::string ReadHost(const std::string& name) const;
  void MakeHostDirectory(const std::string& name);

 private:
  std::string scratch_;
  std::string io_;  // where the program's input and output go
};

// A CliTest with a workspace over `base/` with a few files.
class WorkspaceCliTest : public CliTest {
 protected:
  void SetUp() override;

  // In the workspace, with status 0 expected.
  Outcome Do(std::vector<std::string> arguments, const std::string& input = "");
  // In the workspace, whatever happens.
  Outcome Try(std::vector<std::string> arguments, const std::string& input = "");
  // Fails with this status, one line `agentfs: ...` on stderr (and perhaps a remedy), nothing on
  // stdout; with --json the error as a document too.
  void ExpectFailure(std::vector<std::string> arguments, int status, const std::string& code,
                     const std::string& input = "");
};

}  // namespace agentfs
