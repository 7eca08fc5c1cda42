// SPDX-License-Identifier: Apache-2.0
//
// fs cat, write, append.
#include <fcntl.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "agentfs/path.h"
#include "base/base64.h"
#include "cli/fs_commands.h"

namespace agentfs::cli {
namespace {

constexpr size_t kPiece = 1 << 20;
// So much of stdin is read before the workspace is opened: a slow writer of little does not keep
// others waiting, and what does not fit a limit changes nothing.
constexpr size_t kAhead = 8 << 20;

// Calls `take` with the file's content, piece by piece.
Result<void> ReadPieces(const Files& files, const std::string& path,
                        const std::function<Result<void>(std::string_view)>& take) {
  AGENTFS_ASSIGN(Found found, files.Resolve(path));
  if (S_ISDIR(found.attr.mode)) return Error(EISDIR);
  if (!S_ISREG(found.attr.mode)) return Error(EINVAL, "not a regular file");
  FileSystem& fs = *files.filesystem();
  AGENTFS_TRY(fs.Open(files.caller(), *found.node, O_RDONLY));
  std::string piece(kPiece, '\0');
  for (uint64_t offset = 0;;) {
    AGENTFS_ASSIGN(size_t n, fs.Read(*found.node, offset, piece));
    if (n == 0) return Ok();
    AGENTFS_TRY(take(std::string_view(piece).substr(0, n)));
    offset += n;
  }
}

// The content as JSON: text where it is UTF-8, base64 otherwise.
nlohmann::ordered_json ContentJson(const std::string& path, const std::string& content) {
  nlohmann::ordered_json json = {{"path", path}, {"size", content.size()}};
  nlohmann::ordered_json text = content;
  try {
    (void)text.dump();
    json["content"] = std::move(text);
  } catch (const nlohmann::json::type_error&) {
    json["content_base64"] = Base64(content);
  }
  return json;
}

Result<int> Cat(Context& context, const FsOptions& options, const Files& files) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const std::string& path : options.paths) {
    std::string content;
    auto read = ReadPieces(files, path, [&](std::string_view piece) -> Result<void> {
      if (!context.json) return context.Print(piece);
      content += piece;
      return Ok();
    });
    AGENTFS_TRY(context.Explain("cannot read", path, std::move(read)));
    if (context.json) json.push_back(ContentJson(path, content));
  }
  if (json.size() == 1) json = nlohmann::ordered_json(json[0]);
  if (context.json) AGENTFS_TRY(context.PrintJson(json));
  return kDone;
}

// The rest of stdin to the end of the file, which is there.
Result<void> AppendRest(Console& console, const Files& files, const std::string& path) {
  AGENTFS_ASSIGN(Found found, files.Resolve(path));
  FileSystem& fs = *files.filesystem();
  AGENTFS_TRY(fs.Open(files.caller(), *found.node, O_WRONLY | O_APPEND));
  std::string piece(kPiece, '\0');
  for (;;) {
    AGENTFS_ASSIGN(size_t n, console.Read(piece));
    if (n > 0) AGENTFS_TRY(fs.Append(files.caller(), *found.node, {piece.data(), n}));
    if (n < piece.size()) return Ok();
  }
}

enum class How : uint8_t { kReplace, kAppend };

Result<int> Put(Context& context, const FsOptions& options, How how) {
  const std::string& path = options.paths.front();
  std::string head;
  bool all = false;
  while (!all && head.size() < kAhead) {
    const size_t before = head.size();
    head.resize(std::max(size_t{1} << 16, before * 2));
    AGENTFS_ASSIGN(size_t n, context.console->Read(std::span(head).subspan(before)));
    all = n < head.size() - before;
    head.resize(before + n);
  }
  auto done =
      WithFiles(context, options.view, Access::kWrite, [&](const Files& files) -> Result<int> {
        auto write = [&]() -> Result<void> {
          AGENTFS_TRY(how == How::kReplace ? files.WriteBytes(path, head)
                                           : files.Append(path, head));
          return all ? Ok() : AppendRest(*context.console, files, path);
        };
        auto written = Suggest(write(), ENOENT, "'agentfs fs mkdir -p' makes missing directories");
        AGENTFS_TRY(context.Explain("cannot write", path, std::move(written)));
        if (context.json) {
          AGENTFS_ASSIGN(FileEntry entry, files.Entry(path, FollowLinks::kYes));
          AGENTFS_TRY(context.PrintJson(EntryJson(files, entry)));
        }
        return kDone;
      });
  if (context.server_appeared) context.console->GiveBack(std::move(head));
  return done;
}

}  // namespace

Result<int> FsCat(Context& context, const FsOptions& options) {
  return WithFiles(context, options.view, Access::kRead,
                   [&](const Files& files) { return Cat(context, options, files); });
}
Result<int> FsWrite(Context& context, const FsOptions& options) {
  return Put(context, options, How::kReplace);
}
Result<int> FsAppend(Context& context, const FsOptions& options) {
  return Put(context, options, How::kAppend);
}

}  // namespace agentfs::cli
