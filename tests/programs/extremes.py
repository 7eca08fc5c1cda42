# SPDX-License-Identifier: Apache-2.0
"""The far ends of what a filesystem takes: names, depths, sizes, numbers of entries, times."""
import errno
import os
import shutil
import sys

ENTRIES = 20_000
BASE_ENTRIES = 3_000


def seed():
    os.mkdir("crowd")
    for n in range(BASE_ENTRIES):
        os.close(os.open(f"crowd/base{n}", os.O_CREAT | os.O_WRONLY))


def expect_error(code, action, *arguments):
    try:
        action(*arguments)
    except OSError as error:
        assert error.errno == code, error
        return
    raise AssertionError(f"{action.__name__} has not failed")


def check_names():
    every = bytes(range(1, 256)).replace(b"/", b"")
    names = [every[:255], b"\xff" * 255, b" ", b"-rf", b"new\nline", "ünï".encode(), b"..."]
    os.mkdir("names")
    for name in names:
        with open(b"names/" + name, "wb") as file:
            file.write(name)
    assert sorted(os.listdir(b"names")) == sorted(names)
    for name in names:
        with open(b"names/" + name, "rb") as file:
            assert file.read() == name
    expect_error(errno.ENAMETOOLONG, os.mkdir, b"names/" + b"x" * 256)


def check_depth():
    """Deeper than a path can say, by steps."""
    top = os.open(".", os.O_RDONLY)
    here, name = os.dup(top), "d" * 200
    for _ in range(30):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    with open(os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=here), "w") as file:
        file.write("deep")
    os.close(here)
    expect_error(errno.ENAMETOOLONG, os.stat, "/".join([name] * 25))
    assert os.stat("/".join([name] * 15)).st_nlink == 3
    shutil.rmtree(name, dir_fd=top)
    os.close(top)


def check_crowd():
    for n in range(ENTRIES):
        os.close(os.open(f"crowd/{n}", os.O_CREAT | os.O_WRONLY))
    assert len(os.listdir("crowd")) == ENTRIES + BASE_ENTRIES
    seen = set()
    with os.scandir("crowd") as entries:  # what is removed meanwhile does not disturb the rest
        for entry in entries:
            assert entry.name not in seen, f"{entry.name} listed twice"
            seen.add(entry.name)
            if len(seen) % 2:
                os.unlink(entry.path)
    assert len(seen) == ENTRIES + BASE_ENTRIES, len(seen)
    left = os.listdir("crowd")
    assert len(left) == (ENTRIES + BASE_ENTRIES) // 2, len(left)
    assert set(left) < seen
    shutil.rmtree("crowd")


def check_sizes():
    largest = os.statvfs(".")
    assert largest.f_namemax == 255 and 0 < largest.f_bavail <= largest.f_blocks, largest
    descriptor = os.open("sparse", os.O_RDWR | os.O_CREAT)
    size = (16 << 40) - 4096  # all that ext4 takes, too
    os.pwrite(descriptor, b"end", size - 3)
    assert os.fstat(descriptor).st_size == size
    assert os.pread(descriptor, 10, size - 3) == b"end"
    assert os.pread(descriptor, 10, 1 << 40) == bytes(10)
    assert os.lseek(descriptor, 0, os.SEEK_DATA) > size - (1 << 20)
    assert os.fstat(descriptor).st_blocks < 1000
    os.ftruncate(descriptor, 5)
    assert os.pread(descriptor, 10, 0) == bytes(5)
    expect_error(errno.EINVAL, os.ftruncate, descriptor, -1)
    os.close(descriptor)


def check_times():
    stamps = []
    for n in range(200):
        os.close(os.open(f"t{n}", os.O_CREAT | os.O_WRONLY))
        stamps.append(os.stat(f"t{n}").st_mtime_ns)
    assert stamps == sorted(stamps), "later files are older"
    os.utime("t0", ns=(1, 4_000_000_000_123_456_789))
    assert os.stat("t0").st_mtime_ns == 4_000_000_000_123_456_789
    os.utime("t0", ns=(-1_000_000_001, -1_000_000_001))
    assert os.stat("t0").st_mtime_ns == -1_000_000_001
    before = os.stat("t1").st_ctime_ns
    os.chmod("t1", 0o600)
    assert os.stat("t1").st_ctime_ns >= before


def check_links():
    with open("many", "w", encoding="ascii") as file:
        file.write("linked")
    for n in range(1000):
        os.link("many", f"link{n}")
    assert os.stat("link999").st_nlink == 1001
    os.unlink("many")
    for n in range(1, 1000):
        os.unlink(f"link{n}")
    assert os.stat("link0").st_nlink == 1
    os.symlink("x" * 4095, "longest")
    assert len(os.readlink("longest")) == 4095
    os.symlink("loop", "loop")
    expect_error(errno.ELOOP, os.stat, "loop")


def check():
    for part in (check_names, check_depth, check_crowd, check_sizes, check_times, check_links):
        part()


{"seed": seed, "check": check}[sys.argv[1]]()
