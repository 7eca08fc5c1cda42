# SPDX-License-Identifier: Apache-2.0
"""Workloads that change names and attributes of the base, or delete."""
import os
import shutil

import machine
from workload import Goal, Workload, expect, read_all, walk
from writing import CreateSmall


class ChmodBase(Workload):
    name = "chmod of base files"
    about = "files whose content is cached"
    goal = Goal(20, 5)
    writes = ("src",)

    def prepare(self, place):
        self.paths = place.sources()[:place.sizes.chmods]
        for path in self.paths:
            read_all(path)

    def run(self, place):
        for path in self.paths:
            os.chmod(path, 0o600)
        return len(self.paths)


class RenameBase(Workload):
    name = "rename of base files and directories"
    about = "then ten directories with all they hold; copied and deleted where that is refused (mv)"
    goal = Goal(20, 5)
    writes = ("src",)

    def prepare(self, place):
        # Files from the end and directories from the middle: not those that chmod has changed.
        self.files = place.sources()[-place.sizes.base_moves:]
        below = sorted({"/".join(path.split("/")[:3]) for path in place.repository.sources
                        if path.count("/") >= 3})
        self.directories = [f"{place.root}/{d}" for d in below[len(below) // 3:][:10]]
        for path in self.files:
            read_all(path)
        self.names = sum(map(walk, self.directories))

    def run(self, place):
        for path in self.files:
            os.rename(path, f"{path}.moved")
        for directory in self.directories:
            shutil.move(directory, f"{directory}-moved")
        return len(self.files) + len(self.directories)

    def check(self, place):
        expect(not any(map(os.path.lexists, self.files + self.directories)), "old names are there")
        names = sum(walk(f"{directory}-moved") for directory in self.directories)
        expect(names == self.names, f"{names} of {self.names} names arrived")


class DeleteSmall(Workload):
    name = "delete small files"
    about = "those created before, and their directories"
    goal = Goal(1.0, 0.5)
    deletes = True
    writes = ("small",)

    def prepare(self, place):
        if not os.path.exists(f"{place.root}/small"):
            CreateSmall().run(place)

    def run(self, place):
        shutil.rmtree(f"{place.root}/small")
        return place.sizes.small


class DeleteBase(Workload):
    name = "rm -rf of the whole base tree"
    about = "everything in an unchanged repository, names warm"
    goal = Goal(1.0, 0.3)
    pristine = True
    deletes = True

    def prepare(self, place):
        self.names = walk(place.root)
        self.tops = [f"{place.root}/{name}" for name in os.listdir(place.root)]

    def run(self, place):
        machine.run(["rm", "-rf", *self.tops])
        return self.names

    def check(self, place):
        expect(os.listdir(place.root) == [], f"left: {os.listdir(place.root)[:5]}")


WORKLOADS = [ChmodBase(), RenameBase(), DeleteSmall(), DeleteBase()]
