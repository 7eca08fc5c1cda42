# SPDX-License-Identifier: Apache-2.0
"""What the tests of `agentfs run` share: a workspace in a scratch directory and commands in it.

TEST.py PROGRAM [nobody]: as an ordinary user if one is named.
"""
import contextlib
import difflib
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import fault  # noqa: E402
from fault import Failed, await_true, expect  # noqa: E402,F401
from workspace import NOBODY, as_user, device_for_everybody, program_for  # noqa: E402


class Runs:
    """A workspace `ws`; its session is mounted in the scratch directory too."""

    def __init__(self, scratch, program, user=None):
        self.scratch = scratch
        self.user = user  # None: the one who runs the test
        self.program = program_for(user, os.path.abspath(program), scratch)
        self.ws = scratch.directory("ws", user)
        self.home = scratch.directory("home", user)
        self.env = dict(os.environ, XDG_RUNTIME_DIR=scratch.directory("runtime", user),
                        HOME=self.home)
        self.env.pop("AGENTFS_WORKSPACE", None)

    def put(self, name, text, directory=None):
        """A file of the workspace, or of another directory that is there."""
        path = os.path.join(directory or self.ws, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        fault.write(path, text)
        if self.user is not None:
            for each in (path, os.path.dirname(path)):
                os.chown(each, self.user, self.user)
        return path

    def command(self, *arguments):
        return [self.program, *arguments]

    def call(self, *arguments, timeout=60, **options):
        options = {"cwd": self.ws, "env": self.env, "text": True, "stdin": subprocess.DEVNULL,
                   "capture_output": True, **as_user(self.user), **options}
        if "input" in options:
            del options["stdin"]
        return subprocess.run(self.command(*arguments), timeout=timeout, check=False, **options)

    def ok(self, *arguments, **options):
        done = self.call(*arguments, **options)
        expect(done.returncode == 0, f"{arguments}: status {done.returncode}: {done.stderr}")
        return done.stdout

    def shell(self, text, *options, **more):
        """The output of `agentfs run ... -- sh -c TEXT`, which must succeed."""
        return self.ok("run", *options, "--", "sh", "-e", "-c", text, **more)

    def start(self, text, *options):
        """The same, running, with a pipe for its output."""
        process = subprocess.Popen(self.command("run", *options, "--", "sh", "-c", text),
                                   cwd=self.ws, env=self.env, text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   **as_user(self.user))
        self.scratch.watch(process.pid)
        return process

    def server(self):
        """The server's process; 0: none."""
        wanted = [b"--workspace", os.fsencode(self.ws), b"serve"]
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if words[1:4] == wanted:
                return int(name)
        return 0

    def tree(self, inside=False, branch="main"):
        """All that can be seen of the workspace, in the base or by a run."""
        look = ("find . -mindepth 1 -path ./.agentfs -prune -o -type f -printf '%p %m %n %s %T@ ' -exec "
                "sha256sum {} \\; -o ! -type d -printf '%p %y %l\\n' -o -printf '%p %y %m\\n'")
        if inside:
            text = self.shell(look, "--branch", branch)
        else:
            text = subprocess.run(["sh", "-c", look], cwd=self.ws, check=True, text=True,
                                  stdout=subprocess.PIPE).stdout
        return sorted(text.splitlines())

    def mounts(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            return [line.split()[4] for line in file if " fuse.agentfs " in line
                    and line.split()[4].startswith(self.scratch.path)]

    def end(self):
        """Ends the server; nothing of it is left."""
        self.ok("umount", "--all")
        await_true(lambda: self.server() == 0, "the server's end")
        expect(not self.mounts(), f"still mounted: {self.mounts()}")


def expect_same(what, before, after):
    if before != after:
        lines = difflib.unified_diff(before, after, "before", "after", n=0, lineterm="")
        raise Failed("\n".join([what, *list(lines)[:40]]))


def main(run, timeout=90):
    user = NOBODY if sys.argv[2:] == ["nobody"] else None

    def wrapped(scratch, program):
        with device_for_everybody() if user is not None else contextlib.nullcontext():
            runs = Runs(scratch, program, user)
            status = run(runs)
            if not status:
                runs.end()
        return status
    fault.main(wrapped, timeout)
