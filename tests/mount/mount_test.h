// SPDX-License-Identifier: Apache-2.0
//
// The fixture of the tests that only a mount can pass: a workspace, mounted.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>

#include "mount_rig.h"
#include "native_subject.h"
#include "volume_rig.h"

namespace agentfs::posix {

// A descriptor; -1 if opening failed, errno then says why.
class File {
 public:
  File(const std::string& path, int flags, mode_t mode = 0644)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~File() { Close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  std::string ReadAll() const;
  bool WriteAll(std::string_view data) const;
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

struct Outcome {
  int status = 0;  // the exit status; 128 + the signal that ended it
  std::string output;
};
// A shell command in `directory`, its output and its errors.
Outcome Shell(const std::string& directory, const std::string& command);

class MountTest : public testing::Test {
 protected:
  enum class Base : uint8_t { kNo, kYes };

  MountTest();
  ~MountTest() override;
  void SetUp() override;

  // Files of the base, before or after Start.
  std::string base(std::string_view name) const { return base_ + "/" + std::string(name); }
  // Opens the volume and mounts its branch main.
  void Start(Base base = Base::kNo, MountRigOptions options = {});
  void Remount(MountRigOptions options = {});
  void Unmount();

  std::string path(std::string_view name = "") const { return place_ + "/" + std::string(name); }
  Volume& volume() { return rig_->volume(); }
  MountRig& rig() { return *mount_; }
  // A second mount point.
  std::unique_ptr<MountRig> MountAgain(const std::string& name, MountRigOptions options = {});
  std::string scratch(const std::string& name) const { return temp_.path() + "/" + name; }

  void Write(std::string_view name, std::string_view content);
  std::string Read(std::string_view name);
  bool Exists(std::string_view name);
  std::string Run(const std::string& command);  // in the mount; fails the test unless it succeeds

  VolumeOptions volume_options_;  // before Start
  StoreKind store_ = StoreKind::kMemory;

 private:
  TempDirectory temp_;
  std::string base_, place_;
  std::unique_ptr<Watchdog> watchdog_;
  std::unique_ptr<VolumeRig> rig_;
  std::unique_ptr<MountRig> mount_;
};

void WriteHostFile(const std::string& path, std::string_view content);
std::string ReadHostFile(const std::string& path);

}  // namespace agentfs::posix
