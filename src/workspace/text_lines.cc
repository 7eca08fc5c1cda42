// SPDX-License-Identifier: Apache-2.0
#include "workspace/text_lines.h"

#include <memory>

#include "workspace/lazy_git.h"

namespace agentfs {
namespace {

// How far git looks for a byte that text does not have.
constexpr size_t kProbe = 8000;

void StartLibrary() { [[maybe_unused]] static const int started = git_libgit2_init(); }

Error LibraryError() {
  const git_error* last = git_error_last();
  return Error(ENOMEM, std::string("libgit2: ") + (last ? last->message : "failed"));
}

struct Output {
  const PatchSink& sink;
  Result<void> outcome;
};

PatchLine KindOf(char origin) {
  switch (origin) {
    case GIT_DIFF_LINE_ADDITION:
    case GIT_DIFF_LINE_ADD_EOFNL:
      return PatchLine::kAdded;
    case GIT_DIFF_LINE_DELETION:
    case GIT_DIFF_LINE_DEL_EOFNL:
      return PatchLine::kRemoved;
    case GIT_DIFF_LINE_HUNK_HDR:
      return PatchLine::kHunk;
    default:
      return PatchLine::kContext;
  }
}

int Print(const git_diff_delta*, const git_diff_hunk*, const git_diff_line* line, void* payload) {
  Output& output = *static_cast<Output*>(payload);
  const char origin = line->origin;
  if (origin == GIT_DIFF_LINE_FILE_HDR) return 0;
  const bool prefixed = origin == GIT_DIFF_LINE_CONTEXT || origin == GIT_DIFF_LINE_ADDITION ||
                        origin == GIT_DIFF_LINE_DELETION;
  std::string text = prefixed ? std::string(1, origin) : std::string();
  text.append(line->content, line->content_len);
  output.outcome = output.sink(KindOf(origin), text);
  return output.outcome.ok() ? 0 : GIT_EUSER;
}

git_merge_file_input Input(std::string_view text) {
  git_merge_file_input input = GIT_MERGE_FILE_INPUT_INIT;
  input.ptr = text.data();
  input.size = text.size();
  input.path = "file";
  input.mode = GIT_FILEMODE_BLOB;
  return input;
}

}  // namespace

bool LooksBinary(std::string_view beginning) {
  return beginning.substr(0, kProbe).find('\0') != std::string_view::npos;
}

Result<void> DiffLines(std::string_view before, std::string_view after, const PatchSink& sink) {
  StartLibrary();
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_FORCE_TEXT;
  git_patch* made = nullptr;
  if (git_patch_from_buffers(&made, before.data(), before.size(), nullptr, after.data(),
                             after.size(), nullptr, &options) != 0) {
    return LibraryError();
  }
  const std::unique_ptr<git_patch, void (*)(git_patch*)> patch(
      made, [](git_patch* each) { git_patch_free(each); });
  Output output{sink, Ok()};
  const int printed = git_patch_print(patch.get(), Print, &output);
  AGENTFS_TRY(output.outcome);
  return printed == 0 ? Ok() : Result<void>(LibraryError());
}

Result<std::optional<std::string>> MergeLines(std::string_view ancestor, std::string_view ours,
                                              std::string_view theirs) {
  StartLibrary();
  const git_merge_file_input base = Input(ancestor), left = Input(ours), right = Input(theirs);
  git_merge_file_options options = GIT_MERGE_FILE_OPTIONS_INIT;
  git_merge_file_result merged = {};
  if (git_merge_file(&merged, &base, &left, &right, &options) != 0) return LibraryError();
  std::optional<std::string> text;
  if (merged.automergeable != 0) text = std::string(merged.ptr ? merged.ptr : "", merged.len);
  git_merge_file_result_free(&merged);
  return text;
}

}  // namespace agentfs
