// SPDX-License-Identifier: Apache-2.0
#include "workspace/git_index.h"

#include <cstring>
#include <memory>
#include <string>

#include "sys/memory_file.h"
#include "workspace/lazy_git.h"

namespace agentfs {
namespace {

constexpr std::string_view kIndexMagic = "DIRC";
constexpr uint16_t kKeptFlags = GIT_INDEX_ENTRY_INTENT_TO_ADD | GIT_INDEX_ENTRY_SKIP_WORKTREE;

struct FreeIndex {
  void operator()(git_index* index) const { git_index_free(index); }
};
using Index = std::unique_ptr<git_index, FreeIndex>;

// None: it is damaged, or says something that the library does not know.
Result<Index> ReadIndex(std::string_view content) {
  AGENTFS_ASSIGN(const Fd file, MakeMemoryFile(content));
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  git_index* index = nullptr;
  if (git_index_open(&index, path.c_str()) != 0) return Index();
  return Index(index);
}

bool SameEntry(const git_index_entry& a, const git_index_entry& b) {
  return a.mode == b.mode && a.flags == b.flags &&
         (a.flags_extended & kKeptFlags) == (b.flags_extended & kKeptFlags) &&
         std::memcmp(a.id.id, b.id.id, sizeof(a.id.id)) == 0 && std::strcmp(a.path, b.path) == 0;
}

}  // namespace

bool LooksLikeGitIndex(std::string_view beginning) { return beginning.starts_with(kIndexMagic); }

Result<bool> SameGitIndex(std::string_view a, std::string_view b) {
  [[maybe_unused]] static const int started = git_libgit2_init();
  AGENTFS_ASSIGN(const Index first, ReadIndex(a));
  AGENTFS_ASSIGN(const Index second, ReadIndex(b));
  if (first == nullptr || second == nullptr) return false;
  const size_t count = git_index_entrycount(first.get());
  if (count != git_index_entrycount(second.get())) return false;
  for (size_t i = 0; i < count; ++i) {
    const git_index_entry* const one = git_index_get_byindex(first.get(), i);
    const git_index_entry* const other = git_index_get_byindex(second.get(), i);
    if (one == nullptr || other == nullptr || !SameEntry(*one, *other)) return false;
  }
  return true;
}

}  // namespace agentfs
