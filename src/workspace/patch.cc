// SPDX-License-Identifier: Apache-2.0
#include "workspace/patch.h"

#include <fmt/core.h>
#include <sha1.h>
#include <strings.h>
#include <sys/stat.h>

#include <algorithm>

#include "workspace/binary_patch.h"
#include "workspace/file_content.h"
#include "workspace/git_quote.h"

namespace agentfs {
namespace {

// Larger files are compared as binary ones, as git does with its own limit.
constexpr uint64_t kMaxText = uint64_t{64} << 20;
constexpr std::string_view kNoName = "/dev/null";
constexpr size_t kShortId = 7;

bool IsFileOrLink(const Found& found) {
  return S_ISREG(found.attr.mode) || S_ISLNK(found.attr.mode);
}

bool IsInRepository(std::string_view path) {
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('/'));
    if (name.size() == 4 && ::strncasecmp(name.data(), ".git", 4) == 0) return true;
    path.remove_prefix(name.size());
  }
  return false;
}

uint32_t GitMode(const Found& found) {
  if (S_ISLNK(found.attr.mode)) return 0120000;
  return (found.attr.mode & S_IXUSR) != 0 ? 0100755 : 0100644;
}

// A name on a line of its own ends, if it has spaces, with a tab.
std::string NameLine(std::string_view prefix, const std::string& path) {
  std::string name = GitQuote(std::string(prefix) + path);
  if (name[0] != '"' && name.find(' ') != name.npos) name.push_back('\t');
  return name;
}

Result<void> ReadContent(FileSystem& fs, const Found& found,
                         const std::function<Result<void>(std::string_view)>& take) {
  if (!found.node) return Ok();
  if (!S_ISLNK(found.attr.mode)) return ReadPieces(fs, *found.node, found.attr.size, take);
  AGENTFS_ASSIGN(const std::string target, fs.ReadLink(Caller{}, *found.node));
  return take(target);
}

Result<std::string> WholeContent(FileSystem& fs, const Found& found) {
  std::string whole;
  AGENTFS_TRY(ReadContent(fs, found, [&](std::string_view piece) {
    whole += piece;
    return Ok();
  }));
  return whole;
}

void AddTo(SHA1_CTX* hash, std::string_view bytes) {
  SHA1Update(hash, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

// What git calls the content; piece by piece, where libgit2 hashes what is whole in memory.
Result<std::string> BlobId(FileSystem& fs, const Found& found) {
  if (!found.node) return std::string(SHA1_DIGEST_LENGTH * 2, '0');
  SHA1_CTX hash;
  SHA1Init(&hash);
  AddTo(&hash, fmt::format("blob {}", found.attr.size) + '\0');
  AGENTFS_TRY(ReadContent(fs, found, [&](std::string_view piece) {
    AddTo(&hash, piece);
    return Ok();
  }));
  char hex[SHA1_DIGEST_STRING_LENGTH];
  return std::string(SHA1End(&hash, hex));
}

Result<bool> IsBinary(FileSystem& fs, const Found& found) {
  if (!found.node || S_ISLNK(found.attr.mode)) return false;
  if (found.attr.size > kMaxText) return true;
  std::string beginning(std::min<uint64_t>(found.attr.size, 8000), '\0');
  AGENTFS_ASSIGN(const size_t got, fs.Read(*found.node, 0, beginning));
  return LooksBinary(std::string_view(beginning).substr(0, got));
}

Result<bool> EitherIsBinary(FileSystem& before, FileSystem& after, const PathChange& change) {
  AGENTFS_ASSIGN(const bool was, IsBinary(before, change.before));
  if (was) return true;
  return IsBinary(after, change.after);
}

// In percent, by the sizes alone: git only shows it.
int Similarity(uint64_t before, uint64_t after) {
  const uint64_t larger = std::max(before, after);
  return larger == 0 ? 100 : static_cast<int>(std::min(before, after) * 99 / larger);
}

}  // namespace

bool PatchCanSay(const PathChange& change) {
  if (IsInRepository(change.path) || IsInRepository(change.old_path)) return false;
  const bool old_known = change.before.node && IsFileOrLink(change.before);
  const bool new_known = change.after.node && IsFileOrLink(change.after);
  if (change.kind != PathChange::Kind::kModified) return old_known || new_known;
  if (change.type_changed()) return old_known || new_known;
  return old_known && (change.content || GitMode(change.before) != GitMode(change.after));
}

Result<void> PatchWriter::Write(const PathChange& change) {
  if (!PatchCanSay(change)) return Ok();
  static const Found kNothing;
  const std::string path = change.path.substr(1);
  const std::string old_path = change.old_path.empty() ? path : change.old_path.substr(1);
  const bool has_old = change.before.node && IsFileOrLink(change.before);
  const bool has_new = change.after.node && IsFileOrLink(change.after);
  const Side before{before_, has_old ? change.before : kNothing, old_path};
  const Side after{after_, has_new ? change.after : kNothing, path};
  auto write = [&]() -> Result<void> {
    if (!change.type_changed()) {
      const bool renamed = change.kind == PathChange::Kind::kRenamed;
      const bool differs = change.content || !has_old || !has_new;
      return WriteDelta(before, after, Renamed{renamed}, Differs{differs});
    }
    // git says it with two deltas.
    const Side gone{after_, kNothing, path}, new_here{before_, kNothing, path};
    if (has_old) AGENTFS_TRY(WriteDelta(before, gone, Renamed::kNo, Differs::kYes));
    return has_new ? WriteDelta(new_here, after, Renamed::kNo, Differs::kYes) : Ok();
  };
  auto written = write();
  return written.ok() ? Ok() : Result<void>(written.error().WithContext(change.path));
}

Result<void> PatchWriter::WriteDelta(const Side& before, const Side& after, Renamed renamed,
                                     Differs differs) {
  AGENTFS_TRY(Header(fmt::format("diff --git {} {}\n", GitQuote("a/" + before.path),
                                 GitQuote("b/" + after.path))));
  AGENTFS_TRY(WriteModes(before, after));
  if (renamed == Renamed::kYes) {
    const int similarity =
        differs == Differs::kYes ? Similarity(before.found.attr.size, after.found.attr.size) : 100;
    AGENTFS_TRY(Header(fmt::format("similarity index {}%\nrename from {}\nrename to {}\n",
                                   similarity, GitQuote(before.path), GitQuote(after.path))));
  }
  return differs == Differs::kYes ? WriteContent(before, after) : Ok();
}

Result<void> PatchWriter::WriteModes(const Side& before, const Side& after) {
  std::string text;
  if (!before.found.node) {
    text = fmt::format("new file mode {:06o}\n", GitMode(after.found));
  } else if (!after.found.node) {
    text = fmt::format("deleted file mode {:06o}\n", GitMode(before.found));
  } else if (GitMode(before.found) != GitMode(after.found)) {
    text = fmt::format("old mode {:06o}\nnew mode {:06o}\n", GitMode(before.found),
                       GitMode(after.found));
  }
  return text.empty() ? Ok() : Header(text);
}

Result<void> PatchWriter::WriteContent(const Side& before, const Side& after) {
  AGENTFS_ASSIGN(const std::string old_id, BlobId(before.fs, before.found));
  AGENTFS_ASSIGN(const std::string new_id, BlobId(after.fs, after.found));
  AGENTFS_ASSIGN(const bool was_binary, IsBinary(before.fs, before.found));
  AGENTFS_ASSIGN(const bool is_binary, IsBinary(after.fs, after.found));
  const bool binary = was_binary || is_binary;
  const size_t length = binary ? old_id.size() : kShortId;
  std::string index =
      fmt::format("index {}..{}", old_id.substr(0, length), new_id.substr(0, length));
  const bool both = before.found.node && after.found.node;
  if (both && GitMode(before.found) == GitMode(after.found)) {
    index += fmt::format(" {:06o}", GitMode(after.found));
  }
  AGENTFS_TRY(Header(index + "\n"));
  if (binary) return WriteBinary(before, after);
  if (before.found.attr.size == 0 && after.found.attr.size == 0) return Ok();
  return WriteText(before, after);
}

Result<void> PatchWriter::WriteBinary(const Side& before, const Side& after) {
  AGENTFS_TRY(sink_(PatchLine::kBinary, "GIT binary patch\n"));
  // First the way there, then the way back, as git does.
  for (const Side* side : {&after, &before}) {
    const uint64_t size = side->found.node ? side->found.attr.size : 0;
    AGENTFS_TRY(WriteBinaryLiteral(
        size, [&](const auto& take) { return ReadContent(side->fs, side->found, take); }, sink_));
  }
  return Ok();
}

Result<void> PatchWriter::WriteText(const Side& before, const Side& after) {
  AGENTFS_ASSIGN(const std::string old_text, WholeContent(before.fs, before.found));
  AGENTFS_ASSIGN(const std::string new_text, WholeContent(after.fs, after.found));
  AGENTFS_TRY(Header(fmt::format(
      "--- {}\n", before.found.node ? NameLine("a/", before.path) : std::string(kNoName))));
  AGENTFS_TRY(Header(fmt::format(
      "+++ {}\n", after.found.node ? NameLine("b/", after.path) : std::string(kNoName))));
  return DiffLines(old_text, new_text, sink_);
}

Result<LineCounts> CountLines(FileSystem& before, FileSystem& after, const PathChange& change) {
  LineCounts counts;
  const bool same = change.before.node && change.after.node && !change.content;
  if (same || !IsFileOrLink(change.after.node ? change.after : change.before)) return counts;
  AGENTFS_ASSIGN(counts.binary, EitherIsBinary(before, after, change));
  if (counts.binary) return counts;
  const bool had = change.before.node && IsFileOrLink(change.before);
  const bool has = change.after.node && IsFileOrLink(change.after);
  AGENTFS_ASSIGN(const std::string old_text,
                 had ? WholeContent(before, change.before) : std::string());
  AGENTFS_ASSIGN(const std::string new_text,
                 has ? WholeContent(after, change.after) : std::string());
  AGENTFS_TRY(DiffLines(old_text, new_text, [&](PatchLine kind, std::string_view text) {
    // A note that the last line ends without a newline is no line.
    if (text.starts_with("\n\\")) return Ok();
    if (kind == PatchLine::kAdded) ++counts.added;
    if (kind == PatchLine::kRemoved) ++counts.removed;
    return Ok();
  }));
  return counts;
}

}  // namespace agentfs
