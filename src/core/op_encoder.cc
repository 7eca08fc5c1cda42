// SPDX-License-Identifier: Apache-2.0
#include "core/op_encoder.h"

#include <algorithm>
#include <cstring>

#include "core/records.h"
#include "store/codec.h"
#include "store/schema.h"

namespace agentfs {
namespace {

constexpr size_t kMaxPlaces = 400'000;
constexpr size_t kMaxPaths = 200'000;
constexpr size_t kMaxDirectories = 50'000;
constexpr size_t kMaxProcesses = 4096;
constexpr size_t kMaxOpen = 4096;
constexpr size_t kMaxOpenFiles = 65'536;  // with more at once some rows stay without their bytes
constexpr int kMaxDepth = 4096;           // names that lead in a circle end somewhere

std::string PathKey(uint64_t directory, std::string_view name) {
  std::string key(sizeof directory + name.size(), '\0');
  std::memcpy(key.data(), &directory, sizeof directory);
  if (!name.empty()) std::memcpy(key.data() + sizeof directory, name.data(), name.size());
  return key;
}

}  // namespace

Result<void> OpEncoder::Load() {
  const auto end = [&](TableId table, Order order, uint64_t& out, uint64_t more) {
    return store_.Scan(ScanRange{.table = table, .order = order}, [&](const RowView& row) {
      out = std::max(out, KeyReader(row.key).Int() + more);
      return Visit::kStop;
    });
  };
  AGENTFS_TRY(end(tables::kOps, Order::kDescending, next_op_, 1));
  first_op_ = 0;
  AGENTFS_TRY(end(tables::kOps, Order::kAscending, first_op_, 0));
  if (first_op_ == 0) first_op_ = next_op_;
  AGENTFS_TRY(end(tables::kOpPaths, Order::kDescending, next_path_, 1));
  AGENTFS_TRY(end(tables::kOpDirectories, Order::kDescending, next_directory_, 1));
  return end(tables::kOpProcesses, Order::kDescending, next_process_, 1);
}

// ---- names

OpEncoder::Place* OpEncoder::FindPlace(NodeKey key) {
  auto it = places_.find(key);
  if (it != places_.end()) return &it->second;
  it = older_places_.find(key);
  return it == older_places_.end() ? nullptr : &it->second;
}

void OpEncoder::Name(uint32_t view, NodeId node, NodeId parent, std::string_view name) {
  Place& place = places_[{view, node.value}];
  place.parent = parent.value;
  place.name = name;
  place.epoch = 0;
}

// What an event has said in the meantime is newer than what was looked up.
void OpEncoder::LearnName(const OpEvent& event) {
  if (places_.contains({event.view, event.node.value})) return;
  Name(event.view, event.node, event.parent, event.name);
}

void OpEncoder::FollowNames(const OpEvent& event) {
  if (event.error != 0 || !event.parent) return;
  switch (event.kind) {
    case OpKind::kCreate:
    case OpKind::kMkdir:
    case OpKind::kSymlink:
    case OpKind::kMknod:
      return Name(event.view, event.node, event.parent, event.name);
    case OpKind::kRename:
      if (event.directory) ++epoch_;
      if (event.replaced) places_.erase({event.view, event.replaced.value});
      return Name(event.view, event.node, event.parent2, event.name2);
    case OpKind::kUnlink:
      if (!event.keeps_name) places_.erase({event.view, event.node.value});
      return;
    default:
      return;
  }
}

std::string OpEncoder::PathOfDirectory(uint32_t view, uint64_t node) {
  std::vector<const Place*> trail;
  for (int depth = 0; node != kRootNode.value && depth < kMaxDepth; ++depth) {
    const Place* place = FindPlace({view, node});
    if (place == nullptr) break;
    trail.push_back(place);
    node = place->parent;
  }
  std::string path;
  for (auto it = trail.rbegin(); it != trail.rend(); ++it) path += (*it)->name + "/";
  return path;
}

uint64_t OpEncoder::DirectoryOf(uint32_t view, uint64_t node) {
  DirectoryId& known = directories_[{view, node}];
  if (known.epoch == epoch_) return known.id;
  OpDirectoryRow row{recorder_.BranchOf(view), PathOfDirectory(view, node)};
  uint64_t& id = directory_ids_[row.branch + '\0' + row.path];
  if (id == 0) {
    id = next_directory_++;
    new_directories_.emplace_back(id, std::move(row));
  }
  known = {id, epoch_};
  return id;
}

OpEncoder::Path* OpEncoder::PathAt(uint32_t view, uint64_t parent, std::string_view name) {
  const uint64_t directory = DirectoryOf(view, parent);
  std::unique_ptr<Path>& path = paths_[PathKey(directory, name)];
  if (path == nullptr) {
    path = std::make_unique<Path>();
    path->id = next_path_++;
    path->row.directory = directory;
    path->row.name = name;
    path_by_id_[path->id] = path.get();
  }
  return path.get();
}

OpEncoder::Path* OpEncoder::PathOfNode(uint32_t view, NodeId node) {
  if (node == kRootNode) return PathAt(view, node.value, ".");
  Place* place = FindPlace({view, node.value});
  if (place == nullptr) return nullptr;
  if (place->epoch == epoch_) {
    const auto it = path_by_id_.find(place->path);
    if (it != path_by_id_.end()) return it->second;
  }
  Path* path = PathAt(view, place->parent, place->name);
  place->path = path->id;
  place->epoch = epoch_;
  return path;
}

void OpEncoder::ForgetPaths() {
  paths_.clear();
  path_by_id_.clear();
  ++epoch_;
}

// ---- rows

OpEncoder::Process& OpEncoder::ProcessOf(const OpEvent& event) {
  std::unique_ptr<Process>& process = processes_[event.process.get()];
  if (process == nullptr) {
    process = std::make_unique<Process>();
    process->id = next_process_++;
    process->held = event.process;
    if (event.process != nullptr) process->row.process = *event.process;
  }
  return *process;
}

void OpEncoder::Touch(Path* path, uint64_t op, bool write) {
  if (path == nullptr) return;
  path->row.last_op = op;
  if (write) {
    ++path->row.writes;
    path->row.last_write = op;
  }
  if (!std::exchange(path->changed, true)) changed_paths_.push_back(path);
}

uint64_t OpEncoder::Append(OpRow row) {
  rows_.push_back(row);
  return next_op_++;
}

OpRow* OpEncoder::Pending(uint64_t op) {
  return op >= batch_first_ && op < next_op_ ? &rows_[op - batch_first_] : nullptr;
}

OpRow OpEncoder::RowOf(const OpEvent& event) {
  OpRow row;
  row.kind = event.kind;
  row.error = event.error;
  row.exec = event.process ? event.process->exec : 0;
  row.bytes = event.bytes;
  row.bytes_read = event.bytes_read;
  row.layer = event.layer.value;
  row.node = event.node.value;
  row.time_ns = event.time_ns;
  return row;
}

void OpEncoder::Add(const OpEvent& event) {
  OpRow row = RowOf(event);
  // Before the names follow: a rename is told of by the old one.
  Path* path = event.parent ? PathAt(event.view, event.parent.value, event.name)
               : event.node ? PathOfNode(event.view, event.node)
                            : nullptr;
  Path* path2 = event.parent2 ? PathAt(event.view, event.parent2.value, event.name2) : nullptr;
  if (path == nullptr && path2 == nullptr && event.kind == OpKind::kRestore) {
    path = PathAt(event.view, kRootNode.value, ".");
  }
  row.path = path ? path->id : 0;
  row.path2 = path2 ? path2->id : 0;
  Process& process = ProcessOf(event);
  row.process = process.id;
  const uint64_t op = Append(row);
  Touch(path, op, false);
  Touch(path2, op, false);
  ++process.row.ops;
  process.row.last_op = op;
  if (!std::exchange(process.changed, true)) changed_processes_.push_back(&process);
  if (event.token != 0) open_files_[event.token] = {op, row};
}

void OpEncoder::AddWrite(const OpEvent& event) {
  Process& process = ProcessOf(event);
  process.row.bytes += event.bytes;
  if (!std::exchange(process.changed, true)) changed_processes_.push_back(&process);
  Open& open = open_writes_[{event.view, event.node.value}];
  if (open.op >= first_op_ && open.op != 0 && open.row.process == process.id &&
      open.row.layer == event.layer.value) {
    open.row.bytes += event.bytes;
    if (OpRow* row = Pending(open.op)) {
      row->bytes = open.row.bytes;
    } else {
      grown_[open.op] = open.row;
    }
    return;
  }
  open.row = RowOf(event);
  Path* path = PathOfNode(event.view, event.node);
  open.row.path = path ? path->id : 0;
  open.row.process = process.id;
  open.op = Append(open.row);
  Touch(path, open.op, true);
  ++process.row.ops;
  process.row.last_op = open.op;
}

void OpEncoder::AddClosed(const OpEvent& event) {
  const auto it = open_files_.find(event.token);
  if (it == open_files_.end()) return;
  Open open = it->second;
  open_files_.erase(it);
  if (event.bytes == 0 && event.bytes_read == 0) return;
  open.row.bytes = event.bytes;
  open.row.bytes_read = event.bytes_read;
  if (OpRow* row = Pending(open.op)) {
    *row = open.row;
  } else if (open.op >= first_op_) {
    grown_[open.op] = open.row;
  }
}

void OpEncoder::Encode(const OpEvents& events, Batch& batch) {
  // Rows are left only by a try that ran out of memory.
  batch_first_ = next_op_ - rows_.size();
  for (size_t i = 0; i < events.size(); ++i) {
    const OpEvent& event = events[i];
    switch (event.what) {
      case OpEvent::What::kNamed:
        LearnName(event);
        continue;
      case OpEvent::What::kClosed:
        AddClosed(event);
        continue;
      case OpEvent::What::kOp:
        break;
    }
    if (event.kind == OpKind::kWrite && event.error == 0) {
      if (!event.silent) AddWrite(event);
      continue;
    }
    if (!event.silent) Add(event);
    if (event.kind != OpKind::kOpen && event.error == 0) {
      open_writes_.erase({event.view, event.node.value});
    }
    FollowNames(event);
  }
  if (HasWork()) DropOld(batch);
  Emit(batch);
  TrimMemory();
}

void OpEncoder::Emit(Batch& batch) {
  for (const auto& [op, row] : grown_) batch.Put(tables::kOps, KeyInt(op), EncodeOp(row));
  for (size_t i = 0; i < rows_.size(); ++i) {
    batch.Put(tables::kOps, KeyInt(batch_first_ + i), EncodeOp(rows_[i]));
  }
  std::sort(changed_paths_.begin(), changed_paths_.end(),
            [](const Path* a, const Path* b) { return a->id < b->id; });
  for (Path* path : changed_paths_) {
    batch.Put(tables::kOpPaths, KeyInt(path->id), EncodeOpPath(path->row));
    path->changed = false;
  }
  for (const auto& [id, row] : new_directories_) {
    batch.Put(tables::kOpDirectories, KeyInt(id), EncodeOpDirectory(row));
  }
  for (Process* process : changed_processes_) {
    batch.Put(tables::kOpProcesses, KeyInt(process->id), EncodeOpProcess(process->row));
    process->changed = false;
  }
  rows_.clear();
  grown_.clear();
  changed_paths_.clear();
  new_directories_.clear();
  changed_processes_.clear();
}

void OpEncoder::TrimMemory() {
  if (places_.size() > kMaxPlaces) {
    // Nodes are named again; those whose operations are under way are found among the older ones.
    older_places_ = std::move(places_);
    places_.clear();
    recorder_.ForgetNames();
  }
  if (paths_.size() > kMaxPaths) ForgetPaths();
  if (directories_.size() > kMaxDirectories) directories_.clear();
  if (directory_ids_.size() > kMaxDirectories) {
    directory_ids_.clear();
    directories_.clear();
    ForgetPaths();
  }
  if (processes_.size() > kMaxProcesses) processes_.clear();
  if (open_writes_.size() > kMaxOpen) open_writes_.clear();
  if (open_files_.size() > kMaxOpenFiles) open_files_.clear();
}

}  // namespace agentfs
