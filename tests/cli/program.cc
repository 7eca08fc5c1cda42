// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

namespace agentfs {
namespace {

namespace fs = std::filesystem;

// So long may one run of the program take.
constexpr unsigned kMaxSeconds = 60;

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteAll(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out << content;
  out.close();
  EXPECT_TRUE(out.good()) << path;
}

void Redirect(const std::string& path, int flags, int to) {
  const int fd = ::open(path.c_str(), flags, 0666);
  if (fd < 0 || ::dup2(fd, to) < 0) ::_exit(99);
}

// In the child: becomes the program, or ends with 99.
[[noreturn]] void Become(const std::vector<std::string>& arguments, const RunOptions& options,
                         const std::string& directory, const std::string& io) {
  Redirect(io + "/in", O_RDONLY, STDIN_FILENO);
  Redirect(io + "/out", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
  Redirect(io + "/err", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
  if (::chdir(directory.c_str()) != 0) ::_exit(99);
  std::map<std::string, std::string> variables = options.environment;
  variables.insert({{"PATH", "/usr/bin:/bin"}, {"HOME", "/nonexistent"}, {"TZ", "UTC"}});
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) variables.insert({name, value});
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  std::vector<char*> argv, envp;
  const std::string program = AGENTFS_BINARY;
  argv.push_back(const_cast<char*>(program.c_str()));
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  for (const std::string& each : environment) envp.push_back(const_cast<char*>(each.c_str()));
  envp.push_back(nullptr);
  // Opened first: another user may not reach the build directory.
  const int binary = ::open(program.c_str(), O_RDONLY);
  if (options.user != 0) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(options.user) != 0 ||
        ::setuid(options.user) != 0) {
      ::_exit(99);
    }
  }
  ::umask(022);
  ::alarm(kMaxSeconds);  // outlives the exec
  ::fexecve(binary, argv.data(), envp.data());
  ::_exit(99);
}

}  // namespace

std::string ProgramInShell() {
  std::string word = "'";
  for (const char c : std::string_view(AGENTFS_BINARY)) {
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return word + "'";
}

nlohmann::json Outcome::Json() const {
  auto json = nlohmann::json::parse(out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << "no JSON: " << out;
  EXPECT_TRUE(!out.empty() && out.find('\n') == out.size() - 1) << "not one line: " << out;
  return json;
}

std::vector<std::string> Outcome::Lines() const {
  std::vector<std::string> lines;
  std::istringstream in(out);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

CliTest::CliTest() {
  scratch_ = fs::temp_directory_path() / "agentfs-cli.XXXXXX";
  if (::mkdtemp(scratch_.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << scratch_;
  // Other users of a test need to reach it.
  EXPECT_EQ(::chmod(scratch_.c_str(), 0755), 0);
  io_ = scratch_ + ".io";
  EXPECT_EQ(::mkdir(io_.c_str(), 0755), 0);
}

CliTest::~CliTest() {
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
  fs::remove_all(io_, ignored);
}

Outcome CliTest::Run(const std::vector<std::string>& arguments, const RunOptions& options) {
  WriteAll(io_ + "/in", options.input);
  const pid_t child = ::fork();
  if (child == 0) {
    Become(arguments, options, options.directory.empty() ? scratch_ : options.directory, io_);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  Outcome outcome;
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = ReadAll(io_ + "/out");
  outcome.err = ReadAll(io_ + "/err");
  return outcome;
}

Outcome CliTest::Ok(const std::vector<std::string>& arguments, const std::string& input) {
  RunOptions options;
  options.input = input;
  Outcome outcome = Run(arguments, options);
  std::string line = "agentfs";
  for (const std::string& argument : arguments) line += " " + argument;
  EXPECT_EQ(outcome.status, 0) << line << "\n" << outcome.err << outcome.out;
  return outcome;
}

Outcome CliTest::In(const std::string& workspace, std::vector<std::string> arguments,
                    const std::string& input) {
  arguments.insert(arguments.begin(), {"--workspace", workspace});
  return Ok(arguments, input);
}

void CliTest::WriteHost(const std::string& name, const std::string& content) {
  WriteAll(At(name), content);
}
std::string CliTest::ReadHost(const std::string& name) const { return ReadAll(At(name)); }
void CliTest::MakeHostDirectory(const std::string& name) {
  EXPECT_EQ(::mkdir(At(name).c_str(), 0755), 0) << name;
}

void WorkspaceCliTest::SetUp() {
  MakeHostDirectory("base");
  MakeHostDirectory("base/src");
  WriteHost("base/README", "read me\n");
  WriteHost("base/src/a.c", "int a;\n");
  WriteHost("base/src/b.c", "int b;\n");
  Ok({"init", At("base")});
}

Outcome WorkspaceCliTest::Do(std::vector<std::string> arguments, const std::string& input) {
  return In(At("base"), std::move(arguments), input);
}

Outcome WorkspaceCliTest::Try(std::vector<std::string> arguments, const std::string& input) {
  arguments.insert(arguments.begin(), {"--workspace", At("base")});
  RunOptions options;
  options.input = input;
  return Run(arguments, options);
}

void WorkspaceCliTest::ExpectFailure(std::vector<std::string> arguments, int status,
                                     const std::string& code, const std::string& input) {
  const std::string name = testing::PrintToString(arguments);
  Outcome plain = Try(arguments, input);
  EXPECT_EQ(plain.status, status) << name << plain.err;
  EXPECT_EQ(plain.out, "") << name;
  EXPECT_EQ(plain.err.rfind("agentfs: ", 0), 0u) << name << plain.err;
  const auto lines = std::count(plain.err.begin(), plain.err.end(), '\n');
  EXPECT_TRUE(lines == 1 || lines == 2) << name << plain.err;

  arguments.push_back("--json");
  Outcome json = Try(arguments, input);
  EXPECT_EQ(json.status, status) << name << json.err;
  auto document = json.Json();
  ASSERT_TRUE(document.contains("error")) << name << json.out;
  EXPECT_EQ(document["error"]["code"], code) << name << json.out;
  EXPECT_NE(document["error"]["message"], "") << name;
  EXPECT_EQ(json.err, plain.err) << name;
}

}  // namespace agentfs
