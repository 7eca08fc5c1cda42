# SPDX-License-Identifier: Apache-2.0
"""A disk below the base cannot be read: the reader gets EIO, nobody else is harmed."""
import errno
import os

import fault
from workspace import Workspace


def run(scratch, program):
    if not fault.has_loop_devices():
        return fault.SKIPPED
    disk = fault.small_disk(scratch, "disk", 64)
    workspace = Workspace(scratch, program)
    workspace.lower = f"{disk}/lower"
    os.mkdir(workspace.lower)
    for name in ("good", "bad"):
        fault.write(f"{workspace.lower}/{name}", name * 2000000, sync=True)
    workspace.init()
    workspace.mount()
    root, server = workspace.mount_point, workspace.server()
    fault.expect(fault.read(f"{root}/good") == "good" * 2000000, "good is not what it was")
    os.truncate(f"{disk}.img", 2 << 20)
    bad = os.open(f"{workspace.lower}/bad", os.O_RDONLY)
    os.posix_fadvise(bad, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(bad)
    fault.expect_error({errno.EIO}, lambda: fault.read(f"{root}/bad"), "reading a failing disk")
    fault.write(f"{root}/own", "own", sync=True)
    fault.expect(fault.read(f"{root}/own") == "own", "own is not what was written")
    fault.expect(fault.read(f"{root}/good") == "good" * 2000000, "good is not what it was")
    fault.expect(fault.is_alive(server), "the server has ended")
    workspace.unmount()
    return 0


fault.main(run)
