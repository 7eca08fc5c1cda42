// SPDX-License-Identifier: Apache-2.0
#include "policy/arguments.h"

#include <gtest/gtest.h>

#include "policy/shell/parse.h"

namespace agentfs::policy {
namespace {

// The options with their values, the operands and the rest of a command, in one line.
std::string Read(const ProgramFacts& facts, const std::string& text) {
  const auto script = shell::ParseScript("x " + text).value();
  const std::vector<shell::Word>& words = script.pipelines[0].commands[0].words;
  const Arguments arguments = ReadArguments(facts, std::span(words).subspan(1));
  std::string out;
  for (const Option& option : arguments.options) {
    out += option.name + (option.has_value ? "=" + option.value : "") + " ";
    for (const shell::Word& word : option.command) out += "(" + word.text + ")";
  }
  out += ":";
  for (const shell::Word* operand : arguments.operands) out += " " + operand->text;
  out += " |";
  if (arguments.module) out += " <" + arguments.module->text + ">";
  for (const shell::Word& word : arguments.rest) out += " " + word.text;
  return out;
}

TEST(ArgumentsTest, LettersAndLongOptions) {
  ProgramFacts facts;
  facts.takes = {"-o", "--output"};
  EXPECT_EQ(Read(facts, "-ab c -- -d"), "-a -b : c -d |");
  EXPECT_EQ(Read(facts, "-o f -of -aof g"), "-o=f -o=f -a -o=f : g |");
  EXPECT_EQ(Read(facts, "--output f --output=g --out h --x"),
            "--output=f --output=g --out=h --x : |");
  EXPECT_EQ(Read(facts, "a -b - c"), "-b : a - c |");
}

TEST(ArgumentsTest, OptionsOfManyLettersWithOneDash) {
  ProgramFacts facts;
  facts.long_options = true;
  facts.commands = {"-exec"};
  EXPECT_EQ(Read(facts, "d -name y -exec rm {} \\; -delete"),
            "-name -exec (rm)({})-delete : d y |");
  EXPECT_EQ(Read(facts, "-exec rm"), "-exec (rm): |");
}

TEST(ArgumentsTest, ACommandInsideBeginsAfterTheOperandsBeforeIt) {
  ProgramFacts facts;
  facts.inner = Inner::kCommand;
  facts.skip = 1;
  facts.takes = {"-k"};
  EXPECT_EQ(Read(facts, "-k 5 10 rm -k x"), "-k=5 : 10 | rm -k x");
  facts.skip = 0;
  facts.assignments = true;
  EXPECT_EQ(Read(facts, "A=1 B=2 rm C=3"), ": A=1 B=2 | rm C=3");
}

TEST(ArgumentsTest, Modules) {
  ProgramFacts facts;
  facts.interpreter = Interpreter::kOther;
  facts.modules = {"-m"};
  EXPECT_EQ(Read(facts, "-b -m pip install -q"), "-b -m=pip : | <pip> install -q");
  EXPECT_EQ(Read(facts, "-mpip x"), "-m=pip : | <pip> x");
  EXPECT_EQ(Read(facts, "a.py -m x"), ": | a.py -m x");
}

TEST(ArgumentsTest, OptionsWithoutADash) {
  ProgramFacts facts;
  facts.letters_first = true;
  EXPECT_EQ(Read(facts, "tf a.tar"), "-t -f : tf a.tar |");
}

TEST(ArgumentsTest, AShellTurnsOptionsOff) {
  ProgramFacts facts;
  facts.interpreter = Interpreter::kShell;
  facts.takes = {"-o"};
  EXPECT_EQ(Read(facts, "+e +o pipefail -c x"), "-c : | x");
}

TEST(ArgumentsTest, AbbreviationsAreTheOptionTheyBegin) {
  EXPECT_TRUE(IsFlag("--in-p", "--in-place"));
  EXPECT_TRUE(IsFlag("--in", "--in-place"));
  EXPECT_FALSE(IsFlag("--i", "--in-place"));
  EXPECT_FALSE(IsFlag("--in-placement", "--in-place"));
  EXPECT_FALSE(IsFlag("-i", "--in-place"));
}

}  // namespace
}  // namespace agentfs::policy
