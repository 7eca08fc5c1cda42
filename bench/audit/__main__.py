# SPDX-License-Identifier: Apache-2.0
"""What recording costs: many files are made (create, write, close) and read (open, read, close) on mounts with
each audit level.

Targets, interleaved, each in a workspace of its own:
  off            nothing is recorded
  changes        the default
  opens          opens are messages, nothing is recorded
  all            the same, and everything is recorded
Told are medians of the times, and of the ratios within each repetition; processor time, which other work disturbs
less: the client's, and the server's with committing; then bytes of database a row.

usage: bench/audit AGENTFS [--files 10000] [--repeat 15]
"""
import argparse
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import tempfile
import time

LEVELS = {"off": ("off", "off"), "changes": ("changes", "changes"), "opens": ("off", "all"), "all": ("all", "all")}


def server_of(workspace):
    """The number of the workspace's server."""
    wanted = [b"--workspace", os.fsencode(workspace), b"serve"]
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if file.read().split(b"\0")[1:4] == wanted:
                    return int(name)
        except OSError:
            continue
    raise RuntimeError(f"{workspace} has no server")


def processor_time(process):
    """Seconds that it has used so far."""
    with open(f"/proc/{process}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Target:
    """A workspace whose session is mounted because a run sleeps in it."""

    def __init__(self, program, scratch, name):
        self.level, self.run_level = LEVELS[name]
        self.name = name
        self.program = program
        self.workspace = os.path.join(scratch, name)
        self.runtime = os.path.join(scratch, name + ".run")
        os.mkdir(self.workspace)
        os.mkdir(self.runtime)
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.runtime)
        self.run = None

    def begin(self):
        self.call("init")
        config = os.path.join(self.workspace, ".agentfs", "config.toml")
        with open(config, encoding="utf-8") as file:
            text = file.read()
        with open(config, "w", encoding="utf-8") as file:
            file.write(text.replace('level = "changes"', f'level = "{self.level}"', 1))
        self.run = subprocess.Popen([self.program, "run", "--audit", self.run_level, "--", "sh", "-c",
                                     "echo on; read x"], cwd=self.workspace, env=self.env, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.run.stdout.readline() == b"on\n"
        self.server = server_of(self.workspace)
        session = next(os.scandir(os.path.join(self.runtime, "agentfs"))).path
        self.root = os.path.join(session, "branches", "main")

    def call(self, *arguments):
        return subprocess.run([self.program, *arguments], cwd=self.workspace, env=self.env, check=True,
                              capture_output=True).stdout

    def names(self, files, repetition):
        return [f"{self.root}/r{repetition}/file{i}" for i in range(files)]

    def make(self, files, repetition):
        """Seconds that it takes; not by a process of the run, so the workspace's own level counts."""
        os.mkdir(os.path.join(self.root, f"r{repetition}"))
        data = b"x" * 1024
        names = self.names(files, repetition)
        start = time.monotonic()
        for name in names:
            descriptor = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
            os.write(descriptor, data)
            os.close(descriptor)
        return time.monotonic() - start

    def read(self, files, repetition):
        names = self.names(files, repetition)
        start = time.monotonic()
        for name in names:
            descriptor = os.open(name, os.O_RDONLY)
            os.read(descriptor, 4096)
            os.close(descriptor)
        return time.monotonic() - start

    def drain(self):
        """What is pending is written, so that nobody else's turn pays for it."""
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(descriptor)
        os.close(descriptor)

    def end(self):
        if self.run is None:
            return
        self.run.kill()  # its summary of all these files nobody wants
        self.run.wait()
        self.call("umount", "--all", "--force")  # its processes may be there yet, and files of ours be open


def bytes_of_rows(workspace):
    database = sqlite3.connect(os.path.join(workspace, ".agentfs", "state.db"))
    rows = database.execute("SELECT count(*) FROM op_rows").fetchone()[0]
    try:
        size = database.execute("SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'op\\_%' ESCAPE '\\'").fetchone()[0]
    except sqlite3.OperationalError:
        size = 0
    return rows, size or 0


def measure(targets, options):
    """The first repetition of each does not count."""
    times = {(work, target.name): [] for work in ("make", "read") for target in targets}
    used = {key: [0, 0] for key in times}  # by the client, by the server
    for repetition in range(options.repeat + 1):
        turn = repetition % len(targets)
        for work in ("make", "read"):
            for target in targets[turn:] + targets[:turn]:
                client, server = time.process_time(), processor_time(target.server)
                taken = getattr(target, work)(options.files, repetition)
                target.drain()
                if repetition > 0:
                    times[work, target.name].append(taken)
                    used[work, target.name][0] += time.process_time() - client
                    used[work, target.name][1] += processor_time(target.server) - server
    for (work, name), taken in times.items():
        client, server = (each * 1e6 / options.files / len(taken) for each in used[work, name])
        print(f"{work} {name:8} {statistics.median(taken) * 1e6 / options.files:6.1f} us a file "
              f"({min(taken) * 1e6 / options.files:.1f} at least); processor time: client {client:.1f}, "
              f"server {server:.1f}")
    for work in ("make", "read"):
        for name, base in (("changes", "off"), ("opens", "off"), ("all", "opens")):
            ratios = [a / b for a, b in zip(times[work, name], times[work, base])]
            least = min(times[work, name]) / min(times[work, base])
            print(f"{work} {name}/{base}: {statistics.median(ratios):.3f} (of the least {least:.3f})")


def stop(*_):
    """Once: nothing is to stay mounted."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def report(program, scratch, options):
    targets = [Target(program, scratch, name) for name in LEVELS]
    try:
        for target in targets:
            target.begin()
        measure(targets, options)
    finally:
        for target in targets:
            target.end()
    for target in targets:
        rows, size = bytes_of_rows(target.workspace)
        if rows:
            print(f"{target.name}: {rows} rows, {size / rows:.1f} bytes each")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("agentfs")
    parser.add_argument("--files", type=int, default=10000)
    parser.add_argument("--repeat", type=int, default=15)
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    scratch = tempfile.mkdtemp(prefix="agentfs-bench-")
    try:
        report(os.path.abspath(options.agentfs), scratch, options)
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
