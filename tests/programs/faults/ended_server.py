# SPDX-License-Identifier: Apache-2.0
"""SIGTERM: the server saves everything that programs were told was done, unmounts and leaves."""
import os
import signal

import fault
from scratch import mounts_below

USER = """
import errno, os, sys
f = os.open(sys.argv[1] + '/used', os.O_RDWR | os.O_CREAT)
os.write(f, b'used')
os.fsync(f)
print('begun', flush=True)
sys.stdin.readline()
try:
    while True:
        os.write(f, b'x' * 100000)
        os.fsync(f)
except OSError as e:
    print(errno.errorcode[e.errno])
"""


def end(workspace):
    server = workspace.server()
    os.kill(server, signal.SIGTERM)
    fault.await_true(lambda: not fault.is_alive(server), "the server's end")
    fault.expect(not mounts_below(workspace.mount_point), "it is still mounted")


def save_all(workspace):
    root = workspace.mount_point
    for n in range(500):
        fault.write(f"{root}/f{n}", f"content {n}\n" * 20)
    with open(f"{root}/large", "wb") as file:
        file.write(b"L" * (20 << 20))
    end(workspace)
    workspace.check()
    workspace.mount()
    for n in range(500):
        fault.expect(fault.read(f"{root}/f{n}") == f"content {n}\n" * 20, f"f{n} is not what it was")
    with open(f"{root}/large", "rb") as file:
        fault.expect(file.read() == b"L" * (20 << 20), "large is not what it was")


def run(scratch, program):
    workspace = fault.mounted(scratch, program, lambda lower: fault.write(f"{lower}/base", "b"))
    save_all(workspace)
    # Somebody who still uses it does not keep it, and gets errors.
    user = fault.Program(scratch, USER, workspace.mount_point)
    fault.expect(user.line() == "begun", "the user has not begun")
    end(workspace)
    error = user.rest()
    fault.expect(error in ("ENOTCONN", "ECONNABORTED", "ECANCELED", "EIO"), f"the user got '{error}'")
    workspace.mount()
    fault.expect(fault.read(f"{workspace.mount_point}/used") == "used", "used is not what it was")
    workspace.unmount()
    workspace.check()


fault.main(run)
