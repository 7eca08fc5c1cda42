// SPDX-License-Identifier: Apache-2.0
#include "cli/fs_commands.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "cli/file_mode.h"

namespace agentfs::cli {

Result<int> WithFiles(Context& context, const ViewChoice& view, Access access,
                      const std::function<Result<int>(const Files&)>& work) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, access));
  int status = kDone;
  {
    AGENTFS_ASSIGN(Files files, OpenFiles(*session, view));
    AGENTFS_ASSIGN(status, work(files));
  }
  AGENTFS_TRY(session->Close());
  return status;
}

nlohmann::ordered_json EntryJson(const Files& files, const FileEntry& entry) {
  const Attr& attr = entry.attr;
  char mode[8];
  std::snprintf(mode, sizeof(mode), "%04o", attr.mode & 07777);
  nlohmann::ordered_json out = {{"name", entry.name},
                                {"path", entry.path},
                                {"type", TypeName(attr.mode)},
                                {"size", attr.size},
                                {"mode", mode},
                                {"uid", attr.uid},
                                {"gid", attr.gid},
                                {"nlink", attr.nlink},
                                {"inode", attr.node.value},
                                {"blocks", attr.blocks},
                                {"mtime", FormatTime(attr.mtime)},
                                {"atime", FormatTime(attr.atime)},
                                {"ctime", FormatTime(attr.ctime)},
                                {"btime", FormatTime(attr.btime)}};
  if (S_ISLNK(attr.mode)) {
    auto target = files.ReadSymlink(entry.path);
    if (target.ok()) out["target"] = *target;
  }
  return out;
}

}  // namespace agentfs::cli
