# SPDX-License-Identifier: Apache-2.0
"""Random reads and writes of every kind on a file, compared with a copy of it in memory.

Calls, mappings, appends, truncation, allocation, holes, copies between files, through several
descriptors, over a file of the base (small and large) and a new one.
"""
import ctypes
import ctypes.util
import mmap
import os
import random
import sys

LIMIT = 900_000
STEPS = 700
FILES = {"small": 3_000, "large": 400_000, "new": 0}
PUNCH_HOLE, KEEP_SIZE, ZERO_RANGE = 2, 1, 16
libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long)


def seed():
    for name, size in FILES.items():
        if size:
            with open(name, "wb") as file:
                file.write(random.Random(name).randbytes(size))


def fallocate(descriptor, mode, offset, length):
    if libc.fallocate(descriptor, mode, offset, length) != 0:
        raise OSError(ctypes.get_errno(), "fallocate")


class Model:
    """A file, and what must be in it."""

    def __init__(self, name, rng):
        self.name, self.rng = name, rng
        self.fds = [os.open(name, os.O_RDWR | os.O_CREAT) for _ in range(2)]
        with open(name, "rb") as file:
            self.bytes = bytearray(file.read())

    def fd(self):
        return self.rng.choice(self.fds)

    def range(self):
        """Anywhere in the file, and sometimes past its end; often at the edge of a page."""
        offset = self.rng.randrange(min(len(self.bytes) + 50_000, LIMIT))
        if self.rng.random() < 0.3:
            offset = offset // 4096 * 4096
        length = self.rng.choice((1, 100, 4096, 65536, self.rng.randrange(1, 200_000)))
        return offset, min(length, LIMIT - offset)

    def put(self, offset, data):
        if offset > len(self.bytes):
            self.bytes.extend(bytes(offset - len(self.bytes)))
        self.bytes[offset:offset + len(data)] = data

    def write(self):
        offset, length = self.range()
        data = self.rng.randbytes(length)
        assert os.pwrite(self.fd(), data, offset) == length
        self.put(offset, data)

    def append(self):
        data = self.rng.randbytes(self.rng.randrange(1, 9000))
        if len(self.bytes) + len(data) <= LIMIT:
            descriptor = os.open(self.name, os.O_WRONLY | os.O_APPEND)
            os.write(descriptor, data)
            os.close(descriptor)
            self.bytes += data

    def truncate(self):
        size = self.rng.randrange(min(len(self.bytes) + 30_000, LIMIT))
        os.ftruncate(self.fd(), size)
        del self.bytes[size:]
        self.bytes.extend(bytes(size - len(self.bytes)))

    def map_write(self):
        if not self.bytes:
            return
        with mmap.mmap(self.fd(), len(self.bytes)) as memory:
            offset = self.rng.randrange(len(self.bytes))
            data = self.rng.randbytes(min(30_000, len(self.bytes) - offset))
            memory[offset:offset + len(data)] = data
            if self.rng.random() < 0.5:
                memory.flush()
            assert memory[:] == bytes(self.put(offset, data) or self.bytes)

    def direct(self):
        """Past the kernel's pages, which may have something newer."""
        offset, length = (value // 4096 * 4096 for value in self.range())
        if not length:
            return
        descriptor = os.open(self.name, os.O_RDWR | os.O_DIRECT)
        with mmap.mmap(-1, length) as block:
            if self.rng.random() < 0.5:
                block[:] = data = self.rng.randbytes(length)
                assert os.pwrite(descriptor, block, offset) == length
                self.put(offset, data)
            else:
                count = os.preadv(descriptor, [block], offset)
                self.expect(block[:count], offset, length)
        os.close(descriptor)

    def punch(self):
        offset, length = self.range()
        mode = self.rng.choice((PUNCH_HOLE | KEEP_SIZE, ZERO_RANGE | KEEP_SIZE))
        fallocate(self.fd(), mode, offset, length)
        end = min(offset + length, len(self.bytes))
        if offset < end:
            self.bytes[offset:end] = bytes(end - offset)

    def allocate(self):
        offset, length = self.range()
        fallocate(self.fd(), 0, offset, length)
        self.bytes.extend(bytes(max(0, offset + length - len(self.bytes))))

    def copy_from(self, other):
        source, length = other.range()
        target, _ = self.range()
        if other is self and abs(source - target) < length:
            return
        length = min(length, LIMIT - target)
        if source < len(other.bytes) and length:
            copied = os.copy_file_range(other.fd(), self.fd(), length, source, target)
            self.put(target, bytes(other.bytes[source:source + copied]))

    def read(self):
        offset, length = self.range()
        self.expect(os.pread(self.fd(), length, offset), offset, length)

    def expect(self, data, offset, length):
        wanted = bytes(self.bytes[offset:offset + length])
        if data != wanted:
            first = next((n for n, pair in enumerate(zip(data, wanted)) if pair[0] != pair[1]),
                         min(len(data), len(wanted)))
            raise AssertionError(f"{self.name}: {len(data)} bytes at {offset}, wanted "
                                 f"{len(wanted)}; the first difference is at {offset + first}")

    def check(self):
        assert os.fstat(self.fd()).st_size == len(self.bytes), "size"
        with open(self.name, "rb") as file:
            self.expect(file.read(), 0, len(self.bytes))
        at = 0
        while at < len(self.bytes):  # what is said to be a hole reads as zeros
            try:
                data = os.lseek(self.fd(), at, os.SEEK_DATA)
            except OSError:
                data = len(self.bytes)
            assert not any(self.bytes[at:data]), f"{self.name}: data in the hole at {at}"
            if data >= len(self.bytes):
                break
            at = os.lseek(self.fd(), data, os.SEEK_HOLE)


def check():
    number = int(os.environ.get("RANDOM_IO_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"RANDOM_IO_SEED={number}")
    rng = random.Random(number)
    models = [Model(name, rng) for name in FILES]
    for step in range(STEPS):
        model = rng.choice(models)
        action = rng.choice(("write", "write", "append", "truncate", "map_write", "punch", "allocate",
                             "direct", "copy", "read", "read", "sync", "check"))
        try:
            if action == "copy":
                model.copy_from(rng.choice(models))
            elif action == "sync":
                os.fsync(model.fd())
            else:
                getattr(model, action)()
        except (AssertionError, OSError) as error:
            raise AssertionError(f"step {step}, {action} of {model.name}: {error}") from error
    for model in models:
        model.check()


{"seed": seed, "check": check}[sys.argv[1]]()
