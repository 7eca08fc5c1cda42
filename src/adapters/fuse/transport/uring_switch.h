// SPDX-License-Identifier: Apache-2.0
//
// Linux offers FUSE over io_uring only while a switch of the whole machine is on
// (/sys/module/fuse/parameters/enable_uring; off by default). A connection that was agreed on
// while it was on keeps its rings. So where the switch is off and we may turn it, it is on from
// before the mount until INIT is answered, and then as it was.
#pragma once

#include <string>

#include "sys/fd.h"

namespace agentfs::fuse {

class UringSwitch {
 public:
  static constexpr const char* kParameter = "/sys/module/fuse/parameters/enable_uring";

  // Turns it on if this process may use rings, and may turn it. While somebody else holds it for
  // long, it is left as it is; if it then goes off before INIT is answered, the kernel refuses the
  // rings and the device serves. `parameter` is another file in tests.
  static UringSwitch TurnOn(const std::string& parameter = kParameter);
  UringSwitch(UringSwitch&&) = default;
  UringSwitch& operator=(UringSwitch&&) = delete;
  ~UringSwitch();  // as it was

  // Whether a connection that is agreed on now can have rings.
  bool on() const { return on_; }

 private:
  UringSwitch() = default;

  Fd turned_;  // locked, and to be turned off again; none: it was on already
  bool on_ = false;
};

}  // namespace agentfs::fuse
