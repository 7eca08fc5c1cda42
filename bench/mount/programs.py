# SPDX-License-Identifier: Apache-2.0
"""Workloads that are programs, or several processes."""
import multiprocessing
import os
import random

import machine
from workload import Goal, Workload, expect, read_all, write


class Untar(Workload):
    name = "untar of the tree"
    about = "tar -xf of the sources into a new directory"
    goal = Goal(2, 1.2)
    writes = ("untarred",)

    def prepare(self, place):
        read_all(place.repository.tarball)
        os.mkdir(f"{place.root}/untarred")

    def run(self, place):
        machine.run(["tar", "-xf", place.repository.tarball, "-C", f"{place.root}/untarred"])
        return len(place.repository.sources)


class CopyTree(Workload):
    name = "cp -a of the tree"
    about = "cp -a of the sources within the target"
    writes = ("copied",)

    def run(self, place):
        machine.run(["cp", "-a", f"{place.root}/src", f"{place.root}/copied"])
        return len(place.repository.sources)


class GitCommit(Workload):
    name = "git commit"
    about = "change every hundredth source, git add -A, git commit"

    def run(self, place):
        changed = place.repository.sources[::100]
        for path in changed:
            with open(f"{place.root}/{path}", "ab") as file:
                file.write(b"one more line\n")
        git = ["git", "-C", place.root, "-c", "user.name=bench", "-c", "user.email=bench@localhost",
               "-c", "gc.auto=0"]
        machine.run([*git, "add", "-A", "--", "src"])
        machine.run([*git, "commit", "-q", "-m", "more"])
        return len(changed)

    def check(self, place):
        machine.run(["git", "-C", place.root, "fsck", "--connectivity-only"])
        said = machine.run(["git", "-C", place.root, "diff", "--name-only", "HEAD~1"])
        expect(len(said.split()) == len(place.repository.sources[::100]), "the commit is not whole")


class Compile(Workload):
    name = "compile, make -j2"
    about = "the generated C program"
    goal = Goal(1.1, 1.03)
    writes = ("program",)

    def prepare(self, place):
        machine.run(["cc", "-x", "c", "-", "-o", "/dev/null"], stdin=b"int main(void){return 0;}")
        for name in os.listdir(f"{place.root}/program"):
            read_all(f"{place.root}/program/{name}")

    def run(self, place):
        machine.run(["make", "-s", "-j2", "-C", f"{place.root}/program"])
        return place.sizes.modules


class Sqlite(Workload):
    """One row a transaction, each synced."""

    def __init__(self, journal, share, goal):
        self.name = f"sqlite, {journal}, full sync"
        self.about = "the sqlite3 program, one row a transaction"
        self.journal = journal
        self.share = share
        self.goal = goal
        self.writes = (f"rows-{journal.lower()}.db",)

    def prepare(self, place):
        self.rows = place.sizes.transactions // self.share
        inserts = "".join(f"insert into t(text) values('{'row %06d ' % n * 10}');\n"
                          for n in range(self.rows))
        self.script = (f"pragma journal_mode={self.journal}; pragma synchronous=full;\n"
                       f"create table t(id integer primary key, text);\n{inserts}"
                       f"select count(*), sum(length(text)) from t;\n").encode()

    def run(self, place):
        self.said = machine.run(["sqlite3", "-bail", f"{place.root}/{self.writes[0]}"],
                                stdin=self.script)
        return self.rows

    def check(self, place):
        wanted = f"{self.rows}|{self.rows * 110}"
        expect(self.said.split()[-1].decode() == wanted, f"{self.said[-60:]!r}")
        answer = machine.run(["sqlite3", f"{place.root}/{self.writes[0]}",
                              "pragma integrity_check"])
        expect(answer == b"ok\n", f"integrity: {answer[:200]!r}")


class Mixed(Workload):
    """Reads of the base and writes of own files, by several processes."""

    def __init__(self, processes):
        self.name = f"mixed work by {processes} processes"
        self.about = "a round reads a source, writes a file, then lists, rewrites, moves or deletes"
        self.goal = Goal(2, 1.2)
        self.processes = processes
        self.writes = (f"mixed-{processes}",)

    def prepare(self, place):
        for path in place.sources():
            read_all(path)
        os.mkdir(f"{place.root}/{self.writes[0]}")
        for number in range(self.processes):
            os.mkdir(f"{place.root}/{self.writes[0]}/{number}")

    def run(self, place):
        fork = multiprocessing.get_context("fork")
        workers = [fork.Process(target=self.work, args=(place, n)) for n in range(self.processes)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        expect(all(worker.exitcode == 0 for worker in workers), "a process failed")
        return place.sizes.mixed

    def work(self, place, number):
        rng = random.Random(number)
        sources = place.sources()
        own = f"{place.root}/{self.writes[0]}/{number}"
        for turn in range(place.sizes.mixed // self.processes):
            source = rng.choice(sources)
            read_all(source)
            path = f"{own}/{turn}"
            write(path, b"w" * rng.randint(1, 6_000))
            if turn % 4 == 0:
                os.listdir(os.path.dirname(source))
            elif turn % 4 == 1:
                write(path, b"again")
            elif turn % 4 == 2:
                os.rename(path, f"{path}-moved")
            else:
                os.unlink(path)


WORKLOADS = [Untar(), CopyTree(), GitCommit(), Compile(), Sqlite("WAL", 1, Goal(1.5, 1.1)),
             Sqlite("DELETE", 5, None), Mixed(2), Mixed(8)]
