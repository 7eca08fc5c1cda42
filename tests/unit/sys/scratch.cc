// SPDX-License-Identifier: Apache-2.0
#include "scratch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace agentfs {

Scratch::Scratch() {
  path_ = std::filesystem::temp_directory_path() / "agentfs-test.XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << path_;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void WriteHostFile(const std::string& path, std::string_view content) {
  std::ofstream out(path, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  EXPECT_TRUE(out.good()) << path;
}

std::string ReadHostFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

void MakeHostDirectory(const std::string& path) {
  EXPECT_EQ(::mkdir(path.c_str(), 0755), 0) << path;
}

void MakeHostLink(const std::string& target, const std::string& path) {
  EXPECT_EQ(::symlink(target.c_str(), path.c_str()), 0) << path;
}

}  // namespace agentfs
