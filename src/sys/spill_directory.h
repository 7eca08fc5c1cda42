// SPDX-License-Identifier: Apache-2.0
//
// A private directory for content that must not outlive the process.
#pragma once

#include <memory>
#include <string>

#include "agentfs/result.h"
#include "sys/fd.h"

namespace agentfs {

// A fresh directory, removed with all its files on destruction. What a killed process left behind
// is removed by the next one that creates a spill directory at the same place.
class SpillDirectory {
 public:
  static Result<std::unique_ptr<SpillDirectory>> Create(const std::string& parent);
  ~SpillDirectory();
  SpillDirectory(const SpillDirectory&) = delete;
  SpillDirectory& operator=(const SpillDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  SpillDirectory(std::string path, Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  const Fd lock_;  // the directory itself, locked while its owner lives
};

}  // namespace agentfs
