# SPDX-License-Identifier: Apache-2.0
"""What the tests of `agentfs run` share: a workspace in a scratch directory and commands in it."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import fault  # noqa: E402
from fault import Failed, await_true, expect  # noqa: E402,F401


class Runs:
    """A workspace `ws`; its session is mounted in the scratch directory too."""

    def __init__(self, scratch, program):
        self.scratch = scratch
        self.program = os.path.abspath(program)
        self.ws = scratch.directory("ws")
        self.home = scratch.directory("home")
        self.env = dict(os.environ, XDG_RUNTIME_DIR=scratch.directory("runtime"), HOME=self.home)
        self.env.pop("AGENTFS_WORKSPACE", None)

    def put(self, name, text):
        path = os.path.join(self.ws, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        fault.write(path, text)
        return path

    def command(self, *arguments):
        return [self.program, *arguments]

    def call(self, *arguments, timeout=60, **options):
        options = {"cwd": self.ws, "env": self.env, "text": True, "stdin": subprocess.DEVNULL,
                   "capture_output": True, **options}
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
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
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

    def mounts(self):
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            return [line.split()[4] for line in file if " fuse.agentfs " in line
                    and line.split()[4].startswith(self.scratch.path)]

    def end(self):
        """Ends the server; nothing of it is left."""
        self.ok("umount", "--all")
        await_true(lambda: self.server() == 0, "the server's end")
        expect(not self.mounts(), f"still mounted: {self.mounts()}")


def main(run, timeout=90):
    def wrapped(scratch, program):
        runs = Runs(scratch, program)
        status = run(runs)
        if not status:
            runs.end()
        return status
    fault.main(wrapped, timeout)
