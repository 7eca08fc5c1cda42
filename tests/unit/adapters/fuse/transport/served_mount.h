// SPDX-License-Identifier: Apache-2.0
//
// A filesystem mounted at a temporary directory and served by this process.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "adapters/fuse/transport/mount_point.h"
#include "adapters/fuse/transport/negotiate.h"
#include "adapters/fuse/transport/transport.h"

namespace agentfs::fuse::test {

// A directory that is removed with everything in it; mounts on it are removed by force first.
class ScratchPoint {
 public:
  ScratchPoint();
  ~ScratchPoint();
  ScratchPoint(const ScratchPoint&) = delete;
  ScratchPoint& operator=(const ScratchPoint&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Aborts what is mounted at a path when a test takes too long: whoever waits for an answer gets an
// error, so that the test fails instead of hanging.
class Watchdog {
 public:
  explicit Watchdog(std::string path);
  ~Watchdog();

 private:
  absl::Notification done_;
  std::thread thread_;
};

enum class Way : uint8_t { kDevice, kUring };

// Why a way cannot be tested here; empty if it can.
std::string WhyNot(Way way);

struct ServedOptions {
  Way way = Way::kDevice;
  Wanted wanted;
  MountOptions mount;
  TransportOptions transport;
};

// Mounted from Start until it is destroyed or unmounted.
class ServedMount {
 public:
  static Result<std::unique_ptr<ServedMount>> Start(Handler& handler, const ServedOptions& options);
  ~ServedMount();

  std::string Path(const std::string& name) const { return scratch_.path() + "/" + name; }
  const std::string& root() const { return scratch_.path(); }
  const Capabilities& capabilities() const { return capabilities_; }
  MountPoint& point() { return *point_; }
  Transport& transport() { return *transport_; }
  void DropTransport() { transport_.reset(); }

 private:
  ServedMount() = default;

  ScratchPoint scratch_;
  std::optional<MountPoint> point_;
  Capabilities capabilities_;
  std::unique_ptr<Transport> transport_;
  std::optional<Watchdog> watchdog_;
};

// Small files by path. An errno is thrown up as a failed expectation by the reader of the Result.
Result<std::string> ReadWhole(const std::string& path);
Result<void> WriteWhole(const std::string& path, const std::string& content);

}  // namespace agentfs::fuse::test
