# SPDX-License-Identifier: Apache-2.0
"""A server that gets no more memory: who asks for too much is told, the rest works, the server lives
on, and everything works again when there is memory."""
import errno
import os
import resource

import fault

ROOM = 8 << 20


def virtual_size(process):
    with open(f"/proc/{process}/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def make_until_refused(root):
    """Names that could be made, each a node that the server keeps because the kernel does."""
    made = []
    for n in range(200_000):
        name = f"{root}/{n}-{'n' * 200}"
        try:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT, 0o644))
            os.setxattr(name, "user.note", b"x" * 16000)
        except OSError as error:
            fault.expect(error.errno == errno.ENOMEM, f"{name}: {error}, not ENOMEM")
            return made
        made.append(name)
    raise fault.Failed("the server gets memory all the same")


def work(root, n):
    """Some of everything; true if all of it went well."""
    try:
        with open(f"{root}/work{n}", "wb", buffering=0) as file:
            file.write(bytes([n]) * 300_000)
            os.fsync(file.fileno())
        os.rename(f"{root}/work{n}", f"{root}/worked{n}")
        os.listdir(root)
        fault.expect(fault.read_bytes(f"{root}/worked{n}") == bytes([n]) * 300_000, "content is wrong")
        return True
    except OSError as error:
        fault.expect(error.errno == errno.ENOMEM, f"{error}, not ENOMEM")
        return False


def run(scratch, program):
    workspace = fault.mounted(scratch, program, lambda lower: fault.write(f"{lower}/base", "base"))
    root, server = workspace.mount_point, workspace.server()
    fault.write(f"{root}/kept", "kept", sync=True)
    limit = virtual_size(server) + ROOM
    _, most = resource.prlimit(server, resource.RLIMIT_AS)
    resource.prlimit(server, resource.RLIMIT_AS, (limit, most))
    made = make_until_refused(root)
    worked = sum(work(root, n) for n in range(100))
    print(f"{len(made)} files before memory was short; {worked} of 100 works went well")
    fault.expect(fault.is_alive(server), "the server has ended")
    fault.expect(fault.read(f"{root}/kept") == "kept", "what was there cannot be read")
    resource.prlimit(server, resource.RLIMIT_AS, (resource.RLIM_INFINITY, most))
    fault.expect(work(root, 100), "there is memory again, and it does not work")
    fault.expect(fault.read(f"{root}/base") == "base", "the base cannot be read")
    fault.expect(set(made) <= {f"{root}/{name}" for name in os.listdir(root)}, "files are missing")
    fault.expect(workspace.server() == server, "the server is another one")
    workspace.unmount()
    workspace.check()


fault.main(run)
