# SPDX-License-Identifier: Apache-2.0
"""How long it takes until a process works in a branch of its own, and what a branch takes."""
import os
import statistics
import time

import machine
import targets
from control import Control
from report import number, time_text, verdict

ABOUT = "a new branch with a process in it; many live branches"


class Branch:
    """One view of its own over what the target shows."""

    def __init__(self, target, name):
        self.target = target
        self.name = name
        self.root = f"{target.directory}/branches/{name}"
        os.makedirs(self.root)


class CopyBranch(Branch):
    def make(self):
        machine.run(["cp", "-a", f"{self.target.repository.base}/.", self.root])


class OverlayBranch(Branch):
    """A mount of its own."""

    def make(self):
        kind = type(self.target)
        mounted = kind(f"{self.target.directory}/branches", self.target.repository)
        mounted.root = self.root
        mounted.state = f"{self.target.directory}/branch-states/{self.name}"
        mounted.attach()


class CommandBranch(Branch):
    """What a person types."""

    def make(self):
        self.target.agentfs("branch", "create", self.name)
        self.target.agentfs("mount", "--branch", self.name, *self.target.mount_options, self.root)


class SocketBranch(Branch):
    """What a program that starts many agents does: it keeps a connection to the server."""

    def __init__(self, target, name, control):
        super().__init__(target, name)
        self.control = control

    def make(self):
        profile = dict(zip(*[iter(self.target.mount_options)] * 2)).get("--profile", "default")
        self.control.request("branch.create", name=self.name)
        self.control.request("mount", payload=os.fsencode(self.root), branch=self.name,
                             profile=profile)


class SessionBranch(SocketBranch):
    """The same with the server's one mount for all branches, of which a part is bound (run)."""

    def __init__(self, target, name, control, session):
        super().__init__(target, name, control)
        self.session = session

    def make(self):
        self.control.request("branch.create", name=self.name)
        machine.bind(f"{self.session}/branches/{self.name}", self.root)


def ready(branch):
    """Seconds until a process has run in the new branch and seen a file there."""
    started = time.perf_counter()
    branch.make()
    machine.run(["/bin/sh", "-c", "test -e README.md"], cwd=branch.root)
    return time.perf_counter() - started


def makers(target):
    """Ways to branch: (what, a function from a name to a Branch)."""
    if isinstance(target, targets.Agentfs):
        control = Control(target.state)
        ways = {"commands": lambda name: CommandBranch(target, f"c-{name}"),
                "socket": lambda name: SocketBranch(target, f"s-{name}", control)}
        if machine.is_root():
            # On a connection that is kept, for the server to keep the session.
            session = control.request("session")["root"]
            ways["session"] = lambda name: SessionBranch(target, f"n-{name}", control, session)
        return ways
    kind = CopyBranch if isinstance(target, targets.Native) else OverlayBranch
    return {"commands": lambda name: kind(target, name)}


def single(ways, repetitions):
    """Median seconds of one branch: {target: {way: seconds}}."""
    samples = {target: {way: [] for way in of} for target, of in ways.items()}
    for repetition in range(repetitions):
        for target, of in ways.items():
            for way, make in of.items():
                if target == "native" and repetition > 0:
                    continue  # a copy of everything, seconds each
                samples[target][way].append(ready(make(f"one-{repetition}")))
    return {target: {way: statistics.median(of) for way, of in by_way.items()}
            for target, by_way in samples.items()}


def many(ways, chosen, count):
    """{target: (seconds, bytes each)} of `count` branches that live at the same time."""
    result = {}
    for target in chosen:
        if target.name == "native":
            continue
        of = ways[target.name]
        way = of.get("session") or of.get("socket") or of["commands"]
        os.sync()
        before = machine.disk_used(target.directory)
        branches = [way(f"many-{n}") for n in range(count)]
        started = time.perf_counter()
        for branch in branches:
            branch.make()
        seconds = time.perf_counter() - started
        for branch in branches:
            if not os.path.exists(f"{branch.root}/README.md"):
                raise machine.CommandFailed(f"{target.name}: nothing in {branch.root}")
        os.sync()
        grown = machine.disk_used(target.directory) - before
        result[target.name] = (seconds, grown / count)
    return result


def time_row(what, seconds, must, aim):
    ours = seconds.get("agentfs")
    return {"what": what, "values": {name: time_text(value) for name, value in seconds.items()},
            "goal": f"{time_text(must)} / {time_text(aim)}",
            "met": verdict(ours, {"must": must, "aim": aim}), "seconds": seconds}


def measure(chosen, repository, sizes, repetitions, say):
    say("branches")
    for target in chosen:
        target.fresh()
    ways = {target.name: makers(target) for target in chosen}
    one = single(ways, repetitions)
    live = many(ways, chosen, sizes.branches)
    rows = [time_row("a new branch and a process in it, by commands",
                     {name: of["commands"] for name, of in one.items()}, 5e-3, 2e-3)]
    over_socket = {name: of["socket"] for name, of in one.items() if "socket" in of}
    if over_socket:
        rows.append(time_row("the same over the control socket", over_socket, 5e-3, 2e-3))
    in_session = {name: of["session"] for name, of in one.items() if "session" in of}
    if in_session:
        rows.append(time_row("the same, bound from the session", in_session, 5e-3, 2e-3))
    scale = sizes.branches / 100
    rows.append(time_row(f"{sizes.branches} live branches",
                         {name: seconds for name, (seconds, _) in live.items()},
                         0.2 * scale, 0.05 * scale))
    mib = {name: size / 2**20 for name, (_, size) in live.items()}
    rows.append({"what": "disk for each, MiB", "goal": "0.02 / 0.02",
                 "values": {name: number(max(value, 0.0)) for name, value in mib.items()},
                 "met": verdict(mib.get("agentfs"), {"must": 0.02, "aim": 0.02})})
    for target in chosen:
        target.remove()
    return [{"title": "Branches (native: a copy of everything):", "rows": rows,
             "columns": [target.name for target in chosen]}]
