# SPDX-License-Identifier: Apache-2.0
"""The same load with and without a snapshot every second beside it."""
import os
import random
import statistics
import threading
import time

import machine
import measure as measuring
import targets
from control import Control
from report import number, verdict
from workload import Place, read_all, write

ABOUT = "loads with and without a snapshot every second beside them (agentfs only)"
PAIRS = 3


class SnapshotEverySecond:
    """While the block runs."""

    def __init__(self, target):
        self.target = target
        self.done = threading.Event()
        self.taken = 0

    def __enter__(self):
        self.control = Control(self.target.state)
        self.thread = threading.Thread(target=self.work)
        self.thread.start()
        return self

    def work(self):
        while True:
            self.control.request("snapshot.create", branch="main")
            self.taken += 1
            if self.done.wait(1.0):
                return

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()
        self.control.socket.close()


def create_and_delete(place, turn):
    path = f"{place.root}/load/{turn}"
    write(path, b"some text\n" * 40)
    if turn >= 500:
        os.unlink(f"{place.root}/load/{turn - 500}")


def save(place, turn):
    path = f"{place.root}/load/saved-{turn % 200}"
    write(f"{path}~", b"some text\n" * 200)
    os.rename(f"{path}~", path)


def read_sources(place, turn):
    read_all(f"{place.root}/{place.repository.sources[turn % len(place.repository.sources)]}")


def overwrite(place, turn):
    fd = os.open(f"{place.root}/big-patch.bin", os.O_WRONLY)
    block = random.Random(turn).randrange(place.sizes.big_mib << 8)
    os.pwrite(fd, b"o" * 4096, block << 12)
    os.close(fd)


def write_and_sync(place, turn):
    fd = os.open(f"{place.root}/load/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(fd, b"an entry of a log\n" * 10)
    os.fdatasync(fd)
    os.close(fd)


LOADS = {"create and delete small files": create_and_delete, "atomic saves": save,
         "read small base files": read_sources, "random overwrites of a base file": overwrite,
         "append and fdatasync": write_and_sync}


def rate(place, load, seconds):
    """Operations a second."""
    turn = 0
    started = time.perf_counter()
    while (spent := time.perf_counter() - started) < seconds:
        for _ in range(20):
            load(place, turn)
            turn += 1
    return turn / spent


def slice_of(place, load, seconds):
    outcome = measuring.isolated(lambda: rate(place, load, seconds))
    for name in os.listdir(f"{place.root}/load"):
        os.unlink(f"{place.root}/load/{name}")
    if "error" in outcome:
        raise machine.CommandFailed(outcome["error"])
    return outcome["value"]


def slower(target, place, load, seconds):
    """How many times slower the load is beside snapshots: the median of pairs of slices."""
    ratios = []
    for _ in range(PAIRS):
        without = slice_of(place, load, seconds)
        with SnapshotEverySecond(target):
            ratios.append(without / slice_of(place, load, seconds))
    return statistics.median(ratios)


def measure(chosen, repository, sizes, repetitions, say):
    ours = [target for target in chosen if isinstance(target, targets.Agentfs)]
    if not ours:
        return []
    ratios = {name: {} for name in LOADS}
    for target in ours:
        target.fresh()
        os.mkdir(f"{target.root}/load")
        place = Place(target.root, repository, sizes)
        for name, load in LOADS.items():
            say(f"snapshots beside: {name}, {target.name}")
            ratios[name][target.name] = slower(target, place, load, sizes.sustained)
        target.remove()
    rows = [{"what": name, "values": {key: number(value) for key, value in of.items()},
             "goal": "1.1 / 1", "met": verdict(of.get("agentfs"), {"must": 1.1, "aim": 1.0}),
             "ratios": of} for name, of in ratios.items()]
    return [{"title": "A snapshot every second beside the load: times slower than without:",
             "rows": rows, "columns": [target.name for target in ours]}]
