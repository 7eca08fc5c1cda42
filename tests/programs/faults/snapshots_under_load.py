# SPDX-License-Identifier: Apache-2.0
"""Snapshots of a database that is being written: each holds everything that was committed before it
was asked for, as consistent as after a power cut."""
import os
import shutil
import sqlite3

import fault

WRITER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute('PRAGMA journal_mode=' + sys.argv[2])
db.execute('PRAGMA synchronous=OFF')
db.execute('CREATE TABLE t (n INTEGER, text TEXT)')
n = 0
while True:
    db.execute('BEGIN')
    for _ in range(5):
        db.execute('INSERT INTO t VALUES (?, ?)', (n, 'x' * (n % 700)))
        n += 1
    db.execute('COMMIT')
    print(n, flush=True)
"""
SNAPSHOTS = 8


def committed(writer):
    """What the writer has done by now, at least."""
    os.set_blocking(writer.process.stdout.fileno(), False)
    text = getattr(writer, "unfinished", "")  # a line may come in pieces
    while piece := writer.process.stdout.readline():
        text += piece
    *whole, writer.unfinished = text.split("\n")
    return int(whole[-1]) if whole else 0


def take(workspace, writer):
    """Snapshots, with how many rows each must have."""
    wanted, rows = {}, 0
    for n in range(SNAPSHOTS):
        name = f"snap{n}-{os.path.basename(writer.process.args[3])}"
        fault.await_true(lambda: fault.is_alive(writer.process.pid), "the writer")
        seen = rows
        while rows < seen + 50:
            rows = max(rows, committed(writer))
        workspace.ok("--workspace", workspace.state, "snapshot", "create", name)
        wanted[name] = rows
    return wanted


def expect_consistent(directory, database, rows, copy):
    os.mkdir(copy)
    for name in os.listdir(directory):
        if name.startswith(database):
            shutil.copy(os.path.join(directory, name), copy)
    connection = sqlite3.connect(os.path.join(copy, database))
    verdict = connection.execute("PRAGMA integrity_check").fetchone()[0]
    found = connection.execute("SELECT count(*) FROM t").fetchone()[0]
    connection.close()
    fault.expect(verdict == "ok", f"{directory}: {verdict}")
    fault.expect(found >= rows and found % 5 == 0, f"{directory}: {found} rows, not {rows}")


def run(scratch, program):
    workspace = fault.mounted(scratch, program)
    wanted = {}
    for mode in ("wal", "delete"):
        database = f"{mode}.db"
        writer = fault.Program(scratch, WRITER, f"{workspace.mount_point}/{database}", mode)
        wanted[database] = take(workspace, writer)
        writer.process.kill()
        writer.process.wait()
    other = scratch.directory("other")
    for database, snapshots in wanted.items():
        for name, rows in snapshots.items():
            copy = os.path.join(scratch.path, name)
            expect_consistent(f"{workspace.mount_point}/.agentfs/snapshots/{name}", database, rows,
                              copy)
        workspace.ok("--workspace", workspace.state, "mount", other, "--snapshot", name)
        expect_consistent(other, database, rows, copy + "-mounted")
        workspace.ok("umount", other)
    workspace.unmount()
    workspace.check()


fault.main(run)
