# SPDX-License-Identifier: Apache-2.0
"""The base changes and vanishes under a mount: what the branch has changed stays as the branch has it,
who needs the base gets an error, and nothing hangs."""
import errno
import os
import shutil

import fault

NAMES = ("changed", "replaced", "removed", "read", "unread")
OWN = ("changed", "replaced", "removed", "own")


def expect_own(root):
    for name in OWN:
        fault.expect(fault.read(f"{root}/{name}") == name, f"{name}, which is the branch's")
        fault.expect(name in os.listdir(root), f"{name} is not listed")


def fill(lower):
    for name in NAMES:
        fault.write(f"{lower}/{name}", "b" * 1000000)


def run(scratch, program):
    workspace = fault.mounted(scratch, program, fill)
    root, server = workspace.mount_point, workspace.server()
    for name in OWN:
        fault.write(f"{root}/{name}", name, sync=True)
    fault.read(f"{root}/read")

    # A person saves one of the files, as editors do, and removes another.
    fault.write(f"{workspace.lower}/new", "a person's")
    os.rename(f"{workspace.lower}/new", f"{workspace.lower}/replaced")
    os.unlink(f"{workspace.lower}/removed")
    expect_own(root)
    shutil.rmtree(workspace.lower)
    fault.expect_error({errno.ENOENT, errno.EIO, errno.ESTALE},
                       lambda: fault.read(f"{root}/unread"), "reading what has gone")
    expect_own(root)
    fault.write(f"{root}/own2", "own2", sync=True)
    os.mkdir(f"{root}/directory")
    fault.expect("own2" in os.listdir(root), "own2 is not listed")
    fault.expect(fault.is_alive(server), "the server has ended")
    workspace.unmount()
    # Without its base the workspace is no more than an error that names it.
    outcome = workspace.run("--workspace", workspace.state, "mount", root)
    fault.expect(outcome.returncode != 0 and workspace.lower in outcome.stderr,
                 f"mount without a base: {outcome.returncode}, {outcome.stderr}")
    fill(scratch.directory("lower"))
    workspace.mount()
    expect_own(root)
    fault.expect(fault.read(f"{root}/own2") == "own2", "own2 after the base is back")
    workspace.unmount()
    workspace.check()


fault.main(run)
