// SPDX-License-Identifier: Apache-2.0
//
// A scratch directory of the host for one test, and short forms to fill it.
#pragma once

#include <string>
#include <string_view>

namespace agentfs {

// Made on construction, removed with all its contents on destruction.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// Each of these fails the test when the host refuses.
void WriteHostFile(const std::string& path, std::string_view content);
std::string ReadHostFile(const std::string& path);
void MakeHostDirectory(const std::string& path);
void MakeHostLink(const std::string& target, const std::string& path);

}  // namespace agentfs
