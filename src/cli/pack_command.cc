// SPDX-License-Identifier: Apache-2.0
#include "agentfs/stores.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/draft_file.h"
#include "cli/session.h"
#include "workspace/pack.h"

namespace agentfs::cli {
namespace {

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

}  // namespace

Result<int> RunPack(Context& context) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  const Layout& layout = session->workspace().layout;
  const DraftFile draft(layout.database, "pack");
  AGENTFS_TRY(context.Explain("cannot pack", layout.root, PackInto(*session, draft.file())));
  AGENTFS_TRY(session->Close());
  AGENTFS_TRY(context.Explain("cannot pack", layout.root, draft.Deliver(*context.console)));
  return kDone;
}

}  // namespace agentfs::cli
