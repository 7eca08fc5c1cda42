# SPDX-License-Identifier: Apache-2.0
"""A workspace of the real program, with the base `lower` and a mount point in a Scratch."""
import contextlib
import fcntl
import json
import os
import shutil
import stat
import subprocess
import tempfile

from scratch import mounts_below

DEVICE = "/dev/fuse"
NOBODY = 65534


def why_not_here():
    """Why these tests cannot run here; empty: they can."""
    if os.geteuid() != 0:
        return "only root can clean up after mounts and become another user"
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return f"there is no {DEVICE} here"
    return ""


@contextlib.contextmanager
def device_for_everybody():
    """While it lasts, every user may open /dev/fuse. One test at a time, of ours and of others."""
    name = os.path.join(tempfile.gettempdir(), "agentfs-test-device.lock")
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # What a test that was killed has left behind is not the mode to go back to.
        kept = os.pread(descriptor, 8, 0)
        before = int(kept, 8) if kept else stat.S_IMODE(os.stat(DEVICE).st_mode)
        os.pwrite(descriptor, b"%o" % before, 0)
        os.chmod(DEVICE, 0o666)
        try:
            yield
        finally:
            os.chmod(DEVICE, before)
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def as_user(user):
    """Arguments of subprocess.run for this user; None: the one who runs the test."""
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


def program_for(user, program, scratch):
    """The program where this user finds it: others may not reach the directory of the build."""
    return program if user is None else shutil.copy(program, scratch.path)


class Failed(Exception):
    """The test's verdict, for people."""


class Workspace:
    def __init__(self, scratch, program, user=None, state=None):
        self.program = program_for(user, program, scratch)
        self.user = user
        self.lower = scratch.directory("lower", user)
        self.mount_point = scratch.directory("mnt", user)
        self.state = state or os.path.join(scratch.directory("private", user), "state")

    def run(self, *arguments, timeout=30, **options):
        """The program's outcome, whatever it is; it may not take longer than `timeout`."""
        return subprocess.run(
            [self.program, *arguments], timeout=timeout, capture_output=True, text=True, cwd="/",
            stdin=subprocess.DEVNULL, check=False, **as_user(self.user), **options)

    def ok(self, *arguments, **options):
        outcome = self.run(*arguments, **options)
        if outcome.returncode != 0:
            raise Failed(f"agentfs {' '.join(arguments)}: status {outcome.returncode}\n"
                         f"{outcome.stdout}{outcome.stderr}{self.log()}")
        return outcome.stdout

    def init(self):
        self.ok("init", "--state", self.state, self.lower)

    def mount(self, *options, **run_options):
        with device_for_everybody() if self.user is not None else contextlib.nullcontext():
            self.ok("--workspace", self.state, "mount", self.mount_point, *options, **run_options)

    def unmount(self):
        self.ok("umount", self.mount_point)
        if mounts_below(self.mount_point):
            raise Failed(f"{self.mount_point} is still mounted after umount")

    def check(self):
        """fsck finds nothing."""
        self.ok("--workspace", self.state, "fsck", timeout=60)

    def server(self):
        """The process that serves the mount."""
        status = json.loads(self.ok("--workspace", self.state, "--json", "status"))
        return int(status["server"]["pid"])

    def log(self):
        """What the server has complained of."""
        for directory in (self.state, os.path.join(self.state, ".agentfs")):
            with contextlib.suppress(OSError):
                with open(os.path.join(directory, "server.log"), encoding="utf-8") as log:
                    return log.read()
        return ""
