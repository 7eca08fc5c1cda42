// SPDX-License-Identifier: Apache-2.0
#include "sys/base_with_host.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

namespace agentfs {
namespace {

constexpr std::string_view kReserved = ".agentfs";
constexpr std::string_view kHost = ".agentfs/host";
constexpr uint64_t kIdentityMask = (uint64_t{1} << 62) - 1;
constexpr uint64_t kHostSalt = 0x6a09e667f3bcc909, kReservedSalt = 0xbb67ae8584caa73b;

// A file that both bases show must not be one node, and files of the two must never meet.
uint64_t Salted(uint64_t identity, uint64_t salt) {
  uint64_t x = identity ^ salt;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  x = (x ^ (x >> 31)) & kIdentityMask;
  return x == 0 ? 1 : x;
}

Result<BaseStat> OfHost(Result<BaseStat> stat) {
  if (stat.ok()) stat->identity = Salted(stat->identity, kHostSalt);
  return stat;
}

class OutsideFile final : public BaseFile {
 public:
  explicit OutsideFile(std::unique_ptr<BaseFile> file) : file_(std::move(file)) {}
  Result<size_t> Read(uint64_t offset, std::span<char> out) override {
    return file_->Read(offset, out);
  }
  Result<BaseStat> Stat() override { return OfHost(file_->Stat()); }
  void WillRead(uint64_t bytes) override { file_->WillRead(bytes); }
  Result<uint64_t> Seek(uint64_t offset, SeekTarget target) override {
    return file_->Seek(offset, target);
  }
  int descriptor() const override { return file_->descriptor(); }

 private:
  const std::unique_ptr<BaseFile> file_;
};

// Tells of changes on the host under the names that they have here.
class Prefixed final : public BaseObserver {
 public:
  explicit Prefixed(BaseObserver& observer) : observer_(observer) {}
  void BaseChanged(const std::string& directory, std::string_view name) override {
    std::string path(kHost);
    if (!directory.empty()) path += "/" + directory;
    observer_.BaseChanged(path, name);
  }
  void BaseLost() override { observer_.BaseLost(); }

 private:
  BaseObserver& observer_;
};

// Where a path leads.
struct Way {
  enum class To : uint8_t { kInner, kReserved, kHost, kCovered, kNowhere };
  To to = To::kInner;
  std::string_view path;  // in that base
};

class BaseWithHost final : public BaseFs {
 public:
  BaseWithHost(std::unique_ptr<BaseFs> inner, std::unique_ptr<BaseFs> host,
               std::vector<std::string> covered)
      : inner_(std::move(inner)), host_(std::move(host)), covered_(std::move(covered)) {}

  Result<BaseStat> Stat(std::string_view path) override;
  Result<std::unique_ptr<BaseFile>> Open(std::string_view path) override;
  Result<std::vector<BaseEntry>> List(std::string_view path) override;
  Result<std::vector<Result<BaseStat>>> StatNames(std::string_view directory,
                                                  std::span<const std::string_view> names) override;
  Result<std::string> ReadLink(std::string_view path) override {
    AGENTFS_ASSIGN(const Way way, FileWay(path));
    return Of(way).ReadLink(way.path);
  }
  Result<std::vector<std::string>> ListXattrs(std::string_view path) override {
    const Way way = Find(path);
    if (!IsPlain(way)) return std::vector<std::string>();
    return Of(way).ListXattrs(way.path);
  }
  Result<std::string> GetXattr(std::string_view path, std::string_view name) override {
    const Way way = Find(path);
    if (!IsPlain(way)) return Error(ENODATA);
    return Of(way).GetXattr(way.path, name);
  }
  Result<FsStats> StatFs() override { return inner_->StatFs(); }
  bool IsAtHand(std::string_view path) override {
    const Way way = Find(path);
    return !IsPlain(way) || Of(way).IsAtHand(way.path);
  }
  Result<void> Observe(BaseObserver* observer) override;
  Result<void> Watch(const std::string& directory) override;
  // Either may lose its watches; then both are asked anew.
  uint64_t watch_generation() const override {
    return inner_->watch_generation() + host_->watch_generation();
  }
  bool HasToldAll() const override { return inner_->HasToldAll() && host_->HasToldAll(); }

 private:
  Way Find(std::string_view path) const;
  // Of what can be a file or a link.
  Result<Way> FileWay(std::string_view path) const {
    const Way way = Find(path);
    if (way.to == Way::To::kNowhere) return Error(ENOENT);
    if (!IsPlain(way)) return Error(EINVAL);
    return way;
  }
  // Whether something covered is below a directory of the host.
  bool HoldsCovered(std::string_view directory) const {
    return std::any_of(covered_.begin(), covered_.end(), [&](const std::string& covered) {
      return directory.empty() || covered.starts_with(directory);
    });
  }
  static bool IsPlain(const Way& way) {
    return way.to == Way::To::kInner || way.to == Way::To::kHost;
  }
  BaseFs& Of(const Way& way) const { return way.to == Way::To::kInner ? *inner_ : *host_; }

  const std::unique_ptr<BaseFs> inner_, host_;
  const std::vector<std::string> covered_;  // relative to the host's root
  std::optional<Prefixed> prefixed_;
};

Way BaseWithHost::Find(std::string_view path) const {
  if (!path.starts_with(kReserved)) return {Way::To::kInner, path};
  if (path.size() == kReserved.size()) return {Way::To::kReserved, {}};
  if (path[kReserved.size()] != '/') return {Way::To::kInner, path};
  if (!path.starts_with(kHost)) return {Way::To::kNowhere, {}};
  path.remove_prefix(kHost.size());
  if (!path.empty() && path.front() != '/') return {Way::To::kNowhere, {}};
  if (!path.empty()) path.remove_prefix(1);
  for (const std::string& covered : covered_) {
    if (path == covered) return {Way::To::kCovered, path};
    if (covered.empty()) return {Way::To::kNowhere, {}};
    if (path.starts_with(covered) && path[covered.size()] == '/') return {Way::To::kNowhere, {}};
  }
  return {Way::To::kHost, path};
}

Result<BaseStat> BaseWithHost::Stat(std::string_view path) {
  const Way way = Find(path);
  switch (way.to) {
    case Way::To::kInner:
      return inner_->Stat(way.path);
    case Way::To::kReserved: {
      AGENTFS_ASSIGN(BaseStat stat, host_->Stat(""));
      stat.identity = Salted(stat.identity, kReservedSalt);
      return stat;
    }
    case Way::To::kHost:
    case Way::To::kCovered:
      return OfHost(host_->Stat(way.path));
    case Way::To::kNowhere:
      break;
  }
  return Error(ENOENT);
}

Result<std::unique_ptr<BaseFile>> BaseWithHost::Open(std::string_view path) {
  AGENTFS_ASSIGN(const Way way, FileWay(path));
  AGENTFS_ASSIGN(auto file, Of(way).Open(way.path));
  if (way.to == Way::To::kInner) return file;
  return std::unique_ptr<BaseFile>(new OutsideFile(std::move(file)));
}

Result<std::vector<BaseEntry>> BaseWithHost::List(std::string_view path) {
  const Way way = Find(path);
  if (way.to == Way::To::kNowhere) return Error(ENOENT);
  if (way.to == Way::To::kCovered) return std::vector<BaseEntry>();
  if (way.to == Way::To::kReserved) return std::vector<BaseEntry>{{"host", S_IFDIR}};
  return Of(way).List(way.path);
}

Result<std::vector<Result<BaseStat>>> BaseWithHost::StatNames(
    std::string_view directory, std::span<const std::string_view> names) {
  const Way way = Find(directory);
  if (way.to == Way::To::kInner && !directory.empty()) return inner_->StatNames(directory, names);
  if (way.to == Way::To::kHost && !HoldsCovered(way.path)) {
    AGENTFS_ASSIGN(auto stats, host_->StatNames(way.path, names));
    for (Result<BaseStat>& stat : stats) stat = OfHost(std::move(stat));
    return stats;
  }
  std::vector<Result<BaseStat>> stats;
  for (std::string_view name : names) {
    std::string path(directory);
    if (!path.empty()) path += '/';
    stats.push_back(Stat(path.append(name)));
  }
  return stats;
}

Result<void> BaseWithHost::Observe(BaseObserver* observer) {
  if (observer == nullptr) {
    AGENTFS_TRY(host_->Observe(nullptr));
    return inner_->Observe(nullptr);
  }
  prefixed_.emplace(*observer);
  AGENTFS_TRY(host_->Observe(&*prefixed_));
  return inner_->Observe(observer);
}

Result<void> BaseWithHost::Watch(const std::string& directory) {
  const Way way = Find(directory);
  if (!IsPlain(way)) return Ok();  // what is synthetic does not change
  return Of(way).Watch(std::string(way.path));
}

}  // namespace

Result<std::unique_ptr<BaseFs>> OpenBaseWithHost(std::unique_ptr<BaseFs> inner,
                                                 std::vector<std::string> covered) {
  AGENTFS_ASSIGN(auto host, OpenHostBase("/"));
  for (std::string& path : covered) path.erase(0, path.find_first_not_of('/'));
  return std::unique_ptr<BaseFs>(
      new BaseWithHost(std::move(inner), std::move(host), std::move(covered)));
}

}  // namespace agentfs
