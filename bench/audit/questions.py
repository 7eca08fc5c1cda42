#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the questions of docs/audit.md take with a million rows.

usage: questions.py AGENTFS [ROWS]

Makes a workspace in a temporary directory, fills its tables, and prints for each question the best
of five runs: of the statement alone, and of `agentfs sql` with everything around it.
"""
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUNS = 5
PATHS, DIRECTORIES, PROCESSES, EXECS, FILES = 50_000, 1_000, 5_000, 200, 10_000

# Writes mostly, as programs do; every thousandth attempt is denied.
FILL = f"""
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {DIRECTORIES})
INSERT INTO op_directories SELECT i, 'main', CASE i WHEN 1 THEN '' ELSE 'src/part' || i || '/' END
FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {PATHS})
INSERT INTO op_paths SELECT i, 1 + i % {DIRECTORIES}, 'file' || i || '.c', i % 97, 0, 0 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {PROCESSES})
INSERT INTO op_processes
SELECT i, 1 + i * {EXECS} / {PROCESSES}, 1000 + i, 999 + i, 1000, 'program' || (i % 50), i % 900, i * 7, 0
FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows)
INSERT INTO op_rows (op, exec, kind, errno, path, process, path2, bytes, bytes_read, layer, node, time_ns)
SELECT i, 1 + i * {EXECS} / :rows,
  CASE i % 10 WHEN 0 THEN 1 WHEN 1 THEN 11 WHEN 2 THEN 4 WHEN 3 THEN 7 ELSE 2 END,
  CASE i % 1000 WHEN 999 THEN 13 ELSE 0 END, 1 + i * 7919 % {PATHS},
  1 + i * {PROCESSES} / :rows, CASE i % 10 WHEN 3 THEN 1 + i * 31 % {PATHS} ELSE 0 END,
  i % 70000, 0, 2 + i * {EXECS} / :rows, 100 + i % 60000, :start + i * 1000000 FROM n;
UPDATE op_paths SET last_write = max(1, :rows - path), last_op = max(1, :rows - path);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {EXECS})
INSERT INTO exec_rows SELECT i, 'run', '["make"]', 0, '/w', 'main', i, 'allow', '', '',
  :start + i * 1000000, :start + i * 1000000 + 500000, i % 20 = 0, 0, 1000, '', '' FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
INSERT INTO call_rows SELECT i, CASE i % 5 WHEN 0 THEN 'edit' ELSE 'search' END, '{{}}', '[]', '',
  :start + i * 1000, :start + i * 2000, CASE WHEN i <= 20 THEN i ELSE 0 END FROM n;
"""


def questions():
    with open(os.path.join(ROOT, "docs", "audit.md"), encoding="utf-8") as file:
        text = file.read()
    return re.findall(r"^### (.*?)\n.*?```sql\n(.*?)```", text, re.M | re.S)


def fill(database, rows):
    start = time.time_ns() - rows * 1_000_000
    with sqlite3.connect(database) as db:
        db.execute("PRAGMA synchronous = OFF")
        for table in ("op_rows", "op_paths", "op_directories", "op_processes", "exec_rows"):
            db.execute(f"DELETE FROM {table}")
        db.commit()
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        before = os.path.getsize(database)
        for statement in FILL.split(";"):
            if statement.strip():
                values = {"rows": rows, "start": start}
                db.execute(statement, {k: v for k, v in values.items() if ":" + k in statement})
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    print(f"{rows} rows, {(os.path.getsize(database) - before) / rows:.1f} bytes of database a row\n")


def best(action):
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def make_workspace(program, directory):
    base = os.path.join(directory, "base")
    os.makedirs(f"{base}/many")
    for i in range(FILES):
        with open(f"{base}/many/{i}", "w", encoding="ascii") as file:
            file.write("x" * (i % 1000))
    tar = subprocess.Popen(["tar", "-c", "-C", base, "."], stdout=subprocess.PIPE)
    work = os.path.join(directory, "work.db")
    subprocess.run([program, "init", "--bare", work], check=True, capture_output=True)
    subprocess.run([program, "--workspace", work, "import", "-"], stdin=tar.stdout, check=True,
                   capture_output=True)
    tar.wait()
    return work


def main():
    program = os.path.abspath(sys.argv[1])
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    with tempfile.TemporaryDirectory(prefix="agentfs-questions-") as directory:
        work = make_workspace(program, directory)
        fill(work, rows)
        db = sqlite3.connect(f"file:{work}?mode=ro", uri=True)
        print("| question | statement | `agentfs sql` | rows |\n|---|---|---|---|")
        for title, sql in questions():
            found = len(db.execute(sql).fetchall())
            alone = best(lambda sql=sql: db.execute(sql).fetchall())
            whole = best(lambda sql=sql: subprocess.run(
                [program, "--workspace", work, "sql", sql], check=True, capture_output=True))
            print(f"| {title} | {alone:.1f} ms | {whole:.1f} ms | {found} |", flush=True)


main()
