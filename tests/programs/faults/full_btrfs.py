# SPDX-License-Identifier: Apache-2.0
"""The state's disk is a btrfs, which writes every page to a new place, and it is full: the server
lives, and what was removed is gone when the disk is looked at again."""
import errno
import os

import fault
from workspace import Workspace


def run(scratch, program):
    if not fault.has_loop_devices("mkfs.btrfs"):
        return fault.SKIPPED
    disk = fault.small_disk(scratch, "disk", 128, ("mkfs.btrfs", "-q", "-f"))
    workspace = Workspace(scratch, program, state=f"{disk}/state")
    workspace.init()
    workspace.mount()
    root, server = workspace.mount_point, workspace.server()
    kept = fault.write_until_full(root, "f", os.urandom(20000))
    fault.expect(kept, "hardly anything fits")
    # What others take brings it to where a store to a mapping finds no room.
    try:
        with open(f"{disk}/ballast", "wb", buffering=0) as file:
            while True:
                file.write(os.urandom(1 << 20))
    except OSError as error:
        fault.expect(error.errno == errno.ENOSPC, f"{error}, not ENOSPC")
    for path in kept:
        os.unlink(path)
    fault.expect(fault.is_alive(server), "the server has ended")
    os.unlink(f"{disk}/ballast")
    workspace.unmount()
    workspace.check()
    workspace.mount()
    fault.expect(not os.path.exists(kept[0]), "what was removed is there again")
    workspace.unmount()
    return 0


fault.main(run)
