// SPDX-License-Identifier: Apache-2.0
#include "adapters/control/json.h"

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "base/time_text.h"

namespace agentfs::control {
namespace {

using Json = nlohmann::ordered_json;
using SnapshotNames = std::map<LayerId, std::string>;

SnapshotNames NamesByLayer(Volume& volume) {
  SnapshotNames names;
  for (const SnapshotInfo& snapshot : volume.ListSnapshots()) names[snapshot.layer] = snapshot.name;
  return names;
}

Json BranchJson(const BranchInfo& branch, const SnapshotNames& snapshots) {
  Json on;
  if (!branch.parent) {
    on = "base";
  } else if (auto it = snapshots.find(branch.parent); it != snapshots.end()) {
    on = it->second;
  }
  return {{"name", branch.name},
          {"on", on},
          {"layer", branch.layer.value},
          {"parent", branch.parent.value},
          {"created", FormatTime(branch.created)},
          {"in_use", branch.in_use}};
}

Json UsersJson(const std::vector<MountUser>& list) {
  Json users = Json::array();
  for (const MountUser& user : list) {
    users.push_back({{"pid", user.pid}, {"name", user.name}});
  }
  return users;
}

}  // namespace

std::string Dump(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json ErrorJson(const Error& error) {
  const char* name = ::strerrorname_np(error.code());
  Json json = {{"code", name ? name : std::to_string(error.code())}, {"message", error.message()}};
  if (!error.remedy().empty()) json["remedy"] = error.remedy();
  return json;
}

Json SnapshotJson(const SnapshotInfo& snapshot) {
  return {{"id", "s" + std::to_string(snapshot.number)},
          {"name", snapshot.name},
          {"branch", snapshot.branch},
          {"message", snapshot.message},
          {"layer", snapshot.layer.value},
          {"created", FormatTime(snapshot.created)}};
}

Json BranchJson(Volume& volume, const BranchInfo& branch) {
  return BranchJson(branch, NamesByLayer(volume));
}

Json BranchesJson(Volume& volume) {
  const SnapshotNames snapshots = NamesByLayer(volume);
  Json json = Json::array();
  for (const BranchInfo& branch : volume.ListBranches()) {
    json.push_back(BranchJson(branch, snapshots));
  }
  return json;
}

Json EventJson(const Event& event) {
  Json json = {{"event", NameOf(event.kind)}};
  if (!event.branch.empty()) json["branch"] = event.branch;
  if (!event.path.empty()) json["path"] = event.path;
  if (!event.new_path.empty()) json["new_path"] = event.new_path;
  if (!event.name.empty()) json["name"] = event.name;
  if (event.kind == EventKind::kLost) json["count"] = event.count;
  return json;
}

Json BindJson(const BindState& bound) {
  Json json = {
      {"branch", bound.branch}, {"path", bound.path}, {"processes", UsersJson(bound.processes)}};
  if (!bound.directory.empty()) json["stale_directory"] = bound.directory;
  return json;
}

Json MountJson(const MountState& mount) {
  Json json = {{"mount_point", mount.point}};
  if (!mount.snapshot.empty()) {
    json["snapshot"] = mount.snapshot;
  } else if (!mount.branch.empty()) {
    json["branch"] = mount.branch;
  } else {
    json["session"] = true;
  }
  json["profile"] = mount.profile;
  json["read_only"] = mount.read_only;
  json["allow_other"] = mount.allow_other;
  json["capabilities"] = mount.capabilities;
  return json;
}

namespace {

Json RunsJson(Operations& operations) {
  Json runs = Json::array();
  if (operations.mounts() == nullptr) return runs;
  for (const RunRequest& run : operations.mounts()->Runs()) {
    runs.push_back({{"branch", run.branch}, {"pid", run.pid}, {"command", run.command}});
  }
  return runs;
}

}  // namespace

Result<Json> StatisticsJson(Operations& operations) {
  AGENTFS_ASSIGN(VolumeStats stats, operations.volume().GetStats());
  Json json = {{"nodes", stats.nodes},
               {"layers", stats.layers},
               {"branches", stats.branches},
               {"snapshots", stats.snapshots},
               {"stored_bytes", stats.stored_bytes},
               {"shared_bytes", stats.shared_bytes},
               {"cached_nodes", stats.cached_nodes},
               {"memory_bytes", stats.memory_bytes},
               {"spilled_bytes", stats.spilled_bytes},
               {"pending_bytes", stats.pending_bytes}};
  Json mounts = Json::array();
  if (operations.mounts() != nullptr) {
    for (const MountState& mount : operations.mounts()->List()) {
      Json counts = Json::object();
      for (const auto& [name, count] : mount.operations) counts[name] = count;
      mounts.push_back({{"mount_point", mount.point}, {"operations", std::move(counts)}});
    }
  }
  json["mounts"] = std::move(mounts);
  return json;
}

Result<Json> StatusJson(Operations& operations) {
  Volume& volume = operations.volume();
  Json branches = BranchesJson(volume);
  for (Json& branch : branches) {
    auto stats = volume.GetViewStats(branch["name"].get<std::string>());
    if (!stats.ok()) continue;  // deleted meanwhile
    branch["changes"] = {
        {"files", stats->files}, {"directories", stats->directories}, {"bytes", stats->total_size}};
  }
  Json json = {{"branches", std::move(branches)}};
  AGENTFS_ASSIGN(VolumeStats stats, volume.GetStats());
  json["snapshots"] = stats.snapshots;
  Json mounts = Json::array();
  if (operations.mounts() != nullptr) {
    for (const MountState& mount : operations.mounts()->List()) {
      Json each = MountJson(mount);
      each["users"] = UsersJson(operations.mounts()->Users(mount.point));
      mounts.push_back(std::move(each));
    }
  }
  json["mounts"] = std::move(mounts);
  Json processes = Json::array();
  if (operations.mounts() != nullptr) {
    for (const BoundProcess& bound : operations.mounts()->ListBound()) {
      processes.push_back({{"pid", bound.pid},
                           {"name", bound.name},
                           {"branch", bound.branch},
                           {"path", bound.path}});
    }
  }
  json["processes"] = std::move(processes);
  json["runs"] = RunsJson(operations);
  json["sizes"] = {{"stored_bytes", stats.stored_bytes},
                   {"nodes", stats.nodes},
                   {"layers", stats.layers},
                   {"memory_bytes", stats.memory_bytes},
                   {"pending_bytes", stats.pending_bytes}};
  return json;
}

}  // namespace agentfs::control
