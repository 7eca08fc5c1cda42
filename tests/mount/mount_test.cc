// SPDX-License-Identifier: Apache-2.0
#include "mount_test.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace agentfs::posix {
namespace {

template <typename T>
T Must(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message());
  return std::move(*result);
}

}  // namespace

std::string File::ReadAll() const {
  std::string content;
  char buffer[65536];
  for (;;) {
    const ssize_t count = ::pread(fd_, buffer, sizeof buffer, static_cast<off_t>(content.size()));
    if (count <= 0) return content;
    content.append(buffer, static_cast<size_t>(count));
  }
}

bool File::WriteAll(std::string_view data) const {
  while (!data.empty()) {
    const ssize_t count = ::write(fd_, data.data(), data.size());
    if (count <= 0) return false;
    data.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

void WriteHostFile(const std::string& path, std::string_view content) {
  const File file(path, O_WRONLY | O_CREAT | O_TRUNC);
  ASSERT_TRUE(file.ok()) << path << ": " << ErrnoName(errno);
  ASSERT_TRUE(file.WriteAll(content)) << path << ": " << ErrnoName(errno);
}

std::string ReadHostFile(const std::string& path) {
  const File file(path, O_RDONLY);
  return file.ok() ? file.ReadAll() : "(" + ErrnoName(errno) + ")";
}

Outcome Shell(const std::string& directory, const std::string& command) {
  const std::string line = "cd '" + directory + "' && { " + command + "\n} 2>&1";
  Outcome outcome;
  FILE* pipe = ::popen(line.c_str(), "re");
  if (pipe == nullptr) throw std::runtime_error("popen");
  char buffer[4096];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) {
    outcome.output.append(buffer, count);
  }
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

MountTest::MountTest() : base_(temp_.Make("base")), place_(temp_.Make("mount")) {
  temp_.Make("state");
}

MountTest::~MountTest() { Unmount(); }

void MountTest::SetUp() {
  if (!WhyNoMounts().empty()) GTEST_SKIP() << WhyNoMounts();
}

void MountTest::Start(Base base, MountRigOptions options) {
  watchdog_ = std::make_unique<Watchdog>(place_);
  RigOptions rig;
  rig.store = store_;
  rig.state = scratch("state");
  if (base == Base::kYes) rig.base = base_;
  rig.volume = volume_options_;
  rig_ = Must(VolumeRig::Open(std::move(rig)));
  Remount(std::move(options));
}

void MountTest::Remount(MountRigOptions options) {
  Unmount();
  // The whole suite runs once more with another profile.
  const char* profile = std::getenv("AGENTFS_TEST_PROFILE");
  if (profile != nullptr && std::string_view(profile) == "bulk") {
    options.serve.profile = fuse::Profile::kBulk;
  }
  mount_ = Must(MountRig::Start(volume(), place_, std::move(options)));
}

void MountTest::Unmount() { mount_.reset(); }

std::unique_ptr<MountRig> MountTest::MountAgain(const std::string& name, MountRigOptions options) {
  return Must(MountRig::Start(volume(), temp_.Make(name), std::move(options)));
}

void MountTest::Write(std::string_view name, std::string_view content) {
  WriteHostFile(path(name), content);
}
std::string MountTest::Read(std::string_view name) { return ReadHostFile(path(name)); }
bool MountTest::Exists(std::string_view name) {
  struct stat s {};
  return ::lstat(path(name).c_str(), &s) == 0;
}

std::string MountTest::Run(const std::string& command) {
  const Outcome outcome = Shell(place_, command);
  EXPECT_EQ(outcome.status, 0) << command << "\n" << outcome.output;
  return outcome.output;
}

}  // namespace agentfs::posix
