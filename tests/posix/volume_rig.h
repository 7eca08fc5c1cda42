// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "agentfs/volume.h"
#include "subject.h"

namespace agentfs::posix {

enum class StoreKind : uint8_t { kMemory, kSqlite, kLmdb };
std::string_view Name(StoreKind kind);

struct RigOptions {
  StoreKind store = StoreKind::kMemory;
  std::string state;  // a directory for the store's file and the objects
  std::string base;   // the base directory; empty: none
  VolumeOptions volume;
};

// A volume on a store in a directory, which can be closed and opened again.
class VolumeRig {
 public:
  static Result<std::unique_ptr<VolumeRig>> Open(RigOptions options);
  ~VolumeRig();

  Volume& volume() { return *volume_; }
  // Closes the volume and opens it again, where the store survives that (else nothing happens).
  // All subjects must be gone.
  Result<void> Reopen();

  Result<std::unique_ptr<Subject>> Branch(std::string_view branch);
  Result<std::unique_ptr<Subject>> Snapshot(std::string_view ref);

 private:
  explicit VolumeRig(RigOptions options) : options_(std::move(options)) {}
  Result<void> OpenVolume();
  Result<std::unique_ptr<Store>> OpenStore() const;

  const RigOptions options_;
  std::unique_ptr<Volume> volume_;
};

}  // namespace agentfs::posix
