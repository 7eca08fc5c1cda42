// SPDX-License-Identifier: Apache-2.0
#include "policy/shell/parse.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "describe.h"

namespace agentfs::shell {
namespace {

struct Case {
  std::string_view text, expected;
};

void ExpectAll(std::initializer_list<Case> cases) {
  for (const Case& each : cases) EXPECT_EQ(DescribeText(each.text), each.expected) << each.text;
}

TEST(ParseTest, WordsAreWhatIsLeftWithoutQuotes) {
  ExpectAll(
      {{"", ""},
       {"  # nothing but a remark", ""},
       {"ls -l /tmp", "[ls][-l][/tmp]"},
       {"r'm' -r\"f\" \\/", "[rm][-rf][/]"},
       {"'a b'\"c d\"e", "[a bc de]"},
       {"echo '' \"\"", "[echo][][]"},
       {"echo a#b #c", "[echo][a#b]"},
       {"echo \"a\\\"b\\$c\\d\" \\\"", "[echo][a\"b$c\\d][\"]"},
       {"l\\\ns -\\\nl", "[ls][-l]"},
       {"$'\\x72m' $'\\162\\155' $'a\\'b\\n' $'\\u00e9\\cA'", "[rm][rm][a'b\n][\xc3\xa9\x01]"},
       {"echo $\"hello\"", "[echo][hello]"},
       {"echo a$ '$b'", "[echo][a$][$b]"},
       {"ls *.c [ab] 'x*'", "[ls][*.c]*[[ab]]*[x*]"}});
}

TEST(ParseTest, ExpansionsAreNotLiteral) {
  ExpectAll({{"$x", "?[$x]"},
             {"r${x}m", "?[r${x}m]"},
             {"echo \"$HOME/a\" $1 $@ $$ ${x:-y}", "[echo]?[$HOME/a]?[$1]?[$@]?[$$]?[${x:-y}]"},
             {"echo ${x:-'}'} ${x:-\"}\"} ${#x} ${x[1]} ${!x}",
              "[echo]?[${x:-'}'}]?[${x:-\"}\"}]?[${#x}]?[${x[1]}]?[${!x}]"},
             {"echo \"${x:-it's}\" a", "[echo]?[${x:-it's}][a]"},
             {"echo \"${x#'}'}\" a", "[echo]?[${x#'}'}][a]"},
             {"echo $((1+2)) $[3]", "[echo]?[$((1+2))]?[$[3]]"}});
}

TEST(ParseTest, SubstitutionsAreFoundWhereverTheyStand) {
  ExpectAll({{"echo $(rm x)", "[echo]?[$(rm x)]{[rm][x]}"},
             {"echo \"a $(rm 'x)')\"", "[echo]?[a $(rm 'x)')]{[rm][x)]}"},
             {"echo `rm \\`pwd\\``", "[echo]?[`rm \\`pwd\\``]{[rm]?[`pwd`]{[pwd]}}"},
             {"echo ${x:-$(rm)}", "[echo]?[${x:-$(rm)}]{[rm]}"},
             {"echo $((1+$(rm)))", "[echo]?[$((1+$(rm)))]{[rm]}"},
             {"echo $((rm); ls)", "[echo]?[$((rm); ls)]{({[rm]}; [ls]}"},
             {"echo ${ rm; }", "[echo]?[${ rm; }]{[rm]}"},
             {"diff <(a) >(b)", "[diff]?[<(a)]{[a]}?[>(b)]{[b]}"},
             {"x[$(rm)]=1", "x=[1]{[rm]}"},
             {"x=($(rm) b)", "x=?[($(rm) b)]{[rm]}"},
             {"(( x = $(rm) ))", "((?[$(rm)]{[rm]}"},
             {"[[ -n $(rm) ]]", "[[[-n]?[$(rm)]{[rm]}"},
             {"case $(a) in $(b)) c;; esac", "case?[$(a)]{[a]}?[$(b)]{[b]}{[c]}"},
             {"for i in $(a); do b; done", "for?[$(a)]{[a]}{[b]}"},
             {"echo @($(rm)|b)", "[echo]?[@($(rm)|b)]*{[rm]}"}});
}

TEST(ParseTest, ListsAndPipelines) {
  ExpectAll({{"a; b & c && d || e\nf", "[a]; [b]; [c]; [d]; [e]; [f]"},
             {"a | b |& c", "[a] | [b] | [c]"},
             {"a |\n\n b &&\n c", "[a] | [b]; [c]"},
             {"! a | b; time -p c; ! ! d", "[a] | [b]; [c]; [d]"},
             {"time -v c", "[time][-v][c]"},
             {"a&b", "[a]; [b]"},
             {"a&>b", "[a]>[b]"}});
}

TEST(ParseTest, CompoundCommands) {
  ExpectAll({{"(a; b) >c", "({[a]; [b]}1>[c]"},
             {"{ a; b; }", "{{[a]; [b]}"},
             {"if a; then b; elif c; then d; else e; fi", "if{[a]}{[b]}{[c]}{[d]}{[e]}"},
             {"while a; do b; done <c", "while{[a]}{[b]}0<[c]"},
             {"until a\ndo b\ndone", "until{[a]}{[b]}"},
             {"for x in a b; do c; done", "for[a][b]{[c]}"},
             {"for x do c; done", "for{[c]}"},
             {"for ((i=0; i<3; i++)) { a; }", "for[]{[a]}"},
             {"select x in a; do b; done", "select[a]{[b]}"},
             {"case x in a|b) c;; (d) e;& *) f; esac", "case[x][a][b][d][*]*{[c]}{[e]}{[f]}"},
             {"[[ a == b* && ! -f c || d < e ]]", "[[[a][==][b*]*[!][-f][c][d][e]"},
             {"[[ a =~ ^(x|y z)$ ]] && b", "[[[a][^(x|y z)$]; [b]"},
             {"((1 < 2)) || a", "(([]; [a]"},
             {"((a); b)", "({({[a]}; [b]}"},
             {"coproc a b; coproc N { c; }", "coproc{[a][b]}; coproc{{{[c]}}"},
             {"!(a)", "({[a]}"}});
}

TEST(ParseTest, Functions) {
  ExpectAll({{"f() { rm; }", "function f{{{[rm]}}"},
             {"function f { rm; }", "function f{{{[rm]}}"},
             {"function f () ( rm )", "function f{({[rm]}}"},
             {"f()\n{\nrm\n} >x; f", "function f{{{[rm]}1>[x]}; [f]"},
             {":(){ :|:& };:", "function :{{{[:] | [:]}}; [:]"}});
}

TEST(ParseTest, AssignmentsBeforeACommand) {
  ExpectAll({{"A=1 B='2 3' c d=e", "A=[1]B=[2 3][c][d=e]"},
             {"A+=x", "A=[x]"},
             {"A=(1 2\n3)", "A=?[(1 2\n3)]"},
             {"declare -a A=(1 2) b", "A=?[(1 2)][declare][-a][b]"},
             {"a[b] c", "[a[b]]*[c]"},
             {"1a=b", "[1a=b]"}});
}

TEST(ParseTest, Redirections) {
  ExpectAll({{"a >b 2>&1 <c", "[a]1>[b]2&[1]0<[c]"},
             {"a>>b>|c", "[a]1>[b]1>[c]"},
             {"a 12>b 2>>c {fd}>d", "[a]12>[b]2>[c]>[d]"},
             {"a &>>b >&c <>d 3<&-", "[a]>[b]1>[c]0>[d]3&[-]"},
             {">b a", "[a]1>[b]"},
             {"> b", "1>[b]"},
             {"a <<<\"x $y\"", "[a]0<<<?[x $y]"},
             {"a 2 >b", "[a][2]1>[b]"},
             {"a >&$x", "[a]1>?[$x]"}});
}

TEST(ParseTest, HereDocuments) {
  ExpectAll(
      {{"cat <<E\na $x\nE\nls", "[cat]0<<?[a $x\n]; [ls]"},
       {"cat <<'E'\na $x `y`\nE\nls", "[cat]0<<[a $x `y`\n]; [ls]"},
       {"cat <<E\n$(rm) `b` \"$(c\nE\n", "error"},
       {"cat <<E\n\"$(rm)' `b`\nE\n", "[cat]0<<?[\"$(rm)' `b`\n]{[rm]}{[b]}"},
       {"cat <<-\\E | b\n\ta\n\tE\nc", "[cat]0<<[a\n] | [b]; [c]"},
       {"a <<X; b <<Y\n1\nX\n2\nY\nc", "[a]0<<[1\n]; [b]0<<[2\n]; [c]"},
       {"x=$(cat <<E\nbody )\nE\n); ls", "x=?[$(cat <<E\nbody )\nE\n)]{[cat]0<<[body )\n]}; [ls]"},
       {"cat <<E\nnever ends", "[cat]0<<[never ends\n]"},
       {"cat <<E", "[cat]0<<[]"}});
}

TEST(ParseTest, WhatIsReadTwiceAnnouncesItsHereDocumentsOnce) {
  ExpectAll({{"((a <<E); b)\n1\nE\nrm\nE\n", "({({[a]0<<[1\n]}; [b]}; [rm]; [E]"},
             {"echo $((a <<E); b)\n1\nE\nrm\nE\n",
              "[echo]?[$((a <<E); b)]{({[a]0<<[1\n]}; [b]}; [rm]; [E]"}});
}

TEST(ParseTest, WhatBashReadsInAnotherWayIsAnError) {
  for (std::string_view text :
       {"a[$(b)]x", "a[ b ]", "$\\\n(rm)", "echo \"$\\\nx\"", "i\\\nf a", "a\\"}) {
    EXPECT_EQ(ParseScript(text).code(), EINVAL) << text;
  }
  ExpectAll({{"echo {},a} {a}b,c} {$,b}c", "[echo]?[{},a}]?[{a}b,c}]?[{$,b}c]"}});
}

TEST(ParseTest, BracesBecomeWords) {
  ExpectAll({{"{rm,-rf,/}", "[rm][-rf][/]"},
             {"echo a{b,c{d,e}}f", "[echo][abf][acdf][acef]"},
             {"echo {1..3} {c..a} {1..9..4}", "[echo][1][2][3][c][b][a][1][5][9]"},
             {"echo {a} '{a,b}' {a,b \"{\"a,b}", "[echo][{a}][{a,b}]?[{a,b][{a,b}]"},
             {"echo {1..100000}", "[echo]?[{1..100000}]"},
             {"{$x,b} c", "?[$x]?[b][c]"}});
}

TEST(ParseTest, WhatIsNoScriptIsAnError) {
  for (std::string_view text : {"'",
                                "\"",
                                "`",
                                "$(",
                                "${",
                                "$((",
                                "a |",
                                "a &&",
                                "&& a",
                                "; a",
                                "(",
                                ")",
                                "{ a",
                                "if a; then",
                                "for x in",
                                "case x in",
                                "case x in a) b",
                                "f(",
                                "f() a",
                                "a <",
                                "[[ a",
                                "a >{b,c}",
                                "$'a",
                                "fi",
                                "done",
                                "a ;; b",
                                "x=(",
                                "} a",
                                "a (b)",
                                "function",
                                "echo $(a;; b)",
                                "<<"}) {
    EXPECT_EQ(ParseScript(text).code(), EINVAL) << text;
  }
  EXPECT_EQ(ParseScript(std::string_view("a\0b", 3)).code(), EINVAL);
  EXPECT_EQ(ParseScript(std::string(kMaxTextBytes + 1, 'a')).code(), EINVAL);
}

TEST(ParseTest, NestingIsBounded) {
  for (std::string_view opening : {"(", "$(", "{ ", "`$(", "\"$(", "${x:-", "$((", "a=(", "@(",
                                   "<(", "if ", "((", "f() ", "[[ $("}) {
    std::string text;
    while (text.size() < 100'000) text += opening;
    EXPECT_EQ(ParseScript(text).code(), EINVAL) << opening;
  }
}

}  // namespace
}  // namespace agentfs::shell
