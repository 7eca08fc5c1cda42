# SPDX-License-Identifier: Apache-2.0
"""SQLite with several writing processes, in WAL and with a rollback journal."""
import multiprocessing
import os
import sqlite3
import sys

WRITERS = 3
ROWS = 30


def connect(path):
    connection = sqlite3.connect(path, timeout=30, isolation_level=None)
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def seed():
    """A database of the base, which the writers change."""
    for mode in ("wal", "delete"):
        connection = connect(f"{mode}.db")
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute("CREATE TABLE t (writer INTEGER, n INTEGER, text TEXT)")
        connection.execute("CREATE TABLE total (n INTEGER)")
        connection.execute("INSERT INTO total VALUES (0)")
        connection.executemany("INSERT INTO t VALUES (-1, ?, ?)",
                               ((n, "x" * 500) for n in range(2000)))
        connection.close()


def write(path, writer):
    connection = connect(path)
    for n in range(ROWS):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t VALUES (?, ?, ?)", (writer, n, "y" * (n * 30)))
        connection.execute("UPDATE total SET n = n + 1")
        connection.execute("ROLLBACK" if n % 10 == 9 else "COMMIT")
    connection.close()


def read(path, stop):
    """A reader never sees half of a transaction. It leaves the writers a gap for their locks."""
    connection = connect(path)
    while not stop.wait(0.005):
        connection.execute("BEGIN")
        rows = connection.execute("SELECT count(*) FROM t WHERE writer >= 0").fetchone()[0]
        total = connection.execute("SELECT n FROM total").fetchone()[0]
        connection.execute("COMMIT")
        if rows != total:
            sys.exit(f"{path}: {rows} rows, but the total is {total}")


def check_mode(mode):
    path = f"{mode}.db"
    stop = multiprocessing.Event()
    reader = multiprocessing.Process(target=read, args=(path, stop))
    reader.start()
    writers = [multiprocessing.Process(target=write, args=(path, n)) for n in range(WRITERS)]
    for process in writers:
        process.start()
    for process in writers:
        process.join()
        assert process.exitcode == 0, f"{mode}: a writer failed"
    stop.set()
    reader.join()
    assert reader.exitcode == 0, f"{mode}: the reader failed"
    connection = connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    assert connection.execute("SELECT n FROM total").fetchone()[0] == WRITERS * ROWS * 9 // 10
    connection.execute("VACUUM")
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    connection.close()
    assert not os.path.exists(path + "-journal")


def check():
    for mode in ("wal", "delete"):
        check_mode(mode)


{"seed": seed, "check": check}[sys.argv[1]]()
