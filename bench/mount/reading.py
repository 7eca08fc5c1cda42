# SPDX-License-Identifier: Apache-2.0
"""Workloads that read."""
import mmap
import subprocess

import machine
from workload import Goal, Workload, expect, read_all, walk, warm_and_cold


class StatWalk(Workload):
    name = "stat-walk"
    about = "list every directory, lstat every name"

    def run(self, place):
        self.names = walk(place.root)
        return self.names

    def check(self, place):
        expect(self.names > len(place.repository.sources), f"saw only {self.names} names")


class GitStatus(Workload):
    name = "git status"
    about = "git status --porcelain, its index settled before"

    def run(self, place):
        said = machine.run(["git", "-C", place.root, "status", "--porcelain"])
        expect(said == b"", f"git sees changes: {said[:200]!r}")
        return len(place.repository.sources)


class Grep(Workload):
    name = "grep -r"
    about = "grep -r over the sources for words that are not there"

    def run(self, place):
        done = subprocess.run(["grep", "-r", "no such words", f"{place.root}/src"],
                              env=machine.ENVIRONMENT, capture_output=True, check=False)
        expect(done.returncode == 1 and not done.stderr, f"grep: {done.stderr[:200]!r}")
        return len(place.repository.sources)


class SequentialRead(Workload):
    name = "sequential read"
    about = "a large base file in pieces of 1 MiB"

    def run(self, place):
        self.bytes = read_all(f"{place.root}/big-read.bin")
        return self.bytes >> 20

    def check(self, place):
        expect(self.bytes == place.sizes.big_mib << 20, f"{self.bytes} bytes")


class MmapRead(Workload):
    name = "mmap read"
    about = "a byte of every page of a mapped large base file"

    def run(self, place):
        with open(f"{place.root}/big-read.bin", "rb") as file, \
             mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
            self.pages = len(pages[::4096])
        return self.pages

    def check(self, place):
        expect(self.pages == place.sizes.big_mib << 8, f"{self.pages} pages")


class OpenRead(Workload):
    name = "open and read"
    about = "open, read and close every source file, from one process"

    def run(self, place):
        sources = place.sources()
        self.bytes = sum(map(read_all, sources))
        return len(sources)

    def check(self, place):
        expect(self.bytes > 0, "nothing was read")


class DiskUsage(Workload):
    name = "du"
    about = "du -s, warm"
    warm = True

    def run(self, place):
        machine.disk_used(place.root)


WORKLOADS = [
    *warm_and_cold(StatWalk, Goal(1.4, 1.1), Goal(2.0, 1.3)),
    *warm_and_cold(GitStatus, Goal(1.4, 1.2), Goal(2.0, 1.3)),
    *warm_and_cold(Grep, Goal(1.6, 1.2), Goal(1.6, 1.1)),
    *warm_and_cold(SequentialRead, Goal(1.2, 1.0), Goal(1.3, 1.0)),
    *warm_and_cold(MmapRead, Goal(4, 1.5)),
    *warm_and_cold(OpenRead),
    DiskUsage(),
]
