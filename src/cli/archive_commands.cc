// SPDX-License-Identifier: Apache-2.0
//
// export and import: a branch as a tar archive, and back.
#include <algorithm>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/console_stream.h"
#include "cli/context.h"
#include "cli/session.h"

namespace agentfs::cli {
namespace {

// A stream only says that it failed; its buffer knows why.
Result<void> Because(const CommandFileBuffer& file, Result<void> result) {
  return result.ok() || file.state().ok() ? result : file.state();
}

// The snapshot that stands for a branch while it is read: in a server, others change the branch.
class Standstill {
 public:
  static Result<Standstill> Of(Session& session, const std::string& ref) {
    const auto branches = session.volume().ListBranches();
    const bool changes =
        session.context().live != nullptr &&
        std::ranges::any_of(branches, [&](const auto& b) { return b.name == ref; });
    if (!changes) return Standstill(nullptr, ref);
    AGENTFS_ASSIGN(const SnapshotInfo taken,
                   session.operations().CreateSnapshot(ref, "", "while it is exported"));
    return Standstill(&session, taken.name);
  }
  Standstill(Standstill&& other) noexcept
      : session_(std::exchange(other.session_, nullptr)), ref_(std::move(other.ref_)) {}
  ~Standstill() {
    if (session_ != nullptr) (void)session_->operations().DeleteSnapshot(ref_).ok();
  }

  const std::string& ref() const { return ref_; }

 private:
  Standstill(Session* session, std::string ref) : session_(session), ref_(std::move(ref)) {}
  Session* session_;  // null: nothing to delete
  std::string ref_;
};

// No more than fits, whatever the archive says of itself.
ArchiveLimits LimitsFor(const Workspace& workspace) {
  ArchiveLimits limits;
  const Limits& own = workspace.config.volume.limits;
  if (own.max_nodes != 0) limits.max_entries = std::min(limits.max_entries, own.max_nodes);
  return limits;
}

// What is wrong is the archive, not how the command was called.
Error Refused(const Error& error) {
  return Error(EBADMSG, error.message(),
               "nothing was changed; --keep-links takes links that lead outside");
}

Result<void> Load(Context& context, const ImportOptions& options, const Files& files,
                  ArchiveLimits limits) {
  limits.outside_links = options.keep_links ? OutsideLinks::kKeep : OutsideLinks::kRefuse;
  CommandFileBuffer file(*context.console);
  std::istream in(&file);
  auto loaded = Because(file, LoadTree(files, options.to, in, limits));
  if (loaded.code() == EINVAL) loaded = Refused(loaded.error());
  return context.Explain("cannot import", options.file, std::move(loaded));
}

}  // namespace

Result<int> RunExport(Context& context, const ExportOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  const std::string ref = options.ref.empty() ? std::string(kMainBranch) : options.ref;
  {
    AGENTFS_ASSIGN(const Standstill still,
                   context.Explain("cannot export", ref, Standstill::Of(*session, ref)));
    AGENTFS_ASSIGN(const Files files, OpenFiles(*session, ViewChoice{still.ref(), {}}));
    CommandFileBuffer file(*context.console);
    std::ostream out(&file);
    auto saved = Because(file, SaveTree(files, "/", out));
    AGENTFS_TRY(context.Explain("cannot export", ref, std::move(saved)));
  }
  AGENTFS_TRY(session->Close());
  return kDone;
}

Result<int> ReportFile(const Context& context, uint64_t size) {
  if (context.file == "-") return kDone;
  if (context.json) {
    AGENTFS_TRY(context.PrintJson({{"file", context.file}, {"bytes", size}}));
  } else {
    context.Notice("wrote " + context.file + ", " + FormatBytes(size));
  }
  return kDone;
}

Result<int> RunImport(Context& context, const ImportOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kWrite));
  const std::string branch = options.branch.empty() ? std::string(kMainBranch) : options.branch;
  SnapshotInfo before;
  {
    AGENTFS_ASSIGN(const Files files, OpenFiles(*session, ViewChoice{branch, {}}));
    AGENTFS_ASSIGN(before, session->operations().CreateSnapshot(branch, "", "before import"));
    auto loaded = Load(context, options, files, LimitsFor(session->workspace()));
    if (!loaded.ok()) {
      (void)session->operations().DeleteSnapshot(before.name).ok();
      return loaded.error();
    }
  }
  AGENTFS_TRY(session->Close());
  if (context.json) {
    AGENTFS_TRY(context.PrintJson(
        {{"branch", branch}, {"path", options.to}, {"snapshot_before", before.name}}));
  } else {
    context.Notice("imported into " + branch + "; 'agentfs restore " + before.name +
                   (branch == kMainBranch ? "" : " --branch " + branch) + "' takes it back");
  }
  return kDone;
}

}  // namespace agentfs::cli
