# SPDX-License-Identifier: Apache-2.0
"""Locks between processes: who waits, who is refused, who is interrupted, and deadlocks."""
import errno
import fcntl
import os
import signal
import struct
import sys
import time


def seed():
    for name in ("a", "b"):
        with open(name, "wb") as file:
            file.write(bytes(100))


def record(kind, start, length):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, start, length, 0)


def child(work):
    """Runs `work` in a process of its own."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.alarm(20)
            work()
            status = 0
        finally:
            os._exit(status)
    return pid


def end(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def waits(descriptor):
    """Until the kernel lists a lock that waits for one of ours on this file."""
    inode = str(os.fstat(descriptor).st_ino)
    while True:
        with open("/proc/locks", encoding="ascii") as table:
            if any("->" in line and f":{inode} " in line for line in table):
                return
        time.sleep(0.01)


def expect_error(code, action):
    try:
        action()
    except OSError as error:
        assert error.errno == code, error
        return
    raise AssertionError("has not failed")


def check_refusal():
    held = os.open("a", os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)

    def other():
        mine = os.open("a", os.O_RDWR)
        expect_error(errno.EAGAIN, lambda: fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB))
        expect_error(errno.EAGAIN, lambda: fcntl.flock(mine, fcntl.LOCK_SH | fcntl.LOCK_NB))
        fcntl.lockf(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)  # another kind of lock

    assert end(child(other)) == 0
    os.close(held)
    held = os.open("a", os.O_RDWR)
    fcntl.lockf(held, fcntl.LOCK_EX, 10, 20)

    def ranges():
        mine = os.open("a", os.O_RDWR)
        expect_error(errno.EAGAIN, lambda: fcntl.lockf(mine, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 25))
        fcntl.lockf(mine, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 0)
        answer = fcntl.fcntl(mine, fcntl.F_GETLK, record(fcntl.F_WRLCK, 20, 1))
        kind, _, start, length, pid = struct.unpack("hhqqi4x", answer)
        assert (kind, start, length, pid) == (fcntl.F_WRLCK, 20, 10, os.getppid())

    assert end(child(ranges)) == 0
    os.close(held)


def check_waiting():
    held = os.open("a", os.O_RDWR)
    fcntl.lockf(held, fcntl.LOCK_EX)

    def waiter():
        mine = os.open("a", os.O_RDWR)
        fcntl.lockf(mine, fcntl.LOCK_EX)
        assert os.pread(mine, 4, 0) == b"done"

    pid = child(waiter)
    waits(held)
    os.pwrite(held, b"done", 0)
    fcntl.lockf(held, fcntl.LOCK_UN)
    assert end(pid) == 0
    os.close(held)


def check_interruption():
    held = os.open("a", os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)

    class Interrupted(Exception):
        pass

    def interrupt(*_):
        raise Interrupted

    def waiter():
        signal.signal(signal.SIGUSR1, interrupt)
        mine = os.open("a", os.O_RDWR)
        try:
            fcntl.flock(mine, fcntl.LOCK_EX)
        except Interrupted:
            return
        raise AssertionError("got a lock that somebody has")

    pid = child(waiter)
    waits(held)
    os.kill(pid, signal.SIGUSR1)
    assert end(pid) == 0
    os.close(held)


def check_deadlock():
    """Two who wait for each other: one of them is told."""
    a, b = os.open("a", os.O_RDWR), os.open("b", os.O_RDWR)
    fcntl.lockf(a, fcntl.LOCK_EX)
    ready, tell = os.pipe()

    def other():
        mine_a, mine_b = os.open("a", os.O_RDWR), os.open("b", os.O_RDWR)
        fcntl.lockf(mine_b, fcntl.LOCK_EX)
        os.write(tell, b"x")
        fcntl.lockf(mine_a, fcntl.LOCK_EX)

    pid = child(other)
    os.read(ready, 1)
    waits(a)
    expect_error(errno.EDEADLK, lambda: fcntl.lockf(b, fcntl.LOCK_EX))
    fcntl.lockf(a, fcntl.LOCK_UN)
    assert end(pid) == 0


def check_end_of_holder():
    """A process that dies holds nothing."""
    def holder():
        mine = os.open("a", os.O_RDWR)
        fcntl.lockf(mine, fcntl.LOCK_EX)
        fcntl.flock(mine, fcntl.LOCK_EX)
        os.kill(os.getpid(), signal.SIGKILL)

    assert end(child(holder)) == -signal.SIGKILL
    mine = os.open("a", os.O_RDWR)
    fcntl.lockf(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)


def check():
    signal.alarm(40)
    for part in (check_refusal, check_waiting, check_interruption, check_deadlock,
                 check_end_of_holder):
        part()


{"seed": seed, "check": check}[sys.argv[1]]()
