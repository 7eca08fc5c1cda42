# SPDX-License-Identifier: Apache-2.0
"""The generated repository that every target shows: the same bytes for the same sizes."""
import dataclasses
import hashlib
import json
import os
import random

import machine

# Grows when the repository's content changes; an older one is made again.
REVISION = 1
TIME = 1_700_000_000
BIG_FILES = ("big-read.bin", "big-append.bin", "big-patch.bin")


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much of everything; full() is what docs/benchmarks.md reports."""
    files: int = 10_000
    directories: int = 700
    modules: int = 120            # C files of the program that is compiled
    big_mib: int = 256
    write_mib: int = 512
    patches: int = 2_000          # random overwrites
    small: int = 10_000           # small files created and deleted
    moves: int = 1_000            # files of the rename storm
    saves: int = 1_000
    packages: int = 400           # of 20 files each
    transactions: int = 5_000
    mixed: int = 4_000            # rounds, over all processes
    chmods: int = 2_000
    base_moves: int = 500
    branches: int = 100
    sustained: float = 3.0        # seconds of load with and without snapshots


FULL = Sizes()
QUICK = Sizes(files=300, directories=40, modules=4, big_mib=4, write_mib=8, patches=100, small=400,
              moves=60, saves=60, packages=12, transactions=20, mixed=160, chmods=100,
              base_moves=30, branches=5, sustained=0.5)


@dataclasses.dataclass(frozen=True)
class Repository:
    base: str                     # what is shown
    tarball: str                  # its sources
    sources: tuple                # paths below base, sorted
    identity: str                 # names, sizes, modes and times of base
    mib: int


def tree_hash(directory, only=None, skip=(), content=True):
    """One number for names, kinds, modes, sizes and content below `directory` (or its entries
    `only`); times count only with content=False, which is for one tree at two points in time."""
    total = hashlib.blake2b(digest_size=16)
    tops = sorted(os.listdir(directory) if only is None else only)
    for top in tops:
        if top not in skip:
            add_to_hash(total, directory, top, content)
    return total.hexdigest()


def add_to_hash(total, directory, name, content):
    path = f"{directory}/{name}"
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        total.update(f"{name} is not there\n".encode(errors="surrogateescape"))
        return
    kind = status.st_mode & 0o170000
    size = 0 if kind == 0o040000 else status.st_size
    when = "" if content else f" {status.st_mtime_ns} {status.st_ino}"
    total.update(f"{name} {status.st_mode:o} {size}{when}\n".encode(errors="surrogateescape"))
    if kind == 0o040000:
        for entry in sorted(os.listdir(path)):
            add_to_hash(total, directory, f"{name}/{entry}", content)
    elif kind == 0o120000:
        total.update(os.fsencode(os.readlink(path)))
    elif content and kind == 0o100000:
        with open(path, "rb", buffering=0) as file:
            while piece := file.read(1 << 20):
                total.update(piece)


def write(path, data):
    with open(path, "wb", buffering=0) as file:
        file.write(data)


def make_sources(base, sizes, rng):
    """Text files in nested directories: sizes as in real repositories, most small, few large."""
    syllables = ("al", "be", "cor", "du", "en", "fi", "gra", "hu", "in", "jo", "ka", "lo", "mi")
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(1_500)]
    lines = ["  " * rng.randint(0, 5) + " ".join(rng.choices(words, k=rng.randint(2, 11)))
             for _ in range(60_000)]
    text = "\n".join(lines).encode()
    directories = ["src"]
    while len(directories) < sizes.directories:
        parent = rng.choice(directories)
        if parent.count("/") < 6:
            directories.append(f"{parent}/{rng.choice(words)}_{len(directories)}")
    for directory in directories:
        os.makedirs(f"{base}/{directory}")
    endings = (".cc", ".h", ".py", ".js", ".md", ".txt", ".json")
    sources = []
    for number in range(sizes.files):
        size = min(int(rng.paretovariate(1.1) * 900), 300_000)
        start = rng.randrange(len(text) - size)
        name = f"{rng.choice(words)}_{number}{rng.choice(endings)}"
        directory = directories[number % len(directories)] if number < 2 * len(directories) \
            else rng.choice(directories)
        sources.append(f"{directory}/{name}")
        write(f"{base}/{sources[-1]}", text[start:start + size])
    return sorted(sources)


def make_program(base, modules, rng):
    """A C program: every module includes ten of forty headers."""
    os.makedirs(f"{base}/program")
    for number in range(40):
        functions = "".join(f"long module_{m}(long);\n" for m in range(number, modules, 40))
        write(f"{base}/program/part_{number}.h",
              f"#pragma once\n#include <stdio.h>\n#include <string.h>\n{functions}".encode())
    for module in range(modules):
        includes = "".join(f'#include "part_{h}.h"\n' for h in rng.sample(range(40), 10))
        steps = "".join(f"static long step_{k}(long x) {{ long s = {rng.randrange(1000)}; "
                        f"for (long i = 0; i < x; i++) s += s * {rng.randrange(2, 99)} ^ i; "
                        f"return s; }}\n" for k in range(12))
        calls = " + ".join(f"step_{k}(x)" for k in range(12))
        body = f"{includes}{steps}long module_{module}(long x) {{ return {calls}; }}\n"
        write(f"{base}/program/module_{module}.c", body.encode())
    calls = " + ".join(f"module_{m}(n)" for m in range(modules))
    declarations = "".join(f"long module_{m}(long);\n" for m in range(modules))
    body = f"int main(int n, char** v) {{ (void)v; return ({calls}) == 42; }}\n"
    write(f"{base}/program/main.c", (declarations + body).encode())
    write(f"{base}/program/Makefile",
          b"CFLAGS = -O1\nOBJECTS = $(patsubst %.c,%.o,$(wildcard *.c))\n"
          b"program: $(OBJECTS)\n\t$(CC) -o $@ $(OBJECTS)\n")


def make_big_files(base, mib, rng):
    for name in BIG_FILES:
        with open(f"{base}/{name}", "wb", buffering=0) as file:
            for _ in range(mib):
                file.write(rng.randbytes(1 << 20))


def commit(base):
    """A packed .git of everything but the big files."""
    write(f"{base}/README.md", b"A repository made to measure filesystems.\n")
    write(f"{base}/.gitignore", b"*.bin\n*.o\n/program/program\n")
    for directory, _, names in os.walk(base):
        for name in names:
            os.utime(f"{directory}/{name}", (TIME, TIME))
    git = ["git", "-C", base, "-c", "user.name=bench", "-c", "user.email=bench@localhost",
           "-c", "gc.auto=0"]
    machine.run([*git, "init", "-q", "-b", "main"])
    machine.run([*git, "add", "-A"])
    machine.run([*git, "commit", "-q", "-m", "everything"])
    machine.run([*git, "repack", "-a", "-d", "-q"])
    machine.run([*git, "status", "--porcelain"])


def make(directory, sizes):
    rng = random.Random(REVISION)
    base = f"{directory}/base"
    os.makedirs(base)
    sources = make_sources(base, sizes, rng)
    make_program(base, sizes.modules, rng)
    make_big_files(base, sizes.big_mib, rng)
    commit(base)
    machine.run(["tar", "-cf", f"{directory}/sources.tar", "--sort=name", "-C", base,
                 "src", "program"])
    described = {"sources": sources, "identity": tree_hash(base, content=False),
                 "mib": machine.disk_used(base) >> 20}
    write(f"{directory}/described.json", json.dumps(described).encode())


def open_or_make(scratch, sizes):
    """The repository of these sizes; one made earlier is used again if nobody has touched it."""
    shape = f"{sizes.files}-{sizes.directories}-{sizes.modules}-{sizes.big_mib}"
    directory = f"{scratch}/repository-{REVISION}-{shape}"
    described = read_description(directory)
    if described is None:
        machine.remove_tree(directory)
        make(directory, sizes)
        described = read_description(directory)
    return Repository(base=f"{directory}/base", tarball=f"{directory}/sources.tar",
                      sources=tuple(described["sources"]), identity=described["identity"],
                      mib=described["mib"])


def read_description(directory):
    try:
        with open(f"{directory}/described.json", encoding="utf-8") as file:
            described = json.load(file)
    except (OSError, ValueError):
        return None
    untouched = tree_hash(f"{directory}/base", content=False) == described["identity"]
    return described if untouched else None
