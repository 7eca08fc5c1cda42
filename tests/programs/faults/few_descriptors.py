# SPDX-License-Identifier: Apache-2.0
"""A server that may open few files serves programs that have many open."""
import os
import resource

import fault
from workspace import Workspace

FILES = 400
LIMIT = 96


def fill(lower):
    for n in range(FILES):
        os.makedirs(f"{lower}/d{n % 60}", exist_ok=True)
        fault.write(f"{lower}/d{n % 60}/f{n}", f"{n} " * 20000)


def limit():
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))


def change_and_remove(root):
    opened = [open(f"{root}/d{n % 60}/f{n}", "r+b") for n in range(FILES)]
    for n, file in enumerate(opened):
        fault.expect(file.read(10).split()[0] == str(n).encode(), f"f{n} reads wrong")
        file.seek(30000)
        file.write(b"changed")
        file.flush()
    for n, file in enumerate(opened):
        os.unlink(f"{root}/d{n % 60}/f{n}")
        file.seek(29990)
        fault.expect(file.read(17).endswith(b"changed"), f"f{n} is not what was written")
        file.close()


def write_large(root):
    files = [open(f"{root}/large{n}", "w+b") for n in range(2 * LIMIT)]
    for file in files:
        file.write(b"l" * 300000)
        file.flush()
        os.fsync(file.fileno())
    for file in files:
        file.seek(0)
        fault.expect(file.read() == b"l" * 300000, f"{file.name} is not what was written")
        file.close()


def run(scratch, program):
    workspace = Workspace(scratch, program)
    fill(workspace.lower)
    workspace.init()
    workspace.mount(preexec_fn=limit)
    server = workspace.server()
    with open(f"/proc/{server}/limits", encoding="ascii") as limits:
        fault.expect(f" {LIMIT} " in [line for line in limits if "open files" in line][0],
                     "the server is not limited")
    change_and_remove(workspace.mount_point)
    write_large(workspace.mount_point)
    fault.expect(workspace.server() == server, "the server is another one")
    workspace.unmount()
    workspace.check()


fault.main(run)
