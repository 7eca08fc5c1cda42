# SPDX-License-Identifier: Apache-2.0
"""Many processes do everything that there is to names in a small tree, each in the others' way.

Nobody may see an error that the operations cannot have; what must hold afterwards (fsck, the same
tree after mounting again, an untouched base) is checked by subject.py.
"""
import ctypes
import ctypes.util
import errno
import mmap
import os
import random
import signal
import stat
import sys

PROCESSES, STEPS = 10, 500
NAMES = [str(n) for n in range(8)]
RENAMES = (0, 0, 1, 2, 2, 4)  # as renameat2 has them: no-replace, exchange, whiteout
ALLOCATIONS = (0, 1, 3, 16)   # fallocate: all, keep the size, punch a hole, zero
USUAL = {errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.EINVAL,
         errno.ELOOP, errno.EBUSY, errno.ENXIO, errno.EPERM, errno.ENODATA, errno.EAGAIN,
         errno.EACCES, errno.EBADF, errno.ENODEV, errno.EXDEV, errno.ESPIPE, errno.EOPNOTSUPP}
libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long)


def seed():
    for directory in ("0", "1", "1/2", "3"):
        os.mkdir(directory)
    for name in ("0/0", "1/2/3", "4"):
        with open(name, "wb") as file:
            file.write(random.Random(name).randbytes(150_000))
    os.link("4", "3/4")
    os.symlink("../1", "3/5")


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")


class Open:
    def __init__(self, path, flags):
        self.descriptor = os.open(path, flags | os.O_NONBLOCK, 0o644)

    def __enter__(self):
        return self.descriptor

    def __exit__(self, *_):
        os.close(self.descriptor)


class Racer:
    def __init__(self, number):
        self.rng = random.Random(number)
        self.actions = [getattr(self, name) for name in dir(self) if name.startswith("do_")]

    def path(self):
        return "/".join(self.rng.choices(NAMES, k=self.rng.randrange(1, 4)))

    def do_mkdir(self):
        os.mkdir(self.path())

    def do_mknod(self):
        os.mknod(self.path(), self.rng.choice((stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFREG)) | 0o600)

    def do_symlink(self):
        os.symlink(self.path(), self.path())

    def do_link(self):
        os.link(self.path(), self.path())

    def do_unlink(self):
        os.unlink(self.path())

    def do_rmdir(self):
        os.rmdir(self.path())

    def do_rename(self):
        flags = self.rng.choice(RENAMES)
        checked(libc.renameat2(-100, self.path().encode(), -100, self.path().encode(), flags))

    do_rename_again = do_rename

    def do_write(self):
        how = self.rng.choice((os.O_CREAT, os.O_CREAT | os.O_TRUNC, os.O_APPEND))
        with Open(self.path(), os.O_WRONLY | how) as file:
            size = self.rng.choice((10, 5_000, 120_000))
            os.pwrite(file, self.rng.randbytes(size), self.rng.randrange(60_000))

    do_write_again = do_write

    def do_unnamed(self):
        with Open(os.path.dirname(self.path()) or ".", os.O_TMPFILE | os.O_WRONLY) as file:
            os.write(file, b"unnamed")
            checked(libc.linkat(-100, f"/proc/self/fd/{file}".encode(), -100, self.path().encode(), 0x400))

    def do_read(self):
        with Open(self.path(), os.O_RDONLY) as file:
            os.read(file, 200_000)

    def do_map(self):
        with Open(self.path(), os.O_RDWR) as file:
            if stat.S_ISREG(os.fstat(file).st_mode) and os.fstat(file).st_size:
                with mmap.mmap(file, 1) as memory:
                    memory[0] = 1

    def do_truncate(self):
        os.truncate(self.path(), self.rng.randrange(200_000))

    def do_allocate(self):
        with Open(self.path(), os.O_RDWR) as file:
            checked(libc.fallocate(file, self.rng.choice(ALLOCATIONS), self.rng.randrange(60_000),
                                   self.rng.randrange(1, 60_000)))

    def do_copy(self):
        with Open(self.path(), os.O_RDONLY) as source, Open(self.path(), os.O_WRONLY) as target:
            os.copy_file_range(source, target, 100_000, 0, self.rng.randrange(60_000))

    def do_attributes(self):
        os.chmod(self.path(), 0o700 | self.rng.randrange(0o100))
        os.utime(self.path())

    def do_xattr(self):
        os.setxattr(self.path(), "user.name", self.rng.randbytes(self.rng.randrange(100)))
        os.removexattr(self.path(), "user.name")

    def do_list(self):
        for entry in os.scandir(self.path()):
            entry.stat(follow_symlinks=False)
        os.readlink(self.path())

    def run(self):
        for step in range(STEPS):
            action = self.rng.choice(self.actions)
            try:
                action()
            except OSError as error:
                if error.errno not in USUAL:
                    print(f"step {step}, {action.__name__}: {error}", flush=True)
                    return 1
            except ValueError:  # of mmap: it has become shorter
                pass
        return 0


def check():
    number = int(os.environ.get("RACER_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"RACER_SEED={number}", flush=True)
    racers = []
    for n in range(PROCESSES):
        racers.append(os.fork())
        if racers[-1] == 0:
            os._exit(Racer(number + n).run())
    for racer in racers:
        status = os.waitpid(racer, 0)[1]
        # Who has mapped what another truncates is told by a signal.
        assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 or status & 127 == signal.SIGBUS, \
            f"a process ended with {status}"


{"seed": seed, "check": check}[sys.argv[1]]()
