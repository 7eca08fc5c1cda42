# SPDX-License-Identifier: Apache-2.0
"""A base that is itself a mount point, with another filesystem in it: what is changed there is
applied and taken back as anywhere else."""
import os
import subprocess

import runs as shared
from runs import expect, expect_same

# Files come, go, change and move, within the filesystems and between them.
WORK = """
echo new > new; echo new > inner/new; rm gone inner/gone
echo more >> kept; echo more >> inner/kept
mv outward inner/outward; mv inner/inward inward; mv inner/old inner/sub/renamed
ln inner/kept inner/second; mkdir -p inner/a/b; chmod 600 inner/modes
dd if=/dev/zero of=inner/large bs=4096 seek=100 count=1 conv=notrunc 2> /dev/null
"""


def tmpfs(directory):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "agentfs-test", directory],
                   check=True)


def run(runs):
    tmpfs(runs.ws)
    os.mkdir(f"{runs.ws}/inner")
    tmpfs(f"{runs.ws}/inner")
    for name in ("gone", "inner/gone", "kept", "inner/kept", "outward", "inner/inward",
                 "inner/old", "inner/sub/x", "inner/modes"):
        runs.put(name, name)
    runs.put("inner/large", "x" * (1 << 20))
    runs.ok("init")
    before = runs.tree()
    runs.shell(WORK)
    branch = runs.tree(inside=True)
    runs.ok("snapshot", "create", "worked")
    runs.ok("apply")
    expect_same("the base is not what the branch was", branch, runs.tree())
    expect(runs.ok("diff", "--name-status") == "", "there are differences after the apply")
    large = runs.call("fs", "cat", "--branch", "main", "/inner/large", text=False).stdout
    expect(large == shared.fault.read_bytes(f"{runs.ws}/inner/large"), "the large file differs")
    runs.ok("apply", "--undo")
    expect_same("the base is not what it was", before, runs.tree())
    expect_same("the branch has lost its changes", branch, runs.tree(inside=True))
    runs.ok("fsck")


shared.main(run)
