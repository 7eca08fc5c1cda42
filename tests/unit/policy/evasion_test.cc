// SPDX-License-Identifier: Apache-2.0
//
// bash is the oracle: whatever text makes it run a certain command, the classification has that
// command among its parts, or says that it cannot see through.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "policy/classify.h"

namespace agentfs::policy {
namespace {

constexpr int kSamples = 3000;

// Scripts that run `zz`; they are changed at random places.
constexpr const char* kSeeds[] = {"echo a; zz",
                                  "echo $(zz)",
                                  "echo \"$(zz)\"",
                                  "echo `zz`",
                                  "cat <<E\n$(zz)\nE\nzz",
                                  "echo <<'E'\n$(x)\nE\nzz",
                                  "if zz; then echo a; fi",
                                  "case a in a) zz;; esac",
                                  "for i in 1; do zz; done",
                                  "f() { zz; }; f",
                                  "{ zz; }",
                                  "( zz )",
                                  "x=$(zz)",
                                  "x=(a $(zz))",
                                  "a[$(zz)]=1",
                                  "echo ${x:-$(zz)}",
                                  "echo \"${x:-$(zz)}\"",
                                  "echo ${x:-'a'\"$(zz)\"}",
                                  "echo $((1+$(zz)))",
                                  "((1+$(zz)))",
                                  "[[ -n $(zz) ]]",
                                  "[[ a =~ b$(zz) ]]",
                                  "echo <(zz)",
                                  "eval 'zz'",
                                  "eval zz",
                                  "! zz",
                                  "time zz",
                                  "echo a | zz",
                                  "echo a && zz",
                                  "command zz",
                                  "echo 'a'\"b\"\\'c; zz",
                                  "echo a #b\nzz",
                                  "echo \"a\nb\"; zz",
                                  "echo a\\\nzz; zz",
                                  "x=1 zz",
                                  "echo $'a\\'b'; zz",
                                  "echo $\"a\"; zz",
                                  "echo {a,b}; zz",
                                  "[[ a == b ]] || zz",
                                  "((0)) || zz",
                                  "((zz); echo b)",
                                  "$( (zz) )",
                                  "echo $((zz); echo a)",
                                  "case a in (b|a) zz ;& c) echo;; esac",
                                  "if false; then echo; elif zz; then echo; else echo; fi",
                                  "select i in a; do zz; break; done",
                                  "function f { zz; }; f",
                                  "function f() ( zz ); f",
                                  "echo <<A <<B\nx\nA\n$(zz)\nB\n",
                                  "echo \"`zz`\"",
                                  "echo \"a`echo \\`zz\\``\"",
                                  "echo ${x#'}'}; zz",
                                  "echo \"${x#'}'}\"; zz",
                                  "echo \"${x:-'}'}\"; zz",
                                  "cat <<E\n${x:-'}\nE\nzz",
                                  "<<< a zz",
                                  "< a zz",
                                  "echo \"$(echo \")\"; zz)\"",
                                  "x=\"$(case a in a) zz;; esac)\"",
                                  "echo $(echo a # )\nzz)",
                                  "a[ $(zz) ]",
                                  "echo \"$\\\n(zz)\""};
constexpr const char* kPieces[] = {
    "zz",       "zz ",     "echo ", "a",          " ",     "'",     "\"",        "\\",
    "\n",       "$",       "(",     ")",          "`",     "{ ",    "}",         "{",
    "; ",       ";",       "|",     "||",         "&&",    "<<E\n", "<<'E'\n",   "<<-E\n",
    "E\n",      "\nE\n",   "#",     " #",         "[[ ",   " ]]",   "((",        "))",
    "if ",      "; then ", "; fi",  "case x in ", "esac",  ";;",    "x=",        "x",
    "${x:-",    "${x#",    "$(",    "$((",        "<(",    "eval ", "for i in ", "; do ",
    "; done",   "! ",      ",",     "..",         "[",     "]",     "*",         "?",
    "@(",       "!(",      "~",     "-",          "=",     "\\\n",  "function ", "()",
    "f() ",     "x=(",     "a[",    "]=",         "time ", "else ", "elif ",     "command ",
    "builtin ", "$'",      "$\"",   "${",         "<<<",   "< ",    "-c "};

class Samples {
 public:
  std::string Next() {
    std::string text = Pick(kSeeds);
    if (random_() % 4 == 0) text += (random_() % 2 ? "\n" : "; ") + Pick(kSeeds);
    for (unsigned changes = random_() % 4; changes > 0; --changes) Change(text);
    return text;
  }

 private:
  template <size_t N>
  std::string Pick(const char* const (&list)[N]) {
    return list[random_() % N];
  }

  void Change(std::string& text) {
    const size_t at = random_() % (text.size() + 1);
    const unsigned kind = random_() % 3;
    if (kind == 0 || at == text.size()) {
      text.insert(at, Pick(kPieces));
    } else if (kind == 1) {
      text.erase(at, 1 + random_() % 2);
    } else {
      text.replace(at, 1, Pick(kPieces));
    }
  }

  std::mt19937 random_{20'240'502};
};

std::string AnsiQuoted(const std::string& text) {
  std::string out = "$'";
  for (char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out + "'";
}

// An empty directory for bash, removed at the end.
class EmptyDirectory {
 public:
  EmptyDirectory() : path_(testing::TempDir() + "/evasionXXXXXX") {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~EmptyDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Which of the texts make bash run `zz`: it prints the text's number. There are no programs.
std::vector<bool> RanInBash(const std::vector<std::string>& texts) {
  const EmptyDirectory directory;
  const std::string script = directory.path() + "/script";
  std::ofstream out(script);
  out << "FUNCNEST=5; PATH=/nonexistent; exec 3>&1 4>/dev/null </dev/null\n"
      << "zz() { printf 'C%s \\n' $N >&3; }\n";
  for (size_t i = 0; i < texts.size(); ++i) {
    out << "N=" << i << "; ( eval " << AnsiQuoted(texts[i]) << " ) >&4 2>&4\n";
  }
  out.close();
  std::FILE* bash = ::popen(
      ("cd '" + directory.path() + "' && timeout 100 bash script 2>/dev/null").c_str(), "r");
  std::string printed;
  for (int c; (c = std::fgetc(bash)) != EOF;) printed += static_cast<char>(c);
  ::pclose(bash);
  std::vector<bool> ran(texts.size());
  std::istringstream words(printed);
  for (std::string word; words >> word;) {
    if (word[0] == 'C') ran.at(std::stoul(word.substr(1))) = true;
  }
  return ran;
}

bool IsSeen(const std::string& text) {
  Surroundings surroundings;
  surroundings.root = surroundings.directory = "/work";
  const Classification found = ClassifyText(text, surroundings);
  if (found.categories.Has(Category::kHostEscapeRisk)) return true;
  for (const Part& part : found.parts) {
    if (part.program == "zz") return true;
  }
  return false;
}

TEST(EvasionTest, WhatBashRunsIsSeen) {
  if (std::system("bash -c true 2>/dev/null") != 0) GTEST_SKIP() << "there is no bash";
  Samples samples;
  std::vector<std::string> texts;
  for (const char* seed : kSeeds) texts.emplace_back(seed);
  for (int i = 0; i < kSamples; ++i) texts.push_back(samples.Next());
  const std::vector<bool> ran = RanInBash(texts);
  int count = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!ran[i]) continue;
    ++count;
    EXPECT_TRUE(IsSeen(texts[i])) << AnsiQuoted(texts[i]);
  }
  EXPECT_GT(count, kSamples / 4);
}

}  // namespace
}  // namespace agentfs::policy
