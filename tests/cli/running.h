// SPDX-License-Identifier: Apache-2.0
//
// Tests of commands that run in sandboxes.
#pragma once

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "device_mode.h"
#include "mounted.h"

namespace agentfs {

// The workspace `state` over `base`; sessions are mounted in `runtime`.
class RunCliTest : public MountCliTest {
 protected:
  void SetUp() override {
    MountCliTest::SetUp();
    if (IsSkipped()) return;
    if (::access("/usr/bin/bwrap", X_OK) != 0) GTEST_SKIP() << "there is no bubblewrap here";
    for (const char* name : {"runtime", "home"}) {
      MakeHostDirectory(name);
      ASSERT_EQ(::chown(At(name).c_str(), user_, user_), 0);
    }
    environment_["XDG_RUNTIME_DIR"] = At("runtime");
    environment_["HOME"] = At("home");
    directory_ = At("base");
  }
  void TearDown() override { MountCliTest::TearDown(); }

  Outcome Shell(const std::string& text, std::vector<std::string> options = {}) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"--", "/bin/sh", "-c", text});
    return Try(options);
  }
  // As a line of the configuration's own.
  void WantCow(const std::string& directory) {
    std::string config = ReadHost("state/config.toml");
    config.replace(config.find("cow = ["), 7, "cow = [\"" + directory + "\",");
    WriteHost("state/config.toml", config);
  }
  void MakeHome(const std::string& name, const std::string& content) {
    const std::filesystem::path path = At("home/" + name);
    std::filesystem::create_directories(path.parent_path());
    WriteHost("home/" + name, content);
    for (auto at = path; at != At("home"); at = at.parent_path()) {
      ASSERT_EQ(::chown(at.c_str(), user_, user_), 0);
    }
  }
};

class UserRunCliTest : public RunCliTest {
 protected:
  UserRunCliTest() { user_ = 65534; }
  fuse::test::DeviceMode device_{fuse::test::DeviceMode::kEverybody};
};

}  // namespace agentfs
