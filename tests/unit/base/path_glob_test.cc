// SPDX-License-Identifier: Apache-2.0
#include "base/path_glob.h"

#include <gtest/gtest.h>

namespace agentfs {
namespace {

bool Matches(std::string_view glob, std::string_view path) {
  return PathGlob::Compile(glob).value().Matches(path);
}

TEST(PathGlobTest, StarsStayWithinAName) {
  EXPECT_TRUE(Matches("/src/*.c", "/src/a.c"));
  EXPECT_FALSE(Matches("/src/*.c", "/src/b/a.c"));
  EXPECT_TRUE(Matches("/a?c", "/abc"));
  EXPECT_FALSE(Matches("/a?c", "/a/c"));
  EXPECT_TRUE(Matches("/*/b", "/a/b"));
  EXPECT_TRUE(Matches("/a*b*c", "/axxbyyc"));
  EXPECT_FALSE(Matches("/a*b*c", "/axxbyy"));
}

TEST(PathGlobTest, TwoStarsAreAnyNumberOfNames) {
  EXPECT_TRUE(Matches("**/.env", "/.env"));
  EXPECT_TRUE(Matches("**/.env", "/a/b/.env"));
  EXPECT_FALSE(Matches("**/.env", "/a/.env/b"));
  EXPECT_TRUE(Matches("/secrets/**", "/secrets/a/b"));
  EXPECT_TRUE(Matches("/a/**/z", "/a/z"));
  EXPECT_TRUE(Matches("/a/**/m/**/z", "/a/b/m/m/c/z"));
  EXPECT_FALSE(Matches("/a/**/m/**/z", "/a/b/c/z"));
}

TEST(PathGlobTest, WithoutALeadingSlashItBeginsAnywhere) {
  EXPECT_TRUE(Matches("*.pem", "/a/b/key.pem"));
  EXPECT_TRUE(Matches("keys/*.pem", "/a/keys/key.pem"));
  EXPECT_FALSE(Matches("/keys/*.pem", "/a/keys/key.pem"));
}

TEST(PathGlobTest, BracketsBracesAndEscapes) {
  EXPECT_TRUE(Matches("/[a-c]x", "/bx"));
  EXPECT_FALSE(Matches("/[!a-c]x", "/bx"));
  EXPECT_TRUE(Matches("/[]]x", "/]x"));
  EXPECT_TRUE(Matches("/*.{c,h}", "/a.h"));
  EXPECT_TRUE(Matches("/{a,b/{c,d}}/x", "/b/d/x"));
  EXPECT_FALSE(Matches("/*.{c,h}", "/a.o"));
  EXPECT_TRUE(Matches("/\\*\\{", "/*{"));
  EXPECT_FALSE(Matches("/\\*", "/a"));
}

TEST(PathGlobTest, ADirectoryHoldsWhatIsInIt) {
  const PathGlob glob = PathGlob::Compile("/secrets").value();
  EXPECT_FALSE(glob.Matches("/secrets/a"));
  EXPECT_TRUE(glob.MatchesOrHolds("/secrets/a"));
  EXPECT_TRUE(glob.MatchesOrHolds("/secrets"));
  EXPECT_FALSE(glob.MatchesOrHolds("/secret"));
}

TEST(PathGlobTest, ItKnowsWhereItMeansTheSameBeneath) {
  const PathGlob anywhere = PathGlob::Compile("**/.env").value();
  EXPECT_TRUE(anywhere.SameBeneath("/a", "/b/c"));
  const PathGlob below = PathGlob::Compile("/secrets/**").value();
  EXPECT_FALSE(below.SameBeneath("/secrets", "/open"));
  EXPECT_TRUE(below.SameBeneath("/secrets/a", "/secrets/b"));
  EXPECT_TRUE(below.SameBeneath("/a", "/b"));
  const PathGlob middle = PathGlob::Compile("/a/*/{key,lock}").value();
  EXPECT_FALSE(middle.SameBeneath("/a", "/b"));
  EXPECT_FALSE(middle.SameBeneath("/b/c", "/a/c"));
  EXPECT_TRUE(middle.SameBeneath("/a/x", "/a/y"));
}

TEST(PathGlobTest, WhatIsNoGlobIsAnError) {
  for (std::string_view text :
       {"", "/", "/[a", "/{a", "/{a,{b}", "{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}{m,n}"}) {
    EXPECT_EQ(PathGlob::Compile(text).code(), EINVAL) << text;
  }
}

TEST(PathGlobTest, ManyStarsTakeNoMoreThanAProductOfTime) {
  std::string glob = "/", path = "/";
  for (int i = 0; i < 200; ++i) {
    glob += "**/*a*a*a/";
    path += "aaaaaaaaaaaaaaaaaaaab/";
  }
  path.pop_back();
  EXPECT_FALSE(Matches(glob, path));
}

}  // namespace
}  // namespace agentfs
