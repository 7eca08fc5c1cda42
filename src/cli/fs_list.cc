// SPDX-License-Identifier: Apache-2.0
//
// fs ls, stat, tree, find, du.
#include <fmt/core.h>
#include <fnmatch.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "agentfs/directory_trail.h"
#include "cli/file_mode.h"
#include "cli/fs_commands.h"

namespace agentfs::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kNameBuffer = 16 << 10;

std::string UserName(uint32_t uid) {
  std::array<char, kNameBuffer> buffer;
  struct passwd entry;
  struct passwd* user = nullptr;
  ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &user);
  return user ? user->pw_name : std::to_string(uid);
}

std::string GroupName(uint32_t gid) {
  std::array<char, kNameBuffer> buffer;
  struct group entry;
  struct group* group = nullptr;
  ::getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &group);
  return group ? group->gr_name : std::to_string(gid);
}

std::string SizeText(uint64_t bytes, bool human) {
  return human ? FormatBytes(bytes) : std::to_string(bytes);
}

// Lines of ls -l, columns aligned as far as this listing needs.
std::string LongListing(const Files& files, const std::vector<FileEntry>& entries,
                        const FsOptions& options) {
  struct Line {
    std::string links, user, group, size;
  };
  std::vector<Line> lines;
  size_t links = 0, user = 0, group = 0, size = 0;
  for (const FileEntry& entry : entries) {
    const Attr& attr = entry.attr;
    const bool device = S_ISCHR(attr.mode) || S_ISBLK(attr.mode);
    lines.push_back({std::to_string(attr.nlink), UserName(attr.uid), GroupName(attr.gid),
                     device ? fmt::format("{}, {}", major(attr.rdev), minor(attr.rdev))
                            : SizeText(attr.size, options.human)});
    links = std::max(links, lines.back().links.size());
    user = std::max(user, lines.back().user.size());
    group = std::max(group, lines.back().group.size());
    size = std::max(size, lines.back().size.size());
  }
  std::string out;
  for (size_t i = 0; i < entries.size(); ++i) {
    const FileEntry& entry = entries[i];
    out += fmt::format("{} {:>{}} {:<{}} {:<{}} {:>{}} {} {}", ModeString(entry.attr.mode),
                       lines[i].links, links, lines[i].user, user, lines[i].group, group,
                       lines[i].size, size, FormatLocalTime(entry.attr.mtime), entry.name);
    if (S_ISLNK(entry.attr.mode)) {
      auto target = files.ReadSymlink(entry.path);
      if (target.ok()) out += " -> " + *target;
    }
    out += '\n';
  }
  return out;
}

// What `ls PATH` lists: the entries of a directory, or the file itself under the name given.
Result<std::vector<FileEntry>> Listed(Context& context, const Files& files, const std::string& path,
                                      const FsOptions& options) {
  AGENTFS_ASSIGN(FileEntry entry, context.Explain("cannot list", path, files.Entry(path)));
  if (S_ISLNK(entry.attr.mode) && !options.long_format) {
    auto followed = files.Entry(path, FollowLinks::kYes);
    if (followed.ok() && S_ISDIR(followed->attr.mode)) entry.attr = followed->attr;
  }
  if (S_ISDIR(entry.attr.mode) && !options.directory) {
    return context.Explain("cannot list", path, files.ListEntries(path));
  }
  entry.name = path;
  return std::vector<FileEntry>{std::move(entry)};
}

Result<int> Ls(Context& context, const FsOptions& options, const Files& files) {
  Json json = Json::array();
  std::string text;
  for (const std::string& path : options.paths) {
    AGENTFS_ASSIGN(auto entries, Listed(context, files, path, options));
    if (context.json) {
      for (const FileEntry& entry : entries) json.push_back(EntryJson(files, entry));
      continue;
    }
    if (options.paths.size() > 1) text += (text.empty() ? "" : "\n") + path + ":\n";
    if (options.long_format) {
      text += LongListing(files, entries, options);
    } else {
      for (const FileEntry& entry : entries) text += entry.name + "\n";
    }
  }
  AGENTFS_TRY(context.json ? context.PrintJson(json) : context.Print(text));
  return kDone;
}

std::string StatText(const Files& files, const FileEntry& entry) {
  const Attr& attr = entry.attr;
  std::string out = fmt::format("path:   {}\n", entry.path);
  out += fmt::format("type:   {}\n", TypeName(attr.mode));
  if (S_ISLNK(attr.mode)) {
    auto target = files.ReadSymlink(entry.path);
    if (target.ok()) out += fmt::format("target: {}\n", *target);
  }
  out += fmt::format("size:   {}\nblocks: {}\nmode:   {:04o} ({})\n", attr.size, attr.blocks,
                     attr.mode & 07777, ModeString(attr.mode));
  out += fmt::format("owner:  {} ({}), {} ({})\n", attr.uid, UserName(attr.uid), attr.gid,
                     GroupName(attr.gid));
  out += fmt::format("inode:  {}\nlinks:  {}\n", attr.node.value, attr.nlink);
  out += fmt::format("access: {}\nmodify: {}\nchange: {}\nbirth:  {}\n", FormatTime(attr.atime),
                     FormatTime(attr.mtime), FormatTime(attr.ctime), FormatTime(attr.btime));
  return out;
}

Result<int> Stat(Context& context, const FsOptions& options, const Files& files) {
  Json json = Json::array();
  std::string text;
  for (const std::string& path : options.paths) {
    AGENTFS_ASSIGN(FileEntry entry, context.Explain("cannot stat", path, files.Entry(path)));
    if (context.json) {
      json.push_back(EntryJson(files, entry));
    } else {
      text += (text.empty() ? "" : "\n") + StatText(files, entry);
    }
  }
  // One path: one object. Several: an array of them.
  if (json.size() == 1) json = Json(json[0]);
  AGENTFS_TRY(context.json ? context.PrintJson(json) : context.Print(text));
  return kDone;
}

// Gives `work` the entries of a directory that is on the way of a walk.
Result<void> InDirectory(const Files& files, DirectoryTrail& trail, const FileEntry& directory,
                         const std::function<Result<void>(const std::vector<FileEntry>&)>& work) {
  AGENTFS_TRY(trail.Enter(directory.attr.node, directory.path));
  auto entries = files.ListEntries(directory.path);
  Result<void> done = entries.ok() ? work(*entries) : entries.error().WithContext(directory.path);
  trail.Leave(directory.attr.node);
  return done;
}

// Draws a tree and counts what is in it.
class TreePrinter {
 public:
  TreePrinter(const Files& files, int max_depth) : files_(files), max_depth_(max_depth) {}

  Result<void> Draw(const FileEntry& directory, const std::string& indent, int depth) {
    if (max_depth_ >= 0 && depth >= max_depth_) return Ok();
    return InDirectory(files_, trail_, directory, [&](const auto& entries) -> Result<void> {
      for (const FileEntry& entry : entries) {
        const bool last = &entry == &entries.back();
        DrawName(entry, indent + (last ? "└── " : "├── "));
        if (!S_ISDIR(entry.attr.mode)) continue;
        AGENTFS_TRY(Draw(entry, indent + (last ? "    " : "│   "), depth + 1));
      }
      return Ok();
    });
  }

  Result<Json> Nested(const FileEntry& entry, int depth) {
    Json json = EntryJson(files_, entry);
    if (!S_ISDIR(entry.attr.mode) || (max_depth_ >= 0 && depth >= max_depth_)) return json;
    Json children = Json::array();
    AGENTFS_TRY(InDirectory(files_, trail_, entry, [&](const auto& entries) -> Result<void> {
      for (const FileEntry& child : entries) {
        AGENTFS_ASSIGN(Json nested, Nested(child, depth + 1));
        children.push_back(std::move(nested));
      }
      return Ok();
    }));
    json["children"] = std::move(children);
    return json;
  }

  std::string Take(const std::string& path) {
    return fmt::format("{}\n{}\n{} directories, {} files\n", path, text_, directories_, others_);
  }

 private:
  void DrawName(const FileEntry& entry, const std::string& indent) {
    text_ += indent + entry.name;
    if (S_ISLNK(entry.attr.mode)) {
      auto target = files_.ReadSymlink(entry.path);
      if (target.ok()) text_ += " -> " + *target;
    }
    text_ += '\n';
    ++(S_ISDIR(entry.attr.mode) ? directories_ : others_);
  }

  const Files& files_;
  const int max_depth_;
  DirectoryTrail trail_;
  std::string text_;
  uint64_t directories_ = 0, others_ = 0;
};

Result<int> Tree(Context& context, const FsOptions& options, const Files& files) {
  Json json = Json::array();
  for (const std::string& path : options.paths) {
    AGENTFS_ASSIGN(FileEntry entry,
                   context.Explain("cannot list", path, files.Entry(path, FollowLinks::kYes)));
    TreePrinter printer(files, options.max_depth);
    if (context.json) {
      AGENTFS_ASSIGN(Json nested, context.Explain("cannot list", path, printer.Nested(entry, 0)));
      json.push_back(std::move(nested));
    } else {
      if (S_ISDIR(entry.attr.mode)) {
        AGENTFS_TRY(context.Explain("cannot list", path, printer.Draw(entry, "", 0)));
      }
      AGENTFS_TRY(context.Print(printer.Take(path)));
    }
  }
  if (json.size() == 1) json = Json(json[0]);
  if (context.json) AGENTFS_TRY(context.PrintJson(json));
  return kDone;
}

bool HasType(uint32_t mode, const std::string& type) {
  return type.empty() || (type == "f" ? S_ISREG(mode) : ModeString(mode)[0] == type[0]);
}

// Walks without entering directories at the depth limit.
Result<void> WalkTo(const Files& files, DirectoryTrail& trail, const FileEntry& entry, int levels,
                    const std::function<void(const FileEntry&)>& visit) {
  visit(entry);
  if (levels == 0 || !S_ISDIR(entry.attr.mode)) return Ok();
  return InDirectory(files, trail, entry, [&](const auto& entries) -> Result<void> {
    for (const FileEntry& child : entries) {
      AGENTFS_TRY(WalkTo(files, trail, child, levels - 1, visit));
    }
    return Ok();
  });
}

Result<int> Find(Context& context, const FsOptions& options, const Files& files) {
  Json json = Json::array();
  Result<void> printed;
  for (const std::string& path : options.paths) {
    AGENTFS_ASSIGN(FileEntry top,
                   context.Explain("cannot search", path, files.Entry(path, FollowLinks::kYes)));
    DirectoryTrail trail;
    auto walked = WalkTo(files, trail, top, options.max_depth, [&](const FileEntry& entry) {
      if (!HasType(entry.attr.mode, options.type)) return;
      if (!options.name.empty() && ::fnmatch(options.name.c_str(), entry.name.c_str(), 0) != 0) {
        return;
      }
      if (context.json) {
        json.push_back(EntryJson(files, entry));
      } else if (printed.ok()) {
        printed = context.Print(entry.path + "\n");
      }
    });
    AGENTFS_TRY(context.Explain("cannot search", path, std::move(walked)));
    AGENTFS_TRY(printed);
  }
  if (context.json) AGENTFS_TRY(context.PrintJson(json));
  return kDone;
}

struct Usage {
  uint64_t bytes = 0, files = 0, directories = 0;
};

// Adds up sizes, each hard-linked file once.
class UsageCounter {
 public:
  UsageCounter(const Files& files, const FsOptions& options) : files_(files), options_(options) {}

  Result<Usage> Count(const FileEntry& entry, int depth) {
    Usage usage;
    if (S_ISDIR(entry.attr.mode)) {
      usage.directories = 1;
      AGENTFS_TRY(InDirectory(files_, trail_, entry, [&](const auto& entries) -> Result<void> {
        for (const FileEntry& child : entries) {
          AGENTFS_ASSIGN(Usage inner, Count(child, depth + 1));
          usage.bytes += inner.bytes;
          usage.files += inner.files;
          usage.directories += inner.directories;
        }
        return Ok();
      }));
    } else {
      const bool first = entry.attr.nlink < 2 || seen_.insert(entry.attr.node.value).second;
      if (first) usage = {S_ISREG(entry.attr.mode) ? entry.attr.size : 0, 1, 0};
    }
    const bool inner_directory = S_ISDIR(entry.attr.mode) && !options_.summarize;
    if (depth == 0 || inner_directory || options_.all) Add(entry.path, usage);
    return usage;
  }

  const std::string& text() const { return text_; }
  const Json& json() const { return json_; }

 private:
  void Add(const std::string& path, const Usage& usage) {
    text_ += SizeText(usage.bytes, options_.human) + "\t" + path + "\n";
    json_.push_back({{"path", path},
                     {"bytes", usage.bytes},
                     {"files", usage.files},
                     {"directories", usage.directories}});
  }

  const Files& files_;
  const FsOptions& options_;
  std::set<uint64_t> seen_;
  DirectoryTrail trail_;
  std::string text_;
  Json json_ = Json::array();
};

Result<int> Du(Context& context, const FsOptions& options, const Files& files) {
  UsageCounter counter(files, options);
  for (const std::string& path : options.paths) {
    AGENTFS_ASSIGN(FileEntry entry, context.Explain("cannot measure", path, files.Entry(path)));
    AGENTFS_TRY(context.Explain("cannot measure", path, counter.Count(entry, 0)));
  }
  AGENTFS_TRY(context.json ? context.PrintJson(counter.json()) : context.Print(counter.text()));
  return kDone;
}

using Work = Result<int> (*)(Context&, const FsOptions&, const Files&);

Result<int> Read(Context& context, const FsOptions& options, Work work) {
  return WithFiles(context, options.view, Access::kRead,
                   [&](const Files& files) { return work(context, options, files); });
}

}  // namespace

Result<int> FsLs(Context& context, const FsOptions& options) { return Read(context, options, Ls); }
Result<int> FsStat(Context& context, const FsOptions& options) {
  return Read(context, options, Stat);
}
Result<int> FsTree(Context& context, const FsOptions& options) {
  return Read(context, options, Tree);
}
Result<int> FsFind(Context& context, const FsOptions& options) {
  return Read(context, options, Find);
}
Result<int> FsDu(Context& context, const FsOptions& options) { return Read(context, options, Du); }

}  // namespace agentfs::cli
