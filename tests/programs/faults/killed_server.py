# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the server while programs use the mount.

They get errors and never hang; the next command cleans up and mounts again; everything that was
fsynced is there, and fsck finds nothing.
"""
import os
import signal
import time

import fault

# Each says that it has begun, goes on after the kill, and prints the name of the error it gets.
PROGRAMS = {
    "reader": """
f = os.open(sys.argv[1] + '/base', os.O_RDONLY)
begin()
os.pread(f, 100, 1 << 20)
os.stat(sys.argv[1] + '/never looked at')
""",
    "writer": """
f = os.open(sys.argv[1] + '/written', os.O_RDWR | os.O_CREAT)
os.write(f, b'x' * 10000)
begin()
while True:
    os.write(f, b'y' * 5000)
    os.fsync(f)
""",
    "busy": """
begin(wait=False)
n = 0
while True:
    n += 1
    with open(f'{sys.argv[1]}/busy{n % 50}', 'w') as f:
        f.write('z' * 1000)
    os.rename(f'{sys.argv[1]}/busy{n % 50}', f'{sys.argv[1]}/other{n % 50}')
""",
    "lister": """
d = os.open(sys.argv[1], os.O_RDONLY)
os.listdir(d)
begin()
os.listdir(sys.argv[1] + '/below')
""",
    "resident": """
os.chdir(sys.argv[1])
begin()
open('file', 'w')
""",
    "maker": """
begin(wait=False)
n = 0
while True:
    n += 1
    os.mkdir(f'{sys.argv[1]}/d{os.getpid()}-{n}')
    os.rmdir(f'{sys.argv[1]}/d{os.getpid()}-{n}')
""",
}
PROLOGUE = """
import errno, os, sys
def begin(wait=True):
    print('begun', flush=True)
    if wait:
        sys.stdin.readline()
try:
"""
EPILOGUE = """
except OSError as e:
    print(errno.errorcode[e.errno])
"""
# What the kernel says for a server that has gone, before and after it has noticed.
EXPECTED = {"ENOTCONN", "ECONNABORTED", "ECANCELED", "EIO"}


def fill(lower):
    fault.write(f"{lower}/base", "b" * (2 << 20))
    os.mkdir(f"{lower}/below")


def start(scratch, workspace, body):
    indented = "".join("    " + line + "\n" for line in body.strip().splitlines())
    program = fault.Program(scratch, PROLOGUE + indented + EPILOGUE, workspace.mount_point)
    fault.expect(program.line() == "begun", "a program has not begun")
    return program


def kill_and_mount(scratch, workspace):
    programs = {name: start(scratch, workspace, body) for name, body in PROGRAMS.items()}
    fault.write(f"{workspace.mount_point}/synced", "kept", sync=True)
    server = workspace.server()
    os.kill(server, signal.SIGKILL)
    fault.await_true(lambda: not fault.is_alive(server), "the server's end")
    for name, program in programs.items():
        error = program.rest()
        fault.expect(error in EXPECTED, f"the {name} got '{error}'")
    before = time.monotonic()
    workspace.mount()
    print(f"mounted again after {time.monotonic() - before:.3f} s")
    fault.expect(fault.read(f"{workspace.mount_point}/synced") == "kept", "fsynced data is lost")


def run(scratch, program):
    workspace = fault.mounted(scratch, program, fill)
    for _ in range(3):
        kill_and_mount(scratch, workspace)
    workspace.unmount()
    workspace.check()

    # The next command need not be a mount.
    workspace.mount()
    fault.write(f"{workspace.mount_point}/synced", "again", sync=True)
    os.kill(workspace.server(), signal.SIGKILL)
    shown = workspace.ok("--workspace", workspace.state, "fs", "cat", "/synced")
    fault.expect(shown == "again", f"fs cat shows '{shown}'")
    workspace.check()
    workspace.mount()
    os.kill(workspace.server(), signal.SIGKILL)
    workspace.unmount()
    workspace.check()


fault.main(run)
