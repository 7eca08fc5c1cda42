# SPDX-License-Identifier: Apache-2.0
"""The base vanishes under a mount: who needs it gets an error, what the branch has of its own stays,
and nothing hangs."""
import errno
import os
import shutil

import fault

NAMES = ("read", "unread")


def fill(lower):
    for name in NAMES:
        fault.write(f"{lower}/{name}", "b" * 1000000)


def run(scratch, program):
    workspace = fault.mounted(scratch, program, fill)
    root, server = workspace.mount_point, workspace.server()
    fault.write(f"{root}/own", "own", sync=True)
    fault.read(f"{root}/read")
    shutil.rmtree(workspace.lower)
    fault.expect_error({errno.ENOENT, errno.EIO, errno.ESTALE},
                       lambda: fault.read(f"{root}/unread"), "reading what has gone")
    fault.expect(fault.read(f"{root}/own") == "own", "own, which is the branch's")
    fault.write(f"{root}/own2", "own2", sync=True)
    os.mkdir(f"{root}/directory")
    fault.expect("own2" in os.listdir(root), "own2 is not listed")
    fault.expect(fault.is_alive(server), "the server has ended")
    workspace.unmount()
    # Without its base the workspace is no more than an error that names it.
    outcome = workspace.run("--workspace", workspace.state, "mount", root)
    fault.expect(outcome.returncode != 0 and workspace.lower in outcome.stderr,
                 f"mount without a base: {outcome.returncode}, {outcome.stderr}")
    fill(os.path.join(scratch.directory("lower")))
    workspace.mount()
    fault.expect(fault.read(f"{root}/own2") == "own2", "own2 after the base is back")
    workspace.unmount()
    workspace.check()


fault.main(run)
