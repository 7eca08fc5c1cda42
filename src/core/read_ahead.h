// SPDX-License-Identifier: Apache-2.0
//
// Has the host read small files of the base before a program asks for them that goes through
// directories, and look at the names of its next directories.
//
// Such a program waits for the disk once for each file, while nothing else happens. What is read
// ahead is in the host's cache and, of files, open (BaseFiles): that is all that it changes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "agentfs/base_fs.h"
#include "core/base_files.h"
#include "core/base_walk.h"

namespace agentfs {

// Thread-safe. Its lock is a leaf, and held for a few instructions. It has one thread, until it is
// destroyed. Identities are the base's.
class ReadAhead {
 public:
  // Both outlive it. Null: nothing is ever read ahead.
  ReadAhead(BaseFs* base, BaseFiles& files);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // A file of the base is about to be read from its start.
  void Read(const std::string& path, uint64_t identity) { Saw(Kind::kFile, path, identity); }
  // A directory of the base is about to be listed.
  void Listed(const std::string& path, uint64_t identity) { Saw(Kind::kDirectory, path, identity); }

  struct Counts {
    uint64_t walks = 0;     // that were begun
    uint64_t ahead = 0;     // directories and files that were expected
    uint64_t expected = 0;  // of those that were asked for
  };
  Counts counts() const ABSL_LOCKS_EXCLUDED(mu_);
  // Waits until the thread has nothing to do.
  void WaitUntilIdle() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  using Kind = BaseWalk::Kind;
  struct Start {
    Kind kind;
    std::string path;
    BaseWalk::Order order;
  };
  struct Expected {
    uint64_t identity;
    uint64_t sequence;
  };

  void Saw(Kind kind, const std::string& path, uint64_t identity) ABSL_LOCKS_EXCLUDED(mu_);
  void NoteOrderLocked(const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void HitLocked(uint64_t sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MissedLocked(Kind kind, const std::string& path, uint64_t identity)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void BeginLocked(Kind kind, const std::string& path) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  int& NeededLocked(Kind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return needed_[kind == Kind::kFile ? 1 : 0];
  }
  void EndLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool WasMissedLocked(uint64_t identity) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Run() ABSL_LOCKS_EXCLUDED(mu_);
  void Go(const Start& start);
  // One step of the walk. False: it is far enough ahead, over, or another one is wanted.
  bool Advance() ABSL_LOCKS_EXCLUDED(mu_);
  // True: it is to be opened, if it is a file.
  bool ExpectLocked(const BaseWalk::Item& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Open(const BaseWalk::Item& item);

  BaseFs* const base_;
  BaseFiles& files_;
  const size_t largest_window_;

  mutable absl::Mutex mu_;
  absl::CondVar work_, idle_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool working_ ABSL_GUARDED_BY(mu_) = false;
  bool wanted_ ABSL_GUARDED_BY(mu_) = false;  // the walk is to go on
  bool active_ ABSL_GUARDED_BY(mu_) = false;  // there is a walk, and it is right
  bool over_ ABSL_GUARDED_BY(mu_) = false;    // it has come to its end
  std::optional<Start> start_ ABSL_GUARDED_BY(mu_);
  std::thread thread_ ABSL_GUARDED_BY(mu_);

  // What is expected: by identity, and in the order of the walk.
  absl::flat_hash_map<uint64_t, uint64_t> expected_ ABSL_GUARDED_BY(mu_);
  std::deque<Expected> ahead_ ABSL_GUARDED_BY(mu_);
  uint64_t sequence_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t furthest_ ABSL_GUARDED_BY(mu_) = 0;  // the last in this order that was asked for
  size_t window_ ABSL_GUARDED_BY(mu_) = 0;      // so many are expected after that one
  int hits_ ABSL_GUARDED_BY(mu_) = 0;           // of this walk
  int misses_ ABSL_GUARDED_BY(mu_) = 0;         // since the last hit
  int lists_ ABSL_GUARDED_BY(mu_) = 0;          // since a file was read
  bool reads_ ABSL_GUARDED_BY(mu_) = false;     // and does not only list
  int at_hand_ ABSL_GUARDED_BY(mu_) = 0;        // directories in a row that needed no walk

  // What was asked for and not expected, the last ones: a walk that is behind leaps over it.
  std::array<uint64_t, 64> missed_ ABSL_GUARDED_BY(mu_){};
  size_t next_missed_ ABSL_GUARDED_BY(mu_) = 0;

  std::optional<std::string> place_ ABSL_GUARDED_BY(mu_);  // the directory of what came last
  int streak_ ABSL_GUARDED_BY(mu_) = 0;  // of what was not expected, from one place on
  std::string last_file_ ABSL_GUARDED_BY(mu_);
  int name_lead_ ABSL_GUARDED_BY(mu_) = 0;  // above 0: files are rather read by name
  // For a walk to begin with a directory, with a file.
  std::array<int, 2> needed_ ABSL_GUARDED_BY(mu_);
  Kind begun_by_ ABSL_GUARDED_BY(mu_) = Kind::kFile;
  Counts counts_ ABSL_GUARDED_BY(mu_);

  BaseWalk walk_;  // the thread's
};

}  // namespace agentfs
