# SPDX-License-Identifier: Apache-2.0
"""subject.py --on native|mount [--user nobody] [--timeout S] --agentfs PROGRAM SCRIPT

Runs a script on a native directory (the oracle: a script that fails there is wrong) or on a mount.
`SCRIPT seed` fills the base, `SCRIPT check` works in what shows it; the current directory is the
tree, TMPDIR one outside of it. Status 77: the script cannot run here, and has said why.

On a mount, what must hold for every program: the base is as it was, fsck finds nothing, and after
unmounting and mounting again the tree is the same to the last inode number and nanosecond.
"""
import argparse
import difflib
import os
import shutil
import signal
import subprocess
import sys
import time

from scratch import Scratch, abort_connection, describe_stuck, mounts_below
from workspace import NOBODY, Failed, Workspace, as_user, why_not_here

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77


class Skipped(Exception):
    pass


def scripts_for_everybody(scratch):
    """Copies of what a script and its check consist of: others may not reach where they lie."""
    copies = scratch.directory("scripts")
    for entry in os.scandir(HERE):
        if entry.is_file():
            shutil.copy(entry.path, copies)
    os.chmod(copies, 0o755)
    return copies


class Subject:
    def __init__(self, options, scratch):
        self.scratch = scratch
        self.scripts = scripts_for_everybody(scratch)
        self.script = os.path.join(self.scripts, os.path.basename(options.script))
        self.deadline = time.monotonic() + options.timeout
        self.user = NOBODY if options.user == "nobody" else None
        self.temporary = scratch.directory("tmp", self.user)

    def command(self, what, directory):
        interpreter = sys.executable if self.script.endswith(".py") else "/bin/bash"
        # Only its user may enter a mount: subprocess would change to it as root.
        return ["/bin/sh", "-c", 'cd "$0" && exec "$@"', directory, interpreter, self.script, what]

    def run_script(self, what, directory):
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                       "HOME": self.temporary, "TMPDIR": self.temporary, "LC_ALL": "C.UTF-8",
                       "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(self.command(what, directory), cwd="/", env=environment,
                                   stdin=subprocess.DEVNULL, start_new_session=True,
                                   **as_user(self.user))
        self.scratch.watch(process.pid)
        try:
            status = process.wait(timeout=max(1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.give_up(process)
            raise Failed(f"{what} did not end in time") from None
        if status == SKIPPED:
            raise Skipped
        if status != 0:
            raise Failed(f"{what} ended with status {status}")

    def give_up(self, process):
        describe_stuck(self.scratch.path)
        for _, _, minor in mounts_below(self.scratch.path):
            abort_connection(minor)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def manifest(self, directory):
        return subprocess.run([sys.executable, os.path.join(self.scripts, "manifest.py"), directory], check=True,
                              stdout=subprocess.PIPE, text=True, timeout=120,
                              **as_user(self.user)).stdout.splitlines()


def expect_same(what, before, after):
    if before != after:
        lines = list(difflib.unified_diff(before, after, "before", "after", n=0, lineterm=""))
        raise Failed("\n".join([what, *lines[:40]]))


def run_native(subject):
    tree = subject.scratch.directory("native", subject.user)
    subject.run_script("seed", tree)
    subject.run_script("check", tree)


def run_mounted(subject, program, mount_options):
    workspace = Workspace(subject.scratch, program, subject.user)
    subject.run_script("seed", workspace.lower)
    base = subject.manifest(workspace.lower)
    workspace.init()
    workspace.mount(*mount_options)
    try:
        subject.run_script("check", workspace.mount_point)
    except Failed as failure:
        raise Failed(f"{failure}\n{workspace.log()}") from None
    left = subject.manifest(workspace.mount_point)
    workspace.unmount()
    workspace.check()
    workspace.mount(*mount_options)
    expect_same("mounted again, the tree differs", left, subject.manifest(workspace.mount_point))
    workspace.unmount()
    expect_same("the base has changed", base, subject.manifest(workspace.lower))


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--on", choices=("native", "mount"), required=True)
    parser.add_argument("--user", choices=("root", "nobody"), default="root")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--agentfs", required=True)
    parser.add_argument("--mount-option", action="append", default=[])
    parser.add_argument("script")
    return parser.parse_args()


def main():
    options = parse()
    if options.on == "mount" and (reason := why_not_here()):
        print(f"skipped: {reason}")
        return SKIPPED
    name = os.path.basename(options.script).split(".")[0]
    with Scratch(name) as scratch:
        try:
            subject = Subject(options, scratch)
            if options.on == "native":
                run_native(subject)
            else:
                run_mounted(subject, options.agentfs, options.mount_option)
        except Skipped:
            return SKIPPED
        except Failed as failure:
            print(f"{name} on {options.on}: {failure}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
