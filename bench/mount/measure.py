# SPDX-License-Identifier: Apache-2.0
"""Runs workloads on targets, one after the other and interleaved, and compares with native."""
import multiprocessing
import os
import signal
import statistics
import sys
import time

import machine
import repository as repositories
from workload import Place

TIMEOUT = 240  # seconds for one workload on one target


class Changed(Exception):
    """A target has changed the repository that it was to show."""


def isolated(function, timeout=TIMEOUT):
    """What `function` returns, called in a process of its own: {"value": ...} or {"error": ...}.
    A target that hangs cannot hang the benchmark, and what the workload leaves running ends."""
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)

    def child():
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            sender.send({"value": function()})
        except BaseException as error:  # whatever it was, the parent must hear of it
            sender.send({"error": f"{type(error).__name__}: {error}"[:500]})

    process = fork.Process(target=child)
    process.start()
    sender.close()
    try:
        if not receiver.poll(timeout):
            return {"error": f"no answer within {timeout} s"}
        return receiver.recv()
    except EOFError:
        return {"error": "the process died"}
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            process.kill()
        process.join(10)


class Bench:
    """Repetitions of all workloads on all targets."""

    def __init__(self, targets, workloads, repository, sizes, say):
        self.targets = targets
        self.workloads = workloads
        self.repository = repository
        self.sizes = sizes
        self.say = say
        self.cells = {w.name: {t.name: {"seconds": []} for t in targets} for w in workloads}

    def place(self, target):
        return Place(target.root, self.repository, self.sizes)

    def repeat(self, repetitions):
        for repetition in range(repetitions):
            # Who comes first differs, so that nobody always finds what others have left.
            turn = repetition % len(self.targets)
            order = self.targets[turn:] + self.targets[:turn]
            for target in order:
                self.make_fresh(target)
            compared = repetition > 0
            for workload in self.workloads:
                if workload.pristine and not compared:
                    self.compare_trees()
                    compared = True
                self.say(f"repetition {repetition + 1} of {repetitions}: {workload.name}")
                for target in order:
                    self.measure(target, workload, first=repetition == 0,
                                 last=repetition == repetitions - 1)
                if repetition == 0:
                    self.compare_outcomes(workload)
            if not compared:
                self.compare_trees()
            self.check_base()

    def make_fresh(self, target):
        target.fresh()
        if machine.is_root():
            # git writes its index once when it first sees new inode numbers.
            isolated(lambda: machine.run(["git", "-C", target.root, "status", "--porcelain"]))

    def check_base(self):
        now = repositories.tree_hash(self.repository.base, content=False)
        if now != self.repository.identity:
            raise Changed(f"the repository below the targets was changed: {self.repository.base}")

    def measure(self, target, workload, first, last):
        cell = self.cells[workload.name][target.name]
        if "error" in cell:
            return
        if workload.pristine:
            target.fresh()
        weigh = last and workload.writes and not workload.deletes
        before = machine.disk_used(target.directory) if weigh else 0
        if workload.cold:
            target.stop()
            target.start()
            machine.drop_caches()
        else:
            self.settle()
        outcome = isolated(lambda: self.once(target, workload, first, last))
        if "error" in outcome:
            cell["error"] = outcome["error"]
            return
        result = outcome["value"]
        cell["seconds"].append(result.pop("seconds"))
        cell.update(result)
        if weigh:
            cell["grown"] = self.settled_size(target) - before

    def settle(self):
        """Nobody pays for what was written earlier. It may take long where others write too, and
        the figures of small sizes mean nothing anyway."""
        if self.sizes != repositories.QUICK:
            os.sync()

    def settled_size(self, target):
        if target.messages() is not None:
            time.sleep(0.3)  # what is pending is committed in the background
        self.settle()
        return machine.disk_used(target.directory)

    def once(self, target, workload, first, last):
        """In a process of its own."""
        place = self.place(target)
        workload.prepare(place)
        if workload.warm:
            workload.run(place)
        before = target.messages() if last else None
        started = time.perf_counter()
        operations = workload.run(place)
        result = {"seconds": time.perf_counter() - started, "operations": operations}
        if before is not None:
            after = target.messages() or {}
            counts = {name: after[name] - before.get(name, 0) for name in after}
            result["messages"] = {name: count for name, count in counts.items() if count}
        workload.check(place)
        if first and workload.writes:
            result["hash"] = repositories.tree_hash(target.root, only=workload.writes)
        return result

    def compare_outcomes(self, workload):
        row = self.cells[workload.name]
        wanted = row["native"].get("hash")
        for name, cell in row.items():
            found = cell.pop("hash", None)
            if wanted and found and found != wanted:
                cell["error"] = "the result is not what native has"

    def compare_trees(self):
        """After a new mount: what every target has kept of all workloads must be the same."""
        self.say("comparing the trees after a new mount")
        hashes = {}
        for target in self.targets:
            target.stop()
            target.start()
            whole = isolated(lambda t=target: repositories.tree_hash(t.root, skip=(".git",)))
            hashes[target.name] = whole.get("value", whole.get("error"))
        self.kept = {name: value == hashes["native"] for name, value in hashes.items()}

    def results(self):
        for row in self.cells.values():
            summarise(row)
        return {"workloads": self.cells, "kept": getattr(self, "kept", {})}


def summarise(row, reference="native"):
    """Adds medians, and medians of the ratios within each repetition."""
    base = row[reference]["seconds"]
    for cell in row.values():
        if "error" in cell or not cell["seconds"]:
            continue
        cell["median"] = statistics.median(cell["seconds"])
        ratios = [mine / other for mine, other in zip(cell["seconds"], base)]
        if ratios and "error" not in row[reference]:
            cell["ratio"] = statistics.median(ratios)
            cell["ratio_min"], cell["ratio_max"] = min(ratios), max(ratios)


def progress(quiet):
    """Says what happens, on one line of a terminal."""
    def say(text):
        if not quiet:
            end = "\r" if sys.stderr.isatty() else "\n"
            print(f"bench-mount: {text}".ljust(78), end=end, file=sys.stderr, flush=True)
    return say
