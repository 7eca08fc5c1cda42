// SPDX-License-Identifier: Apache-2.0
//
// fs mkdir, rm, mv, cp, ln, chmod.
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "agentfs/path.h"
#include "cli/file_mode.h"
#include "cli/fs_commands.h"

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

// Where `from` goes: into `to` if that is a directory, else under that name.
Result<std::string> Destination(const Files& files, const std::string& from,
                                const std::string& to) {
  if (!files.IsDirectory(to)) return to;
  AGENTFS_ASSIGN(std::string normal, NormalizePath(from));
  if (normal == "/") return to;
  return to + "/" + std::string(FileName(normal));
}

Result<void> RequireDirectoryForMany(Context& context, const Files& files,
                                     const FsOptions& options) {
  const std::string& to = options.paths.back();
  if (options.paths.size() == 2 || files.IsDirectory(to)) return Ok();
  return context.Explain("cannot put several files into", to, Result<void>(Error(ENOTDIR)));
}

Result<int> Mkdir(Context& context, const FsOptions& options, const Files& files) {
  uint32_t mode = 0777;
  if (!options.mode.empty()) {
    AGENTFS_ASSIGN(mode, ChangeMode(options.mode, S_IFDIR | 0777, files.caller().umask));
  }
  Json json = Json::array();
  for (const std::string& path : options.paths) {
    const bool existed = files.Exists(path);
    auto made = options.parents
                    ? files.CreateDirectories(path)
                    : Suggest(files.CreateDirectory(path), ENOENT, "-p makes the missing parents");
    AGENTFS_TRY(context.Explain("cannot make", path, std::move(made)));
    // An explicit mode is not masked, as with mkdir(1).
    if (!options.mode.empty() && !existed) {
      AGENTFS_TRY(context.Explain("cannot chmod", path, files.SetMode(path, mode)));
    }
    if (context.json) {
      AGENTFS_ASSIGN(FileEntry entry, files.Entry(path, FollowLinks::kYes));
      json.push_back(EntryJson(files, entry));
    }
  }
  if (context.json) AGENTFS_TRY(context.PrintJson(json));
  return kDone;
}

// One file or, with -r, tree. rm(1) refuses directories, even empty ones, without -r.
Result<void> RemoveOne(const FsOptions& options, const Files& files, const std::string& path) {
  AGENTFS_ASSIGN(FileEntry entry, files.Entry(path));
  if (S_ISDIR(entry.attr.mode) && !options.recursive) {
    return Error(EISDIR, Error(EISDIR).message(), "-r removes directories with all they hold");
  }
  return files.Delete(path, options.recursive ? Recursion::kYes : Recursion::kNo);
}

Result<int> Rm(Context& context, const FsOptions& options, const Files& files) {
  Json removed = Json::array();
  for (const std::string& path : options.paths) {
    auto done = RemoveOne(options, files, path);
    if (done.code() == ENOENT && options.force) continue;
    AGENTFS_TRY(context.Explain("cannot remove", path, std::move(done)));
    removed.push_back(path);
  }
  if (context.json) AGENTFS_TRY(context.PrintJson({{"removed", removed}}));
  return kDone;
}

Result<int> Mv(Context& context, const FsOptions& options, const Files& files) {
  AGENTFS_TRY(RequireDirectoryForMany(context, files, options));
  Json moved = Json::array();
  for (size_t i = 0; i + 1 < options.paths.size(); ++i) {
    const std::string& from = options.paths[i];
    AGENTFS_ASSIGN(std::string to, Destination(files, from, options.paths.back()));
    auto done = files.Move(from, to, options.no_clobber ? Overwrite::kNo : Overwrite::kYes);
    AGENTFS_TRY(context.Explain("cannot move", from, std::move(done)));
    moved.push_back({{"from", from}, {"to", to}});
  }
  if (context.json) AGENTFS_TRY(context.PrintJson({{"moved", moved}}));
  return kDone;
}

// Copies a tree, into a directory that is there already as cp -r does: file by file.
Result<void> CopyOnto(const Files& files, const std::string& from, const std::string& to,
                      Overwrite overwrite) {
  auto source = files.Entry(from);
  auto target = files.Entry(to);
  const bool merge =
      source.ok() && target.ok() && S_ISDIR(source->attr.mode) && S_ISDIR(target->attr.mode);
  if (!merge) return files.Copy(from, to, Recursion::kYes, overwrite);
  AGENTFS_ASSIGN(auto names, files.ListNames(from));
  for (const std::string& name : names) {
    AGENTFS_TRY(CopyOnto(files, from + "/" + name, to + "/" + name, overwrite));
  }
  return Ok();
}

// The path of what `path` names when links are followed.
Result<std::string> FollowedPath(const Files& files, std::string path) {
  for (int links = 0; links < 40; ++links) {
    AGENTFS_ASSIGN(FileEntry entry, files.Entry(path));
    if (!S_ISLNK(entry.attr.mode)) return path;
    AGENTFS_ASSIGN(std::string target, files.ReadSymlink(path));
    AGENTFS_ASSIGN(path, NormalizePath(target.starts_with("/") ? target : path + "/../" + target));
  }
  return Error(ELOOP);
}

Result<void> CopyOne(const FsOptions& options, const Files& files, const std::string& from,
                     const std::string& to) {
  const auto overwrite = options.no_clobber ? Overwrite::kNo : Overwrite::kYes;
  if (!options.recursive) {
    // cp(1) without -r copies what a link names.
    AGENTFS_ASSIGN(std::string source, FollowedPath(files, from));
    return Suggest(files.Copy(source, to, Recursion::kNo, overwrite), EISDIR,
                   "-r copies directories with all they hold");
  }
  AGENTFS_ASSIGN(std::string source, NormalizePath(from));
  AGENTFS_ASSIGN(std::string target, NormalizePath(to));
  if (target == source || target.starts_with(source == "/" ? "/" : source + "/")) {
    return Error(EINVAL, "a directory cannot be copied into itself");
  }
  return CopyOnto(files, source, target, overwrite);
}

Result<int> Cp(Context& context, const FsOptions& options, const Files& files) {
  AGENTFS_TRY(RequireDirectoryForMany(context, files, options));
  Json copied = Json::array();
  for (size_t i = 0; i + 1 < options.paths.size(); ++i) {
    const std::string& from = options.paths[i];
    AGENTFS_ASSIGN(std::string to, Destination(files, from, options.paths.back()));
    AGENTFS_TRY(context.Explain("cannot copy", from, CopyOne(options, files, from, to)));
    copied.push_back({{"from", from}, {"to", to}});
  }
  if (context.json) AGENTFS_TRY(context.PrintJson({{"copied", copied}}));
  return kDone;
}

Result<void> LinkOne(const FsOptions& options, const Files& files, const std::string& target,
                     const std::string& path) {
  if (options.force && files.Entry(path).ok()) AGENTFS_TRY(files.Delete(path));
  if (options.symbolic) return files.CreateSymlink(path, target);
  return files.CreateHardLink(target, path);
}

Result<int> Ln(Context& context, const FsOptions& options, const Files& files) {
  AGENTFS_TRY(RequireDirectoryForMany(context, files, options));
  Json made = Json::array();
  for (size_t i = 0; i + 1 < options.paths.size(); ++i) {
    const std::string& target = options.paths[i];
    AGENTFS_ASSIGN(std::string path, Destination(files, target, options.paths.back()));
    AGENTFS_TRY(context.Explain("cannot link", path, LinkOne(options, files, target, path)));
    if (context.json) {
      AGENTFS_ASSIGN(FileEntry entry, files.Entry(path));
      made.push_back(EntryJson(files, entry));
    }
  }
  if (context.json) AGENTFS_TRY(context.PrintJson(made));
  return kDone;
}

Result<void> ChmodTree(const FsOptions& options, const Files& files, const FileEntry& entry) {
  if (S_ISLNK(entry.attr.mode)) return Ok();  // a link's own mode means nothing
  AGENTFS_ASSIGN(uint32_t mode,
                 ChangeMode(options.paths.front(), entry.attr.mode, files.caller().umask));
  // Listing comes first: the new mode may forbid it.
  std::vector<FileEntry> children;
  if (options.recursive && S_ISDIR(entry.attr.mode)) {
    AGENTFS_ASSIGN(children, files.ListEntries(entry.path));
  }
  for (const FileEntry& child : children) AGENTFS_TRY(ChmodTree(options, files, child));
  return files.SetMode(entry.path, mode);
}

Result<int> Chmod(Context& context, const FsOptions& options, const Files& files) {
  AGENTFS_TRY(ChangeMode(options.paths.front(), 0, 0));
  Json changed = Json::array();
  for (size_t i = 1; i < options.paths.size(); ++i) {
    const std::string& path = options.paths[i];
    AGENTFS_ASSIGN(FileEntry entry,
                   context.Explain("cannot chmod", path, files.Entry(path, FollowLinks::kYes)));
    AGENTFS_TRY(context.Explain("cannot chmod", path, ChmodTree(options, files, entry)));
    if (context.json) {
      AGENTFS_ASSIGN(FileEntry after, files.Entry(path, FollowLinks::kYes));
      changed.push_back(EntryJson(files, after));
    }
  }
  if (context.json) AGENTFS_TRY(context.PrintJson(changed));
  return kDone;
}

using Work = Result<int> (*)(Context&, const FsOptions&, const Files&);

Result<int> Change(Context& context, const FsOptions& options, Work work) {
  return WithFiles(context, options.view, Access::kWrite,
                   [&](const Files& files) { return work(context, options, files); });
}

}  // namespace

Result<int> FsMkdir(Context& context, const FsOptions& options) {
  return Change(context, options, Mkdir);
}
Result<int> FsRm(Context& context, const FsOptions& options) {
  return Change(context, options, Rm);
}
Result<int> FsMv(Context& context, const FsOptions& options) {
  return Change(context, options, Mv);
}
Result<int> FsCp(Context& context, const FsOptions& options) {
  return Change(context, options, Cp);
}
Result<int> FsLn(Context& context, const FsOptions& options) {
  return Change(context, options, Ln);
}
Result<int> FsChmod(Context& context, const FsOptions& options) {
  return Change(context, options, Chmod);
}

}  // namespace agentfs::cli
