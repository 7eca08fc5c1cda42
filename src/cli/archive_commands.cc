// SPDX-License-Identifier: Apache-2.0
//
// export and import: a branch as a tar archive or a file of the specification, and back.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/console_stream.h"
#include "cli/context.h"
#include "cli/draft_file.h"
#include "cli/open_workspace.h"
#include "cli/session.h"
#include "cli/spec/spec_file.h"
#include "workspace/standstill.h"

namespace agentfs::cli {
namespace {

// A stream only says that it failed; its buffer knows why.
Result<void> Because(const CommandFileBuffer& file, Result<void> result) {
  return result.ok() || file.state().ok() ? result : file.state();
}

// In a server others change the branch meanwhile.
Result<std::optional<Standstill>> StandStill(Session& session, const std::string& ref) {
  if (session.context().live == nullptr) return std::optional<Standstill>();
  AGENTFS_TRY(session.operations().FlushPages(ref));
  AGENTFS_ASSIGN(Standstill still, Standstill::Of(session.volume(), ref, "while it is exported"));
  return std::optional<Standstill>(std::move(still));
}

// No more than fits, whatever the archive says of itself.
ArchiveLimits LimitsFor(const Workspace& workspace) {
  ArchiveLimits limits;
  const Limits& own = workspace.config.volume.limits;
  if (own.max_nodes != 0) limits.max_entries = std::min(limits.max_entries, own.max_nodes);
  return limits;
}

// What is wrong is the archive, not how the command was called.
Error Refused(const Error& error) {
  const bool link = error.message().find("leads outside") != std::string::npos;
  return Error(EBADMSG, error.message(),
               link ? "nothing was changed; --keep-links takes links that lead outside"
                    : "nothing was changed");
}

// The beginning of the stream, which can still be read whole afterwards.
std::string Peek(std::istream& in, size_t size) {
  std::string bytes(size, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<size_t>(in.gcount()));
  in.clear();
  for (size_t i = 0; i < bytes.size(); ++i) in.unget();
  return bytes;
}

Result<void> LoadDatabase(Session& session, const ImportOptions& options, const Files& files,
                          std::istream& in, const DraftFile& draft, const ArchiveLimits& limits,
                          SpecKind* kind) {
  {
    std::ofstream copy(draft.file(), std::ios::binary);
    copy << in.rdbuf() << std::flush;
    if (!copy) return Error(errno != 0 ? errno : EIO).WithContext("cannot copy it");
  }
  return LoadSpec(files, session.volume(), options.to, draft.file(), limits, kind);
}

Result<void> Load(Context& context, const ImportOptions& options, Session& session,
                  const Files& files, SpecKind* kind) {
  ArchiveLimits limits = LimitsFor(session.workspace());
  limits.outside_links = options.keep_links ? OutsideLinks::kKeep : OutsideLinks::kRefuse;
  CommandFileBuffer file(*context.console);
  std::istream in(&file);
  Result<void> loaded;
  if (IsDatabase(Peek(in, kMagicBytes))) {
    const DraftFile draft(session.workspace().layout.database, "import");
    loaded = LoadDatabase(session, options, files, in, draft, limits, kind);
  } else {
    loaded = LoadTree(files, options.to, in, limits);
  }
  loaded = Because(file, std::move(loaded));
  if (loaded.code() == EINVAL) loaded = Refused(loaded.error());
  return context.Explain("cannot import", options.file, std::move(loaded));
}

// Nothing of an import that failed stays: neither its snapshot nor, of a delta, what it had done.
Result<void> TakeBack(Session& session, const std::string& branch, const SnapshotInfo& before,
                      SpecKind kind) {
  if (kind == SpecKind::kDelta) {
    AGENTFS_ASSIGN(const SnapshotInfo half, session.operations().Restore(branch, before.name));
    AGENTFS_TRY(session.operations().DeleteSnapshot(half.name));
  }
  return session.operations().DeleteSnapshot(before.name);
}

Result<void> SaveDatabase(Context& context, Session& session, const Files& files) {
  const DraftFile draft(session.workspace().layout.database, "export");
  AGENTFS_ASSIGN(const SpecSaved saved, SaveSpec(files, session.volume(), draft.file()));
  if (saved.xattrs_left_out > 0) {
    context.Notice("the specification has no extended attributes: " +
                   std::to_string(saved.xattrs_left_out) + " left out");
  }
  return draft.Deliver(*context.console);
}

Result<void> Save(Context& context, const ExportOptions& options, Session& session,
                  const Files& files) {
  if (options.format == "agentfs-spec") return SaveDatabase(context, session, files);
  CommandFileBuffer file(*context.console);
  std::ostream out(&file);
  return Because(file, SaveTree(files, "/", out));
}

Result<void> WriteMark(const std::string& mark, const std::string& text) {
  std::ofstream out(mark);
  out << text << std::flush;
  if (out) return Ok();
  return Error(EIO, "cannot write " + mark, "see whether the disk is full");
}

}  // namespace

Result<int> RunExport(Context& context, const ExportOptions& options) {
  AGENTFS_ASSIGN(auto session, Session::Open(context, Access::kRead));
  const std::string ref = options.ref.empty() ? std::string(kMainBranch) : options.ref;
  {
    AGENTFS_ASSIGN(const auto still,
                   context.Explain("cannot export", ref, StandStill(*session, ref)));
    const std::string& read = still ? still->ref() : ref;
    AGENTFS_ASSIGN(const Files files, OpenFiles(*session, ViewChoice{read, {}}));
    AGENTFS_TRY(context.Explain("cannot export", ref, Save(context, options, *session, files)));
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
    const std::string mark = ImportMark(session->workspace().layout);
    AGENTFS_TRY(WriteMark(mark, branch + "\n" + before.name + "\n"));
    SpecKind kind = SpecKind::kTree;
    auto loaded = Load(context, options, *session, files, &kind);
    if (!loaded.ok()) {
      AGENTFS_TRY(TakeBack(*session, branch, before, kind));
    }
    ::unlink(mark.c_str());
    if (!loaded.ok()) return loaded.error();
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
