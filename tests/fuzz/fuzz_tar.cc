// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as an archive: loading one either fails and changes nothing, or gives a tree that can
// be saved and loaded again, exactly. What lies beside the tree never changes.
#include <cstring>
#include <sstream>
#include <string>

#include "agentfs/files.h"
#include "agentfs/stores.h"
#include "agentfs/volume.h"
#include "require.h"
#include "tree_dump.h"

namespace agentfs {
namespace {

using testing::Dump;

constexpr size_t kBlock = 512;
constexpr ArchiveLimits kLimits{.max_bytes = 4 << 20, .max_entries = 500};

// Makes the checksums of tar headers right, which a mutation hardly ever does.
void FixChecksums(std::string& bytes) {
  for (size_t at = 0; at + kBlock <= bytes.size(); at += kBlock) {
    char* header = bytes.data() + at;
    if (std::memcmp(header + 257, "ustar", 5) != 0) continue;
    std::memset(header + 148, ' ', 8);
    unsigned sum = 0;
    for (size_t i = 0; i < kBlock; ++i) sum += static_cast<unsigned char>(header[i]);
    std::snprintf(header + 148, 7, "%06o", sum);
  }
}

Result<void> Load(const Files& files, std::string_view path, const std::string& bytes) {
  std::istringstream in(bytes);
  return LoadTree(files, path, in, kLimits);
}

void RequireSame(const std::string& now, const std::string& before) {
  if (now != before) std::fprintf(stderr, "before:\n%s\nnow:\n%s\n", before.c_str(), now.c_str());
  REQUIRE(now == before);
}

void CheckArchive(const Files& files, std::string_view path, const std::string& bytes) {
  std::string before = Dump(files, "/");
  Result<void> loaded = Load(files, path, bytes);
  if (!loaded.ok()) {
    RequireSame(Dump(files, "/"), before);
    return;
  }
  REQUIRE(path == "/" || files.ReadBytes("/beside").value() == "beside");
  std::ostringstream out;
  REQUIRE(SaveTree(files, path, out).ok());
  std::string first = Dump(files, path);
  std::istringstream again(out.str());
  REQUIRE(LoadTree(files, path, again).ok());
  RequireSame(Dump(files, path), first);
}

void Run(std::string bytes) {
  auto store = OpenMemoryStore(VolumeSchema());
  auto volume = Volume::Open(std::move(store).value(), nullptr, nullptr, {}).value();
  {
    Files files(volume->OpenBranch(kMainBranch).value());
    REQUIRE(files.CreateDirectories("/tree/old").ok());
    REQUIRE(files.WriteBytes("/tree/old/file", "old").ok());
    REQUIRE(files.WriteBytes("/beside", "beside").ok());
    CheckArchive(files, "/tree", bytes);
    CheckArchive(files, "/", bytes);
  }
  REQUIRE(volume->Close().ok());
}

}  // namespace
}  // namespace agentfs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  agentfs::FixChecksums(bytes);
  agentfs::Run(std::move(bytes));
  return 0;
}
