// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agentfs/stores.h"
#include "cli/commands.h"
#include "cli/console_stream.h"
#include "cli/context.h"
#include "cli/session.h"
#include "workspace/pack.h"

namespace agentfs::cli {
namespace {

namespace fs = std::filesystem;

// The database while it is made, beside the workspace's own, where there is room for it. What was
// left by a process that was killed goes first.
class Draft {
 public:
  explicit Draft(const std::string& database)
      : prefix_(database + ".pack-"), file_(prefix_ + std::to_string(::getpid())) {
    Remove();
  }
  ~Draft() { Remove(); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  const std::string& file() const { return file_; }

 private:
  void Remove() const {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(fs::path(prefix_).parent_path(), ignored)) {
      if (entry.path().native().starts_with(prefix_)) fs::remove(entry.path(), ignored);
    }
  }
  const std::string prefix_;
  const std::string file_;
};

Result<void> PackInto(Session& session, const std::string& file) {
  StoreOptions store_options;
  store_options.create = true;
  store_options.large_rows = true;
  AGENTFS_ASSIGN(auto store, OpenSqliteStore(file, VolumeSchema(), store_options));
  VolumeOptions options;
  options.single_file = true;
  options.fill_base = true;
  AGENTFS_ASSIGN(const auto packed, Volume::Open(std::move(store), nullptr, nullptr, options));
  for (const BranchInfo& branch : session.volume().ListBranches()) {
    AGENTFS_TRY(session.operations().FlushPages(branch.name));
  }
  AGENTFS_TRY(PackVolume(session.volume(), *packed));
  return packed->Close();
}

Result<void> Deliver(Context& context, const std::string& file) {
  CommandFileBuffer buffer(*context.console);
  std::ostream out(&buffer);
  std::ifstream in(file, std::ios::binary);
  out << in.rdbuf() << std::flush;
  AGENTFS_TRY(buffer.state());
  if (!in || !out) return Error(EIO, "the packed database cannot be copied");
  return Ok();
}

}  // namespace

Result<int> RunPack(Context& context) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  const Layout& layout = session->workspace().layout;
  const Draft draft(layout.database);
  AGENTFS_TRY(context.Explain("cannot pack", layout.root, PackInto(*session, draft.file())));
  AGENTFS_TRY(session->Close());
  AGENTFS_TRY(context.Explain("cannot pack", layout.root, Deliver(context, draft.file())));
  return kDone;
}

}  // namespace agentfs::cli
