// SPDX-License-Identifier: Apache-2.0
//
// doctor and completion.
#include <gmock/gmock.h>
#include <unistd.h>

#include <set>

#include "program.h"

namespace agentfs {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;

TEST_F(CliTest, DoctorSaysOfEachCapabilityWhetherItIsThere) {
  Outcome doctor = Run({"doctor", "--json"});
  const auto json = doctor.Json();
  std::set<std::string> names;
  for (const auto& check : json["checks"]) {
    names.insert(check["name"]);
    EXPECT_THAT((std::set<std::string>{"ok", "limited", "missing"}),
                testing::Contains(check["state"].get<std::string>()));
    if (check["state"] == "missing") {
      EXPECT_TRUE(check.contains("remedy")) << check;
    }
  }
  EXPECT_THAT(names, IsSupersetOf({"namespaces", "bubblewrap", "/dev/fuse", "fusermount3",
                                   "FUSE mount", "passthrough", "reflink", "AppArmor", "inotify"}));
  EXPECT_EQ(doctor.status, json["can_run"] ? 0 : 1);
}

TEST_F(CliTest, DoctorNamesTheRemedyForWhatIsMissing) {
  RunOptions options;
  options.environment["PATH"] = "/nonexistent";
  Outcome doctor = Run({"doctor"}, options);
  EXPECT_EQ(doctor.status, 1);
  EXPECT_THAT(doctor.out, HasSubstr("apt-get install bubblewrap"));
}

TEST_F(CliTest, CompletionsNameEveryCommandAndOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = Ok({"completion", shell}).out;
    for (const char* word : {"run", "doctor", "snapshot", "mount", "no-net", "exit-code"}) {
      EXPECT_THAT(script, HasSubstr(word)) << shell;
    }
    EXPECT_EQ(script.find("summary"), std::string::npos) << "for ourselves alone";
  }
  EXPECT_EQ(Run({"completion", "csh"}).status, 2);
}

}  // namespace
}  // namespace agentfs
