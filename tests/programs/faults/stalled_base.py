# SPDX-License-Identifier: Apache-2.0
"""A base that answers nobody for a while, as a network disk can: those who need it wait, all others
go on, and when it is back everybody gets what they asked for.

The base is the mount of another workspace, whose server is stopped.
"""
import os
import signal

import fault
from workspace import Workspace

READERS = 24
READER = """
import sys
print('begun', flush=True)
print(len(open(sys.argv[1]).read()))
"""


class Place:
    """A part of the scratch directory for a workspace of its own."""

    def __init__(self, scratch, name):
        self.scratch, self.name = scratch, name

    def directory(self, name, _=None):
        return self.scratch.directory(f"{self.name}/{name}")


def run(scratch, program):
    below = Workspace(Place(scratch, "below"), program)
    for n in range(READERS):
        fault.write(f"{below.lower}/f{n}", f"{n}" * 100_000)
    below.init()
    below.mount()
    workspace = Workspace(Place(scratch, "above"), program)
    workspace.lower = below.mount_point
    workspace.init()
    workspace.mount()
    root, server, user = workspace.mount_point, below.server(), workspace.server()
    os.mkdir(f"{root}/mine")
    fault.write(f"{root}/mine/own", "own", sync=True)

    os.kill(server, signal.SIGSTOP)
    try:
        readers = [fault.Program(scratch, READER, f"{root}/f{n}") for n in range(READERS)]
        for reader in readers:
            fault.expect(reader.line() == "begun", "a reader has not begun")
        fault.await_true(lambda: all(is_waiting(reader.process.pid) for reader in readers),
                         "the readers' waiting")
        other = fault.Program(scratch, """
import os, sys
os.chdir(sys.argv[1])
assert open('own').read() == 'own'
os.mkdir('directory')
for n in range(100):
    with open(f'directory/{n}', 'w') as file:
        file.write(str(n) * 1000)
        os.fsync(file.fileno())
assert len(os.listdir('directory')) == 100
print('done')
""", f"{root}/mine")
        fault.expect(other.rest() == "done", "somebody who does not need the base")
    finally:
        os.kill(server, signal.SIGCONT)
    for n, reader in enumerate(readers):
        size = reader.rest()
        fault.expect(size == str(len(f"{n}") * 100_000), f"f{n} has {size} bytes")
    workspace.unmount()
    workspace.check()
    fault.await_true(lambda: not fault.is_alive(user), "the end of who uses the base")
    below.unmount()
    below.check()


def is_waiting(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rsplit(")", 1)[1].split()[0] in "SD"


fault.main(run)
