# SPDX-License-Identifier: Apache-2.0
"""A directory for one test, and the promise that nothing of the test outlives it.

A guardian process waits for the end of the test, however it ends (also by SIGKILL), and then aborts
the FUSE connections below the directory, unmounts, kills the test's processes and servers, and
removes the directory.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FILESYSTEM = "fuse.agentfs"


def mounts_below(directory):
    """(mount point, type, minor device number) of what is mounted there, the innermost first."""
    found = []
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            fields = line.split()
            point = fields[4].encode().decode("unicode_escape")
            kind = fields[fields.index("-") + 1]
            if point == directory or point.startswith(directory + "/"):
                found.append((point, kind, int(fields[2].split(":")[1])))
    return list(reversed(found))


def abort_connection(minor):
    """Everybody who waits for this server gets an error at once."""
    try:
        with open(f"/sys/fs/fuse/connections/{minor}/abort", "w", encoding="ascii") as control:
            control.write("1")
    except OSError:
        pass


def processes_naming(text):
    """Processes that have `text` on their command line, but this one."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as line:
                if os.fsencode(text) in line.read():
                    found.append(int(entry))
        except OSError:
            pass
    return found


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


def clean(directory, sessions):
    for point, kind, minor in mounts_below(directory):
        if kind == FILESYSTEM:
            abort_connection(minor)
    for session in sessions:
        try:
            os.killpg(session, signal.SIGKILL)
        except OSError:
            pass
    for pid in processes_naming(directory):
        kill(pid)
    for point, kind, _ in mounts_below(directory):
        for _ in range(50):
            if subprocess.run(["umount", point], stderr=subprocess.DEVNULL).returncode == 0:
                break
            if kind == FILESYSTEM:
                subprocess.run(["umount", "-l", point], stderr=subprocess.DEVNULL)
                break
            time.sleep(0.1)  # a process that was killed is still letting go of it
        else:
            subprocess.run(["umount", "-l", point], stderr=subprocess.DEVNULL)
    shutil.rmtree(directory, ignore_errors=True)


def guard(directory, end):
    """The guardian's life: sessions to kill come in through the pipe, its end is the signal."""
    sessions = []
    with os.fdopen(end, encoding="ascii") as pipe:
        for line in pipe:
            sessions.append(int(line))
    clean(directory, sessions)


class Scratch:
    """`with Scratch("name") as scratch`: scratch.path is the directory."""

    def __init__(self, name):
        self.path = os.path.realpath(tempfile.mkdtemp(prefix=f"agentfs-{name}-"))
        os.chmod(self.path, 0o755)
        ours, self._alive = os.pipe()
        self._gone, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            if os.fork() != 0:  # not a child of the test: who kills the test's tree spares it
                os._exit(0)
            os.setsid()
            os.close(self._alive)
            os.close(self._gone)
            for number in (0, 1, 2):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            try:
                os.chdir("/")
                guard(self.path, ours)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(ours)
        os.close(theirs)

    def __enter__(self):
        return self

    def watch(self, session):
        """The processes of this session end with the test."""
        os.write(self._alive, f"{session}\n".encode())

    def __exit__(self, *_):
        os.close(self._alive)
        os.read(self._gone, 1)  # until the guardian is done

    def directory(self, name, user=None):
        path = os.path.join(self.path, name)
        os.makedirs(path)
        if user is not None:
            os.chown(path, user, user)
        return path


def describe_stuck(directory, out=sys.stderr):
    """Says where the processes of a test that did not end are waiting."""
    for pid in processes_naming(directory):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                command = line.read().replace(b"\0", b" ").decode(errors="replace")
            print(f"process {pid}: {command}", file=out)
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/wchan", encoding="ascii") as where:
                    print(f"  thread {thread} in {where.read()}", file=out)
        except OSError:
            pass
