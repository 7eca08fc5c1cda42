// SPDX-License-Identifier: Apache-2.0
//
// The volumes that crash: where they are kept, how they are opened, worked on and looked at.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agentfs/volume.h"
#include "model.h"
#include "operation.h"
#include "subject.h"

namespace agentfs::crash {

enum class StoreKind : uint8_t { kSqlite, kLmdb };
enum class Base : uint8_t { kNone, kHost };

struct Setup {
  StoreKind store = StoreKind::kSqlite;
  Base base = Base::kNone;
  LargeContent large = LargeContent::kInObjects;
};
std::string NameOf(const Setup& setup);
std::vector<Setup> AllSetups();

// The seeds of a run start here: 0, or AGENTFS_TEST_SEED for other operations than CI's.
uint64_t FirstSeed();

// A directory with everything of one volume, removed at the end: state/ and base/.
class Workspace {
 public:
  explicit Workspace(const Setup& setup);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  const Setup& setup() const { return setup_; }
  std::string state_directory() const { return path_ + "/state"; }
  std::string base_directory() const { return path_ + "/base"; }
  // What the base contains.
  std::shared_ptr<const Tree> base_tree() const { return base_tree_; }

 private:
  const Setup setup_;
  std::string path_;
  std::shared_ptr<const Tree> base_tree_;
};

// The file of the store in a state directory.
std::string StoreFile(const Setup& setup, const std::string& state_directory);

using StoreWrapper = std::function<std::unique_ptr<Store>(std::unique_ptr<Store>)>;
Result<std::unique_ptr<Volume>> OpenVolume(const Setup& setup, const std::string& state_directory,
                                           const std::string& base_directory,
                                           uint32_t commit_interval_ms,
                                           const StoreWrapper& wrap = {});

// Performs operations on a volume, as root.
class Worker {
 public:
  explicit Worker(Volume& volume) : volume_(volume) {}
  // The errno; 0 for success.
  int Perform(const Operation& operation);
  // Closes the files that kUnlinkHeld left open.
  void LetGo() { held_.clear(); }

 private:
  struct Held {
    std::unique_ptr<posix::Subject> subject;
    std::unique_ptr<posix::OpenFile> file;
  };
  Result<void> PerformOnVolume(const Operation& operation);
  Result<void> PerformOnBranch(const Operation& operation);
  Result<void> PerformOnFile(posix::Subject& branch, const Operation& operation);
  Result<void> UnlinkHeld(std::unique_ptr<posix::Subject> branch, const Operation& operation);

  Volume& volume_;
  std::vector<Held> held_;
};

// Everything that the volume shows. in_object is not set.
Result<State> Look(Volume& volume);

}  // namespace agentfs::crash
