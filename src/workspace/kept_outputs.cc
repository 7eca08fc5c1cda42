// SPDX-License-Identifier: Apache-2.0
#include "workspace/kept_outputs.h"

#include <charconv>
#include <filesystem>
#include <optional>

#include "agentfs/exec_log.h"

namespace agentfs {
namespace {

// The exec that a file's name is about; none: it is not ours.
std::optional<uint64_t> ExecOfOutput(const std::string& name) {
  if (!name.ends_with(".stdout") && !name.ends_with(".stderr")) return std::nullopt;
  uint64_t exec = 0;
  const char* const end = name.data() + name.find('.');
  const auto [stopped, error] = std::from_chars(name.data(), end, exec);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return exec;
}

}  // namespace

std::string KeptOutput(const Layout& layout, uint64_t exec, OutputOf stream) {
  return layout.outputs + "/" + std::to_string(exec) +
         (stream == OutputOf::kOut ? ".stdout" : ".stderr");
}

Result<uint64_t> RemoveLostOutputs(Volume& volume, const Layout& layout) {
  uint64_t bytes = 0;
  std::error_code error;
  if (layout.outputs.empty()) return bytes;
  for (std::filesystem::directory_iterator it(layout.outputs, error), end; !error && it != end;
       it.increment(error)) {
    const auto exec = ExecOfOutput(it->path().filename());
    if (!exec) continue;
    AGENTFS_ASSIGN(const auto record, GetExec(volume, *exec));
    if (record) continue;
    const uint64_t size = it->file_size(error);
    if (std::filesystem::remove(it->path(), error)) bytes += size;
  }
  return bytes;
}

}  // namespace agentfs
