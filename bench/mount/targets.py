# SPDX-License-Identifier: Apache-2.0
"""The filesystems that are compared: each shows the repository, writable, at its `root`."""
import os
import re
import shutil
import subprocess
import time

import machine
from control import Control


class Unavailable(Exception):
    """A target cannot be measured here; the text says why, and what to do."""


class Target:
    """Made anew by fresh(); stop() and start() keep what was changed (a cold start)."""
    name = ""

    def __init__(self, run_directory, repository, program=None):
        self.repository = repository
        self.program = program
        self.directory = f"{run_directory}/{self.name}"
        self.root = f"{self.directory}/root"
        self.state = f"{self.directory}/state"

    # ---- what each kind says
    @classmethod
    def why_not(cls, program):
        """Why it cannot be measured here; None: it can."""
        return None

    def attach(self):
        """Shows the repository with the changes of `state` at `root`."""

    def detach(self):
        machine.unmount_below(self.directory)

    def messages(self):
        """How often the kernel has asked the server for what; None: there are no such counts."""
        return None

    # ---- the same for all
    def fresh(self):
        self.remove()
        os.makedirs(self.root)
        os.makedirs(self.state)
        self.start()

    def start(self):
        self.attach()
        if not machine.wait_until(lambda: os.path.exists(f"{self.root}/README.md"), 10):
            raise machine.CommandFailed(f"{self.name}: nothing appeared at {self.root}")

    def stop(self):
        if os.path.isdir(self.directory):
            self.detach()
            machine.unmount_below(self.directory)
            machine.end_processes_about(self.directory)

    def remove(self):
        self.stop()
        machine.remove_tree(self.directory)


class Native(Target):
    """A plain copy of the repository on the same disk."""
    name = "native"

    def attach(self):
        if not os.path.exists(f"{self.root}/README.md"):
            machine.run(["cp", "-a", f"{self.repository.base}/.", self.root])


class Overlayfs(Target):
    """The kernel's overlay, with Debian's defaults."""
    name = "overlayfs"

    @classmethod
    def why_not(cls, program):
        if not machine.is_root():
            return "mounting it needs root"
        with open("/proc/filesystems", encoding="ascii") as file:
            known = "overlay" in file.read()
        loaded = known or subprocess.run(["modprobe", "overlay"], capture_output=True,
                                         check=False).returncode == 0
        return None if loaded else "this kernel has no overlay filesystem"

    def layers(self):
        for part in ("upper", "work"):
            os.makedirs(f"{self.state}/{part}", exist_ok=True)
        return (f"lowerdir={self.repository.base},upperdir={self.state}/upper,"
                f"workdir={self.state}/work")

    def attach(self):
        machine.run(["mount", "-t", "overlay", "overlay", "-o", self.layers(), self.root])


class FuseOverlayfs(Overlayfs):
    """The distribution's fuse-overlayfs."""
    name = "fuse-overlayfs"

    @classmethod
    def why_not(cls, program):
        if not shutil.which("fuse-overlayfs"):
            return "the package fuse-overlayfs is not installed"
        return None if os.path.exists("/dev/fuse") else "there is no /dev/fuse"

    def attach(self):
        machine.run(["fuse-overlayfs", "-o", self.layers(), self.root])


class Agentfs(Target):
    """This project."""
    name = "agentfs"
    mount_options = ()

    @classmethod
    def why_not(cls, program):
        if not program or not os.access(program, os.X_OK):
            return f"the program was not built ({program})"
        if not os.path.exists("/dev/fuse"):
            return "there is no /dev/fuse"
        usage = mount_usage(program)
        if usage is None:
            return "this build of agentfs has no mount command"
        options = [word for word in cls.mount_options if word.startswith("--")]
        missing = [option for option in options if option not in usage]
        return f"this build has no mount {missing[0]}" if missing else None

    def agentfs(self, *arguments, timeout=120):
        return machine.run([self.program, "--workspace", self.state, *arguments], timeout=timeout)

    def attach(self):
        if not os.listdir(self.state):
            machine.run([self.program, "init", "--state", self.state, self.repository.base])
        self.agentfs("mount", *self.mount_options, self.root)

    def detach(self):
        if os.path.ismount(self.root):
            subprocess.run([self.program, "umount", self.root], env=machine.ENVIRONMENT,
                           capture_output=True, timeout=120, check=False)

    def messages(self):
        """Of all mounts, summed."""
        try:
            with Control(self.state) as control:
                return operations_in(control.request("statistics"))
        except (OSError, ValueError):
            return None


class AgentfsBulk(Agentfs):
    """This project with passthrough of large files; needs root."""
    name = "agentfs-bulk"
    mount_options = ("--profile", "bulk")

    @classmethod
    def why_not(cls, program):
        if not machine.is_root():
            return "the bulk profile needs root"
        return super().why_not(program)


def mount_usage(program):
    done = subprocess.run([program, "mount", "--help"], env=machine.ENVIRONMENT,
                          capture_output=True, text=True, timeout=30, check=False)
    return done.stdout if done.returncode == 0 and re.search(r"mount", done.stdout) else None


def operations_in(document):
    """Sums the tables named `operations` in a JSON document: {"LOOKUP": 3} or a list of pairs."""
    total = {}

    def visit(value, key):
        if key == "operations":
            pairs = value.items() if isinstance(value, dict) else map(as_pair, value)
            for operation, count in pairs:
                total[operation] = total.get(operation, 0) + count
        elif isinstance(value, dict):
            for inner_key, inner in value.items():
                visit(inner, inner_key)
        elif isinstance(value, list):
            for inner in value:
                visit(inner, "")

    visit(document, "")
    return total or None


def as_pair(item):
    return (item["operation"], item["count"]) if isinstance(item, dict) else tuple(item)


KINDS = {kind.name: kind for kind in (Native, Overlayfs, FuseOverlayfs, Agentfs, AgentfsBulk)}
# Left out with a notice where the program does not have it yet; all others must be there.
OPTIONAL = {"agentfs-bulk"}


def choose(names, asked, run_directory, repository, program):
    """The targets to compare, native first; Unavailable names each that cannot be measured."""
    reasons, chosen, notices = [], [], []
    for name in dict.fromkeys(["native", *names]):
        if name not in KINDS:
            raise Unavailable(f"no target is called {name}; there are: {', '.join(KINDS)}")
        reason = KINDS[name].why_not(program)
        if reason is None:
            chosen.append(KINDS[name](run_directory, repository, program))
        elif name in OPTIONAL and not asked:
            notices.append(f"{name} is left out: {reason}")
        else:
            reasons.append(f"{name}: {reason}")
    if reasons:
        possible = ",".join(target.name for target in chosen)
        raise Unavailable("a comparison without these would mislead:\n  " + "\n  ".join(reasons) +
                          f"\nTo measure the others alone: --targets {possible}")
    return chosen, notices


def try_each(chosen):
    """Mounts every target once; Unavailable says which cannot be."""
    for target in chosen:
        try:
            started = time.perf_counter()
            target.fresh()
            target.start_seconds = time.perf_counter() - started
        except (machine.CommandFailed, OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"{target.name} cannot be mounted here: {error}") from error
