// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "command_table.h"

namespace agentfs::policy {
namespace {

TEST(CommandsTest, AreClassifiedAndDecidedAsTheTableSays) {
  const PolicySet policies({});
  const auto cases = ReadCommandTable();
  EXPECT_GE(cases.size(), 300u);
  for (const CommandCase& each : cases) {
    const ExecutionDecision decision = policies.Decide(RequestFor(each.text));
    EXPECT_EQ(NamesOf(decision.categories), NamesOf(each.categories))
        << "line " << each.line << ": " << each.text;
    EXPECT_EQ(ActionName(decision.action), ActionName(each.action))
        << "line " << each.line << ": " << each.text << "\n"
        << decision.reason;
    EXPECT_FALSE(decision.rule.empty());
    EXPECT_FALSE(decision.reason.empty());
  }
}

// What runs a command, with %s where it stands.
constexpr const char* kWrappers[] = {
    "%s | cat",
    "%s; ls",
    "ls && %s",
    "ls || %s",
    "ls | cat; %s &",
    "( %s )",
    "{ %s; }",
    "! { %s; }",
    "time { %s; }",
    "if ls; then %s; fi",
    "if { %s; }; then ls; fi",
    "while ls; do %s; done",
    "for i in 1 2; do %s; done",
    "case a in a) %s;; esac",
    "f() { %s; }; f",
    "echo $( %s )",
    "x=$( %s )",
    "echo \"$( %s )\"",
    "echo ${x:-$( %s )}",
    "cat <( %s )",
    "[[ -n $( %s ) ]]",
    "coproc { %s; }",
    "cat <<XXX\n$( %s )\nXXX",
};

// The same for a command as one quoted text.
constexpr const char* kTextWrappers[] = {
    "sh -c %s",
    "bash -lc %s",
    "/bin/bash -e -c %s arg",
    "eval %s",
    "env X=1 sh -c %s",
    "sudo sh -c %s",
    "timeout 5 nice -n 3 bash -c %s",
    "nohup setsid sh -c %s &",
    "find . -exec sh -c %s \\;",
    "xargs -n1 sh -c %s",
    "busybox sh -c %s",
    "command exec sh -c %s",
    "watch -n 2 %s",
    "bash <<< %s",
    "trap %s EXIT",
    "npx -c %s",
    "flock lock -c %s",
    "git rebase -x %s main",
};

std::string Fill(std::string_view wrapper, const std::string& command) {
  std::string out(wrapper);
  return out.replace(out.find("%s"), 2, command);
}

std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

// A command that does not parse, or ends inside of a here-document or a remark, stays that way only
// alone.
bool StandsAlone(const std::string& text) {
  return text.find("<<") != std::string::npos || text.find('#') != std::string::npos ||
         text.ends_with("&") || text.ends_with(";") || text.ends_with("\\");
}

// A wrapped command may get another input than the terminal: then it does not wait for a person.
bool AtLeast(CategorySet wrapped, CategorySet plain) {
  CategorySet without;
  for (Category each : plain.List()) {
    if (each != Category::kInteractive) without.Add(each);
  }
  return wrapped.Contains(without);
}

void ExpectNotLower(const PolicySet& policies, const CommandCase& plain, const std::string& text) {
  const ExecutionDecision decision = policies.Decide(RequestFor(text));
  EXPECT_TRUE(AtLeast(decision.categories, plain.categories) ||
              decision.categories.Has(Category::kHostEscapeRisk))
      << text << "\n is " << NamesOf(decision.categories) << ", but: " << NamesOf(plain.categories);
  EXPECT_GE(decision.action, plain.action) << text << "\n" << decision.reason;
}

TEST(CommandsTest, WrappingNeverLowersWhatIsWrapped) {
  const PolicySet policies({});
  for (const CommandCase& each : ReadCommandTable()) {
    for (const char* wrapper : kTextWrappers) {
      ExpectNotLower(policies, each, Fill(wrapper, Quoted(each.text)));
    }
    if (StandsAlone(each.text)) continue;
    for (const char* wrapper : kWrappers) {
      ExpectNotLower(policies, each, Fill(wrapper, each.text));
    }
  }
}

TEST(CommandsTest, WrappersInWrappersNeverLowerWhatIsWrapped) {
  const PolicySet policies({});
  const auto cases = ReadCommandTable();
  size_t next = 0;
  for (const char* outer : kTextWrappers) {
    for (const char* inner : kTextWrappers) {
      const CommandCase& each = cases[next++ % cases.size()];
      const std::string once = Fill(inner, Quoted(each.text));
      ExpectNotLower(policies, each, Fill(outer, Quoted(once)));
    }
  }
}

TEST(CommandsTest, PrefixesNeverLowerWhatFollows) {
  const PolicySet policies({});
  for (const CommandCase& each : ReadCommandTable()) {
    // Only simple commands can stand behind a program that runs another one.
    if (each.text.find_first_of(";|&(){}<>=!\n`[") != std::string::npos) continue;
    if (each.text.starts_with("if ") || each.text.starts_with("coproc ")) continue;
    for (const char* prefix :
         {"env ",         "env -i A=1 ", "sudo ", "nice ",       "nice -n 5 ",    "timeout 5 ",
          "nohup ",       "command ",    "exec ", "stdbuf -oL ", "setsid ",       "time -p ",
          "ionice -c 3 ", "busybox ",    "X=1 ",  "xargs ",      "doas -u root ", "flock lock ",
          "strace -f ",   "taskset 1 ",  "npx "}) {
      ExpectNotLower(policies, each, prefix + each.text);
    }
  }
}

}  // namespace
}  // namespace agentfs::policy
