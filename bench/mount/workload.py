# SPDX-License-Identifier: Apache-2.0
"""What a workload is. The workloads are in reading.py, writing.py, programs.py and base.py."""
import dataclasses
import os

import repository as repositories


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a workload works."""
    root: str
    repository: repositories.Repository
    sizes: repositories.Sizes

    def sources(self):
        return [f"{self.root}/{path}" for path in self.repository.sources]


@dataclasses.dataclass(frozen=True)
class Goal:
    """Ratios to native."""
    must: float
    aim: float


class Workload:
    """prepare, run and check are called in one process of their own, in this order; only run is
    timed. Every target gets the same state before it."""
    name = ""
    about = ""
    goal = None
    bulk_goal = None    # where it differs for the bulk profile
    cold = False        # the target is mounted anew, and the caches are dropped, before prepare
    warm = False        # run is called once before, untimed
    pristine = False    # the target has no changes before
    deletes = False     # its effect on the disk is not counted
    writes = ()         # top-level names whose content must equal native's afterwards; empty: reads

    def prepare(self, place):
        """Untimed."""

    def run(self, place):
        """Returns how many operations these were."""
        raise NotImplementedError

    def check(self, place):
        """Raises if the result is not right; what is in `writes` is compared by the caller."""


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def write(path, data):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.write(fd, data)
    os.close(fd)


_buffer = bytearray(1 << 20)


def read_all(path):
    """The number of bytes."""
    fd = os.open(path, os.O_RDONLY)
    total = 0
    while count := os.readv(fd, [_buffer]):
        total += count
    os.close(fd)
    return total


def walk(directory):
    """Paths of everything below: (directories with their entries, files)."""
    names = 0
    pending = [directory]
    while pending:
        current = pending.pop()
        with os.scandir(current) as entries:
            for entry in entries:
                names += 1
                os.lstat(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
    return names


def warm_and_cold(kind, warm_goal=None, cold_goal=None):
    """Two workloads of one class; warm first, so that cold finds all targets alike."""
    warm = type(f"{kind.__name__}Warm", (kind,),
                {"name": f"{kind.name} warm", "warm": True, "goal": warm_goal})
    cold = type(f"{kind.__name__}Cold", (kind,),
                {"name": f"{kind.name} cold", "cold": True, "goal": cold_goal})
    return [warm(), cold()]
