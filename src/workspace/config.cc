// SPDX-License-Identifier: Apache-2.0
#include "workspace/config.h"

#include <fmt/core.h>

#include <toml++/toml.h>
#include <array>
#include <limits>
#include <optional>
#include <sstream>

#include "sys/small_file.h"

namespace agentfs {
namespace {

using ModeName = std::pair<std::string_view, CopyUpPolicy::Mode>;
constexpr std::array<ModeName, 3> kModes = {{{"clone", CopyUpPolicy::Mode::kClone},
                                             {"clone-umask", CopyUpPolicy::Mode::kCloneUmask},
                                             {"fixed", CopyUpPolicy::Mode::kFixed}}};
using AclName = std::pair<std::string_view, CopyUpPolicy::Acl>;
constexpr std::array<AclName, 3> kAcls = {{{"clone", CopyUpPolicy::Acl::kClone},
                                           {"drop", CopyUpPolicy::Acl::kDrop},
                                           {"map-basic", CopyUpPolicy::Acl::kMapBasic}}};

using LevelName = std::pair<std::string_view, AuditLevel>;
constexpr std::array<LevelName, 3> kLevels = {
    {{"off", AuditLevel::kOff}, {"changes", AuditLevel::kChanges}, {"all", AuditLevel::kAll}}};

template <typename Names, typename Value>
std::string_view NameOf(const Names& names, Value value) {
  for (const auto& [name, each] : names) {
    if (each == value) return name;
  }
  return "";
}

// Takes known keys out of a table and remembers the first complaint.
class Reader {
 public:
  Reader(toml::table& root, std::string file) : root_(root), file_(std::move(file)) {}

  template <typename Int>
  void Number(std::string_view table, std::string_view key, Int& out) {
    auto node = Take(table, key);
    if (!node) return;
    auto value = node->as_integer();
    constexpr auto kMax = std::min<uint64_t>(std::numeric_limits<Int>::max(), INT64_MAX);
    if (!value || value->get() < 0 || static_cast<uint64_t>(value->get()) > kMax) {
      return Complain(*node, table, key, "must be a whole number, not negative");
    }
    out = static_cast<Int>(value->get());
  }

  void Flag(std::string_view table, std::string_view key, bool& out) {
    auto node = Take(table, key);
    if (!node) return;
    auto value = node->as_boolean();
    if (!value) return Complain(*node, table, key, "must be true or false");
    out = value->get();
  }

  void Text(std::string_view table, std::string_view key, std::string& out) {
    auto node = Take(table, key);
    if (!node) return;
    auto value = node->as_string();
    if (!value) return Complain(*node, table, key, "must be a string");
    out = value->get();
  }

  // Absolute paths, or below "~".
  void Paths(std::string_view table, std::string_view key, std::vector<std::string>& out) {
    auto node = Take(table, key);
    if (!node) return;
    const toml::array* values = node->as_array();
    if (!values) return Complain(*node, table, key, "must be a list of paths");
    out.clear();
    for (const toml::node& value : *values) {
      const std::string path = value.value_or(std::string());
      if (!path.starts_with("/") && path != "~" && !path.starts_with("~/")) {
        return Complain(*node, table, key, "must be a list of paths that start with / or ~");
      }
      out.push_back(path);
    }
  }

  template <typename Names, typename Value>
  void Choice(std::string_view table, std::string_view key, const Names& names, Value& out) {
    auto node = Take(table, key);
    if (!node) return;
    std::string all;
    for (const auto& [name, value] : names) {
      if (node->value<std::string_view>() == name) {
        out = value;
        return;
      }
      all += all.empty() ? "" : ", ";
      all += name;
    }
    Complain(*node, table, key, "must be one of " + all);
  }

  // After all known keys were taken: the error, if there is one.
  Result<void> Finish() {
    for (const auto& [key, node] : root_) {
      const toml::table* table = node.as_table();
      if (!table) {
        Complain(node, "", key.str(), "is not a setting");
      } else if (!table->empty()) {
        Complain(table->begin()->second, key.str(), table->begin()->first.str(),
                 "is not a setting");
      }
    }
    if (error_) return *error_;
    return Ok();
  }

 private:
  std::unique_ptr<toml::node> Take(std::string_view table, std::string_view key) {
    toml::table* in = root_[table].as_table();
    toml::node* node = in ? in->get(key) : nullptr;
    if (!node) return nullptr;
    auto taken = node->visit([](auto& value) -> std::unique_ptr<toml::node> {
      return std::make_unique<std::decay_t<decltype(value)>>(std::move(value));
    });
    in->erase(key);
    return taken;
  }

  void Complain(const toml::node& node, std::string_view table, std::string_view key,
                const std::string& why) {
    if (error_) return;
    error_ = Error(EINVAL, fmt::format("{}:{}: {}{}{} {}", file_, node.source().begin.line, table,
                                       table.empty() ? "" : ".", key, why));
  }

  toml::table& root_;
  const std::string file_;
  std::optional<Error> error_;
};

Result<Config> ReadTable(toml::table& table, const std::string& file_name) {
  Config config;
  VolumeOptions& volume = config.volume;
  Reader read(table, file_name);
  read.Text("workspace", "base", config.base);
  read.Flag("workspace", "single_file", volume.single_file);
  read.Number("workspace", "lock_timeout_ms", config.lock_timeout_ms);
  read.Number("server", "idle_ms", config.server_idle_ms);
  read.Number("server", "linger_ms", config.server_linger_ms);
  read.Flag("server", "io_uring", config.server_io_uring);
  read.Number("snapshots", "keep_last", config.checkpoints.keep_last);
  read.Number("snapshots", "keep_hourly", config.checkpoints.keep_hourly);
  read.Number("snapshots", "keep_daily", config.checkpoints.keep_daily);
  read.Paths("sandbox", "cow", config.sandbox.cow);
  read.Paths("sandbox", "allow", config.sandbox.allow);
  read.Paths("sandbox", "hide", config.sandbox.hide);
  read.Flag("sandbox", "network", config.sandbox.network);
  read.Number("limits", "max_total_bytes", volume.limits.max_total_bytes);
  read.Number("limits", "max_file_bytes", volume.limits.max_file_bytes);
  read.Number("limits", "max_nodes", volume.limits.max_nodes);
  read.Number("limits", "max_branches", volume.limits.max_branches);
  read.Number("limits", "max_snapshots", volume.limits.max_snapshots);
  read.Choice("copyup", "mode", kModes, volume.copy_up.mode);
  read.Choice("copyup", "acl", kAcls, volume.copy_up.acl);
  read.Number("copyup", "umask", volume.copy_up.umask);
  read.Number("copyup", "fixed_file_mode", volume.copy_up.fixed_file_mode);
  read.Number("copyup", "fixed_directory_mode", volume.copy_up.fixed_directory_mode);
  read.Choice("audit", "level", kLevels, volume.audit.level);
  read.Number("audit", "max_rows", volume.audit.max_rows);
  read.Number("cache", "content_bytes", volume.content_cache_bytes);
  read.Number("cache", "nodes", volume.cached_nodes);
  read.Number("commit", "max_pending_bytes", volume.max_pending_bytes);
  read.Number("commit", "interval_ms", volume.commit_interval_ms);
  AGENTFS_TRY(read.Finish());
  return config;
}

std::string Quoted(const std::string& text) {
  std::ostringstream out;
  out << toml::value<std::string>(text);
  return out.str();
}

std::string Quoted(const std::vector<std::string>& paths) {
  std::string out = "[";
  for (const std::string& path : paths) out += "\n  " + Quoted(path) + ",";
  return out + (paths.empty() ? "]" : "\n]");
}

}  // namespace

Result<Config> ParseConfig(std::string_view text, const std::string& file_name) {
  try {
    toml::table table = toml::parse(text);
    return ReadTable(table, file_name);
  } catch (const toml::parse_error& error) {
    return Error(EINVAL, fmt::format("{}:{}: {}", file_name, error.source().begin.line,
                                     error.description()));
  }
}

Result<Config> LoadConfig(const std::string& file) {
  AGENTFS_ASSIGN(const std::string text, ReadSmallFile(file));
  return ParseConfig(text, file);
}

std::string RenderConfig(const Config& config) {
  const VolumeOptions& volume = config.volume;
  std::string out = "# The settings of this AgentFS workspace.\n\n[workspace]\n";
  if (!config.base.empty()) out += fmt::format("base = {}\n", Quoted(config.base));
  out += fmt::format("single_file = {}  # everything in state.db, nothing in objects/\n",
                     volume.single_file);
  out += fmt::format("lock_timeout_ms = {}\n", config.lock_timeout_ms);
  out += fmt::format("\n[server]\nidle_ms = {}  # it leaves after that long without a mount\n",
                     config.server_idle_ms);
  out += fmt::format("linger_ms = {}  # and after that long without a run, once it had one\n",
                     config.server_linger_ms);
  out += fmt::format("io_uring = {}  # root turns the kernel's enable_uring on while it mounts\n",
                     config.server_io_uring);
  out += fmt::format(
      "\n[snapshots]  # those taken before each run and exec, of each branch; others stay\n"
      "keep_last = {}\nkeep_hourly = {}  # the last of each of so many hours\nkeep_daily = {}\n",
      config.checkpoints.keep_last, config.checkpoints.keep_hourly, config.checkpoints.keep_daily);
  out += fmt::format(
      "\n[sandbox]  # of agentfs run; what is not there is left out\n"
      "# Copy-on-write in the branch, besides the workspace. With a slash at its end: a directory\n"
      "# that the branch gets an empty one of, if there is none and its parent has few entries.\n"
      "cow = {}\n"
      "# The real ones, writable.\nallow = {}\nhide = {}\nnetwork = {}\n",
      Quoted(config.sandbox.cow), Quoted(config.sandbox.allow), Quoted(config.sandbox.hide),
      config.sandbox.network);
  out += fmt::format(
      "\n[limits]  # 0: unlimited\nmax_total_bytes = {}\nmax_file_bytes = {}\nmax_nodes = {}\n"
      "max_branches = {}\nmax_snapshots = {}\n",
      volume.limits.max_total_bytes, volume.limits.max_file_bytes, volume.limits.max_nodes,
      volume.limits.max_branches, volume.limits.max_snapshots);
  out += fmt::format(
      "\n[copyup]\n"
      "mode = \"{}\"  # clone, clone-umask, fixed\n"
      "umask = 0o{:03o}  # with clone-umask\n"
      "fixed_file_mode = 0o{:o}  # with fixed\n"
      "fixed_directory_mode = 0o{:o}\n"
      "acl = \"{}\"  # clone, drop, map-basic\n",
      NameOf(kModes, volume.copy_up.mode), volume.copy_up.umask, volume.copy_up.fixed_file_mode,
      volume.copy_up.fixed_directory_mode, NameOf(kAcls, volume.copy_up.acl));
  out += fmt::format(
      "\n[audit]\n"
      "level = \"{}\"  # of what is recorded: off, changes, all (every open too)\n"
      "max_rows = {}  # then the oldest go; 0: unlimited\n",
      NameOf(kLevels, volume.audit.level), volume.audit.max_rows);
  out += fmt::format("\n[cache]\ncontent_bytes = {}\nnodes = {}\n", volume.content_cache_bytes,
                     volume.cached_nodes);
  out += fmt::format("\n[commit]\nmax_pending_bytes = {}\ninterval_ms = {}\n",
                     volume.max_pending_bytes, volume.commit_interval_ms);
  return out;
}

}  // namespace agentfs
