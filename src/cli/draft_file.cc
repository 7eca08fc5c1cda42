// SPDX-License-Identifier: Apache-2.0
#include "cli/draft_file.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "cli/console_stream.h"

namespace agentfs::cli {
namespace {

// Removes the files whose names begin with `prefix`, but not those that begin with `except`.
void RemoveDrafts(const std::string& prefix, const std::string& except) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(prefix).parent_path(), ignored)) {
    const std::string& name = entry.path().native();
    if (!name.starts_with(prefix) || (!except.empty() && name.starts_with(except))) continue;
    fs::remove(entry.path(), ignored);
  }
}

std::string OfThisProcess(const std::string& prefix) {
  return prefix + std::to_string(::getpid()) + "-";
}

// Ends in a dot, so that none begins another.
std::string NextName(const std::string& prefix) {
  static std::atomic<uint64_t> count = 0;
  return OfThisProcess(prefix) + std::to_string(++count) + ".";
}

}  // namespace

DraftFile::DraftFile(const std::string& database, const std::string& use)
    : file_(NextName(database + "." + use + "-")) {
  const std::string prefix = database + "." + use + "-";
  RemoveDrafts(prefix, OfThisProcess(prefix));
}

DraftFile::~DraftFile() { RemoveDrafts(file_, ""); }

Result<void> DraftFile::Deliver(const Console& console) const {
  CommandFileBuffer buffer(console);
  std::ostream out(&buffer);
  std::ifstream in(file_, std::ios::binary);
  out << in.rdbuf() << std::flush;
  AGENTFS_TRY(buffer.state());
  if (!in || !out) return Error(EIO, "the database that was made cannot be copied");
  return Ok();
}

}  // namespace agentfs::cli
