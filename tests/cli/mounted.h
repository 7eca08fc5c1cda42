// SPDX-License-Identifier: Apache-2.0
//
// Tests with mounts and the server behind them, which are gone after each, also when it fails.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "program.h"

namespace agentfs {

// A workspace `state` over `base`, and a directory `mnt` to mount it at.
class MountCliTest : public CliTest {
 protected:
  MountCliTest();
  ~MountCliTest() override;
  void SetUp() override;

  // `agentfs --workspace state ...` as the test's user, whatever happens.
  Outcome Try(std::vector<std::string> arguments, const std::string& input = "");
  // The same, with status 0 expected.
  Outcome Do(std::vector<std::string> arguments, const std::string& input = "");
  Outcome Mount() { return Do({"mount", At("mnt")}); }
  Outcome Unmount() { return Do({"umount", At("mnt")}); }

  std::string state() const { return At("state"); }
  std::string InMount(const std::string& name) const { return At("mnt/" + name); }
  void Write(const std::string& path, const std::string& content);
  static std::string Read(const std::string& path);
  static bool IsMounted(const std::string& point);
  // The server's process; 0: none.
  pid_t ServerPid() const;
  // Waits until it has ended.
  static void WaitForEnd(pid_t pid);
  // The client waits for the server to let go of everything, not for its process to be gone.
  void WaitForNoServer() const;
  void KillServer();

  uid_t user_ = 0;
  // Of commands that Try and Do run.
  std::map<std::string, std::string> environment_;
  std::string directory_;

 private:
  // Kills servers and detaches mounts of the scratch directory.
  void CleanUp();

  std::mutex mu_;
  std::condition_variable done_;
  bool ended_ = false;
  std::thread watchdog_;
};

}  // namespace agentfs
