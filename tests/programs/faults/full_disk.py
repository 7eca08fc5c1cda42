# SPDX-License-Identifier: Apache-2.0
"""The state's disk is full: who writes is told, what was fsynced stays, the server lives on, and
goes on writing when there is space again, also if it was made by removing files."""
import errno
import os

import fault
from workspace import Workspace


def expect_kept(paths, piece):
    for path in paths:
        with open(path, "rb") as file:
            fault.expect(file.read() == piece, f"{path} was fsynced, and is not what was written")


def fill(workspace, name, size):
    root, piece = workspace.mount_point, os.urandom(size)
    server = workspace.server()
    kept = fault.write_until_full(root, name, piece)
    print(f"{len(kept)} files of {size} bytes before the disk was full")
    fault.expect(kept, "not even one file fits")
    expect_kept(kept, piece)
    fault.expect(fault.read(f"{root}/base") == "base", "the base cannot be read")
    fault.expect(fault.is_alive(server), "the server has ended")
    return kept, piece


def can_write(path):
    try:
        fault.write(path, "after", sync=True)
        return True
    except OSError as error:
        fault.expect(error.errno == errno.ENOSPC, f"{path}: {error}, not ENOSPC")
        return False


def free_bytes(path):
    stats = os.statvfs(path)
    return stats.f_bavail * stats.f_frsize


def fill_and_remove(workspace, name, size):
    """Nobody but the mount has anything on the disk that could go."""
    root = workspace.mount_point
    fill(workspace, name, size)
    for path in os.listdir(root):
        if path.startswith(name):
            os.unlink(f"{root}/{path}")
    fault.await_true(lambda: can_write(f"{root}/after-{name}"), "writing after files were removed")


def run(scratch, program):
    if not fault.has_loop_devices():
        return fault.SKIPPED
    disk = fault.small_disk(scratch, "disk", 64)
    workspace = Workspace(scratch, program, state=f"{disk}/state")
    fault.write(f"{workspace.lower}/base", "base")
    workspace.init()
    workspace.mount()
    for attempt in range(2):
        fill_and_remove(workspace, f"removed{attempt}-", 1 << 20)
        fault.await_true(lambda: free_bytes(disk) > 40 << 20, "the space of what was removed")
    # The large ones first: what small ones have taken stays in the database.
    for name, size in (("large", 1 << 20), ("small", 3000)):
        with open(f"{disk}/ballast", "wb") as file:
            file.write(bytes(24 << 20))
        kept, piece = fill(workspace, name, size)
        os.unlink(f"{disk}/ballast")
        # There is space again: nothing has to be restarted.
        fault.await_true(lambda name=name: can_write(f"{workspace.mount_point}/after-{name}"),
                         "writing again")
        expect_kept(kept, piece)
        for path in kept:
            os.unlink(path)
        workspace.unmount()
        workspace.check()
        workspace.mount()
        fault.expect(fault.read(f"{workspace.mount_point}/after-{name}") == "after", "after is lost")
        fault.expect(not os.path.exists(kept[0]), "what was removed is there again")
    # Small files are rows: removing them takes more of the disk before it gives some back.
    for attempt, size in enumerate((60000, 3000)):
        fill_and_remove(workspace, f"rows{attempt}-", size)
    workspace.unmount()
    workspace.check()
    return 0


fault.main(run)
