# SPDX-License-Identifier: Apache-2.0
"""Workloads that write new content, or into large files of the base."""
import mmap
import os
import random

from workload import Goal, Workload, expect, write


class Append(Workload):
    name = "append 1 byte to a base file"
    about = "open a large base file, append, close; cold"
    goal = Goal(10, 2)
    cold = True
    writes = ("big-append.bin",)

    def run(self, place):
        fd = os.open(f"{place.root}/big-append.bin", os.O_WRONLY | os.O_APPEND)
        os.write(fd, b"+")
        os.close(fd)
        return 1


class RandomWrite(Workload):
    name = "random overwrites of a base file, fsync"
    about = "4 KiB each, at random places of a large base file, then fsync; cold"
    goal = Goal(4, 1.5)
    cold = True
    writes = ("big-patch.bin",)

    def prepare(self, place):
        rng = random.Random(7)
        self.places = rng.sample(range(place.sizes.big_mib << 8), place.sizes.patches)
        self.block = rng.randbytes(4096)

    def run(self, place):
        fd = os.open(f"{place.root}/big-patch.bin", os.O_RDWR)
        for block in self.places:
            os.pwrite(fd, self.block, block << 12)
        os.fsync(fd)
        os.close(fd)
        return len(self.places)


class SequentialWrite(Workload):
    name = "sequential write, fsync"
    about = "a new large file in pieces of 1 MiB, then fsync"
    goal = Goal(1.8, 1.2)
    bulk_goal = Goal(1.1, 1.1)
    writes = ("new-large.bin",)

    def prepare(self, place):
        self.piece = random.Random(8).randbytes(1 << 20)

    def run(self, place):
        fd = os.open(f"{place.root}/new-large.bin", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        for _ in range(place.sizes.write_mib):
            os.write(fd, self.piece)
        os.fsync(fd)
        os.close(fd)
        return place.sizes.write_mib


class MmapWrite(Workload):
    name = "mmap write, msync"
    about = "a byte of every page of a new mapped file of a tenth of the size, then msync"
    writes = ("new-mapped.bin",)

    def run(self, place):
        size = (place.sizes.write_mib << 20) // 10 // 4096 * 4096
        fd = os.open(f"{place.root}/new-mapped.bin", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        os.ftruncate(fd, size)
        with mmap.mmap(fd, size) as pages:
            pages[::4096] = b"m" * (size // 4096)
            pages.flush()
        os.close(fd)
        return size // 4096


class CreateSmall(Workload):
    name = "create small files"
    about = "up to 800 bytes each, a hundred to a directory"
    goal = Goal(2.5, 1.2)
    writes = ("small",)

    def run(self, place):
        os.mkdir(f"{place.root}/small")
        for number in range(place.sizes.small):
            directory = f"{place.root}/small/{number // 100}"
            if number % 100 == 0:
                os.mkdir(directory)
            write(f"{directory}/file-{number}", b"a line of text\n" * (1 + number % 53))
        return place.sizes.small


class RenameStorm(Workload):
    name = "rename storm with atomic saves"
    about = "move new files to another directory, back and there; then write and rename over each"
    goal = Goal(2, 1)
    writes = ("storm",)

    def prepare(self, place):
        for part in ("", "/here", "/there"):
            os.mkdir(f"{place.root}/storm{part}")
        for number in range(max(place.sizes.moves, place.sizes.saves)):
            write(f"{place.root}/storm/here/{number}", b"before " * 20)

    def run(self, place):
        here, there = f"{place.root}/storm/here", f"{place.root}/storm/there"
        for origin, destination in ((here, there), (there, here), (here, there)):
            for number in range(place.sizes.moves):
                os.rename(f"{origin}/{number}", f"{destination}/{number}")
        for number in range(place.sizes.saves):
            write(f"{there}/{number}~", b"after " * 20)
            os.rename(f"{there}/{number}~", f"{there}/{number}")
        return 3 * place.sizes.moves + place.sizes.saves


class NpmExtract(Workload):
    name = "npm-like extraction"
    about = "packages of 20 files, each with chmod and utime, staged and renamed into place"
    goal = Goal(2, 1)
    writes = ("node_modules",)

    def prepare(self, place):
        rng = random.Random(9)
        self.contents = [rng.randbytes(rng.randint(50, 4_000)) for _ in range(97)]
        os.mkdir(f"{place.root}/node_modules")
        os.mkdir(f"{place.root}/node_modules/.bin")

    def run(self, place):
        modules = f"{place.root}/node_modules"
        for package in range(place.sizes.packages):
            stage = f"{modules}/.package-{package}-stage"
            for directory in ("", "/lib", "/dist"):
                os.mkdir(stage + directory)
            for number in range(20):
                path = f"{stage}/{('', 'lib/', 'dist/')[number % 3]}{number}.js"
                write(path, self.contents[(package * 20 + number) % 97])
                os.chmod(path, 0o755 if number == 0 else 0o640)
                os.utime(path, (1_600_000_000, 1_600_000_000 + number))
            os.rename(stage, f"{modules}/package-{package}")
            os.symlink(f"../package-{package}/0.js", f"{modules}/.bin/command-{package}")
        return place.sizes.packages * 20

    def check(self, place):
        path = f"{place.root}/node_modules/package-0/lib/1.js"
        expect(os.stat(path).st_mtime == 1_600_000_001, "utime was lost")


WORKLOADS = [Append(), RandomWrite(), SequentialWrite(), MmapWrite(), CreateSmall(), RenameStorm(),
             NpmExtract()]
