# SPDX-License-Identifier: Apache-2.0
"""Processes that share files: locks, appends, mappings, pools, queues and temporary files."""
import fcntl
import mmap
import multiprocessing
import os
import struct
import sys
import tempfile

PROCESSES = 4
ROUNDS = 150


def seed():
    with open("counter", "w", encoding="ascii") as file:
        file.write("0")
    with open("mapped", "wb") as file:
        file.write(bytes(1 << 20))
    with open("log", "w", encoding="ascii") as file:
        file.write("of the base\n")
    os.mkdir("numbers")
    for n in range(100):
        with open(f"numbers/{n}", "w", encoding="ascii") as file:
            file.write(str(n))


def count(lock):
    """Read, add one, write back, which is lost without the lock."""
    for _ in range(ROUNDS):
        with open("counter", "r+", encoding="ascii") as file:
            lock(file, fcntl.LOCK_EX)
            value = int(file.read())
            file.seek(0)
            file.write(str(value + 1))
            file.truncate()
            file.flush()
            lock(file, fcntl.LOCK_UN)


def append(who):
    with open("log", "ab", buffering=0) as file:
        for n in range(ROUNDS):
            file.write(f"{who} {n} {'.' * (n % 70)}\n".encode())


def fill(who):
    """Every process has words of its own in each page of a shared mapping."""
    with open("mapped", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        for page in range(0, len(memory), 4096):
            struct.pack_into("<Q", memory, page + 8 * who, page + who)


def read_number(n):
    with open(f"numbers/{n}", encoding="ascii") as file:
        value = int(file.read())
    with open(f"numbers/{n}.squared", "w", encoding="ascii") as file:
        file.write(str(value * value))
    return value * value


def together(target, arguments):
    processes = [multiprocessing.Process(target=target, args=a) for a in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0, f"{target.__name__} failed"


def check_locks():
    together(count, [(fcntl.flock,)] * PROCESSES)
    together(count, [(fcntl.lockf,)] * PROCESSES)
    with open("counter", encoding="ascii") as file:
        assert int(file.read()) == 2 * PROCESSES * ROUNDS


def check_appends():
    together(append, [(who,) for who in range(PROCESSES)])
    with open("log", encoding="ascii") as file:
        lines = file.read().splitlines()
    assert lines[0] == "of the base"
    assert len(lines) == 1 + PROCESSES * ROUNDS, len(lines)
    for who in range(PROCESSES):
        mine = [line for line in lines if line.startswith(f"{who} ")]
        assert mine == [f"{who} {n} {'.' * (n % 70)}" for n in range(ROUNDS)], f"lines of {who}"


def check_mapping():
    together(fill, [(who,) for who in range(PROCESSES)])
    with open("mapped", "rb") as file:
        data = file.read()
    for page in range(0, len(data), 4096):
        for who in range(PROCESSES):
            assert struct.unpack_from("<Q", data, page + 8 * who)[0] == page + who, (page, who)


def check_temporary():
    with tempfile.TemporaryFile(dir=".") as file:  # O_TMPFILE
        file.write(b"x" * 100000)
        file.seek(0)
        assert file.read() == b"x" * 100000
    with tempfile.NamedTemporaryFile(dir=".") as file:
        file.write(b"y")
        file.flush()
        assert os.stat(file.name).st_size == 1
    with tempfile.TemporaryDirectory(dir=".") as directory:
        os.mkdir(os.path.join(directory, "below"))
    assert not [name for name in os.listdir(".") if name.startswith("tmp")]


def check():
    check_locks()
    check_appends()
    check_mapping()
    with multiprocessing.Pool(PROCESSES) as pool:
        assert pool.map(read_number, range(100)) == [n * n for n in range(100)]
    assert len(os.listdir("numbers")) == 200
    check_temporary()


{"seed": seed, "check": check}[sys.argv[1]]()
