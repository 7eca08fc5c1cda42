# SPDX-License-Identifier: Apache-2.0
"""What the tests of faults share: a mounted workspace, programs on it, and a limit for everything.

Each test defines run(scratch, program) and ends with fault.main(run).
"""
import errno
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from scratch import Scratch, abort_connection, describe_stuck, mounts_below  # noqa: E402
from workspace import Failed, Workspace, why_not_here  # noqa: E402

SKIPPED = 77


class Program:
    """A Python program on the mount, whose end must come by itself."""

    def __init__(self, scratch, text, *arguments):
        self.text = text
        self.process = subprocess.Popen([sys.executable, "-c", text, *arguments], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        cwd=scratch.path, start_new_session=True)
        scratch.watch(self.process.pid)

    def line(self):
        """The next line that it prints."""
        return self.process.stdout.readline().strip()

    def rest(self, timeout=20):
        """Lets it go on. The rest of its output; it must end, whatever has become of its files."""
        try:
            out, _ = self.process.communicate("\n", timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failed(f"this hangs:\n{self.text}") from None
        if self.process.returncode != 0:
            raise Failed(f"status {self.process.returncode} of:\n{self.text}")
        return out.strip()


def expect(condition, what):
    if not condition:
        raise Failed(what)


def expect_error(errors, action, what):
    """The action fails with one of these."""
    try:
        action()
    except OSError as error:
        expect(error.errno in errors, f"{what}: {error}")
        return
    raise Failed(f"{what} has not failed")


def await_true(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < deadline, f"in vain waited for: {what}")
        time.sleep(0.02)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def mounted(scratch, program, fill=None):
    """A workspace over what `fill(lower)` puts there, mounted."""
    workspace = Workspace(scratch, program)
    if fill is not None:
        fill(workspace.lower)
    workspace.init()
    workspace.mount()
    return workspace


def small_disk(scratch, name, megabytes, make=("mkfs.ext4", "-q", "-F", "-m", "0")):
    """A filesystem of that size in the file NAME.img, mounted at the directory NAME."""
    image = os.path.join(scratch.path, name + ".img")
    point = scratch.directory(name)
    with open(image, "wb") as file:
        file.truncate(megabytes << 20)
    subprocess.run([*make, image], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["mount", "-o", "loop", image, point], check=True)
    return point


def write_until_full(root, name, piece):
    """The files that write, fsync and close took until one of them failed."""
    kept = []
    for n in range(20000):
        path = f"{root}/{name}{n}"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
            try:
                os.write(descriptor, piece)
                if n % 8 == 7:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            expect(error.errno == errno.ENOSPC, f"{path}: {error}, not ENOSPC")
            return kept
        if n % 8 == 7:  # a synced commit holds everything before it
            kept += [f"{root}/{name}{m}" for m in range(n - 7, n + 1)]
    raise Failed("the disk does not get full")


def has_loop_devices(program="mkfs.ext4"):
    if shutil.which(program) is not None and os.path.exists("/dev/loop-control"):
        return True
    print(f"skipped: there is no {program}, or there are no loop devices here")
    return False


def write(path, text, sync=False):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def main(run, timeout=90):
    """Runs the test; what hangs is freed by aborting the connection, and fails."""
    if reason := why_not_here():
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    name = os.path.basename(sys.argv[0]).split(".")[0]
    with Scratch(name) as scratch:
        def give_up(*_):
            describe_stuck(scratch.path)
            for _, _, minor in mounts_below(scratch.path):
                abort_connection(minor)
            raise Failed("did not end in time")
        signal.signal(signal.SIGALRM, give_up)
        signal.alarm(timeout)
        try:
            status = run(scratch, sys.argv[1]) or 0
        except (Failed, OSError, subprocess.SubprocessError) as failure:
            print(f"{name}: {failure}", file=sys.stderr)
            status = 1
        signal.alarm(0)
    sys.exit(status)
